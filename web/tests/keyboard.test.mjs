// The main actions by keyboard alone: no test here uses the mouse, and what has the focus is seen to have it.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { dialog, person, shows, signIn, sound, PAGES } from "./support/browser.mjs";
import { full } from "./support/looks.mjs";
import { theBrowser, theStand } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

const LINK = "/links/new/old-new";
let stand;
let browser;
before(async () => {
  [stand, browser] = await together(theStand(), theBrowser());
});

/** How often Tab is pressed at most before something is said not to be reached. */
const MOST = 250;

/** What has the focus: its name as it is read out, and whether it is seen to have it. */
const focused = (page) =>
  page.evaluate(() => {
    const found = document.activeElement;
    if (found === null || found === document.body) return null;
    const label = found.labels?.[0]?.querySelector(".label")?.textContent ?? found.labels?.[0]?.textContent;
    const name = found.getAttribute("aria-label") ?? label ?? found.textContent;
    // One that is hidden shows its focus at its label.
    const shown = found.matches("label > .hidden") ? found.parentElement : found;
    const { outlineStyle, boxShadow } = getComputedStyle(shown);
    const { width, height } = shown.getBoundingClientRect();
    return { name: name.trim().replace(/\s+/g, " "), tag: found.tagName, isSeen: (outlineStyle !== "none" || boxShadow !== "none") && width > 0 && height > 0 };
  });

/** Press Tab until what is called so has the focus. */
async function tabTo(page, name) {
  const passed = [];
  for (let times = 0; times < MOST; times += 1) {
    await page.keyboard.press("Tab");
    const found = await focused(page);
    if (found === null) continue;
    assert.ok(found.isSeen || found.tag === "MAIN", `${found.tag} "${found.name}" has the focus, and nobody sees it`);
    if (typeof name === "string" ? found.name === name : name.test(found.name)) return;
    passed.push(found.name);
  }
  assert.fail(`${name} is not reached by Tab; passed: ${[...new Set(passed)].join(" | ")}`);
}

async function press(page, name, key = "Enter") {
  await tabTo(page, name);
  await page.keyboard.press(key);
}

async function write(page, name, text) {
  await tabTo(page, name);
  await page.keyboard.press("Control+A");
  await page.keyboard.type(text);
}

/** A plan is shown, its command copied, and it is applied; Escape closes its report. */
async function apply(page, shown, reported) {
  await dialog(page).getByText(shown).first().waitFor();
  await press(page, "Copy as CLI");
  await dialog(page).getByText("Copied", { exact: true }).waitFor();
  await press(page, "Apply this plan");
  await dialog(page).getByText(reported).first().waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
}

test("somebody signs in, passes the menu, opens a link, and comes to its tabs", async () => {
  const page = await person(browser);
  await page.goto(stand.url);
  await page.getByLabel("Token").waitFor();
  await page.keyboard.type(stand.tokens.operator); // the field has the focus
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "orders-eu" }).waitFor();
  await press(page, "To the content");
  await press(page, "old-new");
  await page.getByRole("heading", { name: "old-new" }).waitFor();
  await press(page, "Groups");
  await shows(page, "groups");
  assert.equal(new URL(page.url()).pathname, PAGES.groups);
  sound(page);
});

test("a link is paused, and goes on", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", LINK);
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await press(page, "Pause");
  await apply(page, "Setting", "Link old-new is paused");
  await page.getByRole("button", { name: "Resume" }).waitFor();
  await press(page, "Resume");
  await apply(page, "Setting", "Link old-new goes on");
  sound(page);
});

test("a setting of a link is typed, planned, applied", async () => {
  const page = await person(browser);
  await signIn(page, stand, "approver", `${LINK}/settings`);
  await page.getByRole("button", { name: "Change" }).waitFor();
  await press(page, "Change");
  await dialog(page).getByLabel("Rate limit").waitFor();
  await write(page, "Rate limit", "6MB/s");
  await page.keyboard.press("Enter");
  await apply(page, "rate_limit", "Link old-new was changed");
  sound(page);
});

test("a group is moved, and the move is taken back", async () => {
  const page = await person(browser);
  await signIn(page, stand, "approver", `${LINK}/groups?group=billing`);
  await page.getByRole("button", { name: "Move this group" }).waitFor();
  await press(page, "Move this group");
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).waitFor();
  await press(page, "Plan");
  await apply(page, "1 group would move", /1 group moved, 0 in sync, 0 refused/);
  await page.goto(`${stand.url}/operations`);
  await page.getByRole("link", { name: "groups.sync" }).first().waitFor();
  await press(page, "groups.sync");
  await page.getByRole("button", { name: "Undo" }).waitFor();
  await press(page, "Undo");
  await apply(page, "was moved to", "1 of 1 group went back.");
  sound(page);
});

test("a record is found on the other side", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", PAGES.where);
  await page.getByLabel("Source partition").waitFor();
  await write(page, "Source partition", "orders-0");
  await write(page, "Offset", "12");
  await page.keyboard.press("Enter");
  await page.getByText("old.orders-0 offset 2").waitFor();
  sound(page);
});

test("a link is created", async () => {
  const page = await person(browser);
  await signIn(page, stand, "approver", "/links/create");
  await page.getByRole("option", { name: "old", exact: true }).first().waitFor({ state: "attached" });
  for (const [name, chosen] of [["Source", "old"], ["Target", "new"]]) {
    await tabTo(page, name);
    await page.keyboard.type(chosen);
  }
  await write(page, "Id", "typed");
  await write(page, "Topics", "later"); // that no other link copies
  await press(page, "Plan the link");
  await apply(page, "0 topics would be copied now", "The link typed is stored.");
  await stand.apply("links/delete", { target: "new", link: "typed" });
  sound(page);
});

test("a comparison is looked at down to a record, and a theme is chosen in the menu", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", "/links/new/old-new/verification");
  await page.getByText("1 modified, 2 missing").waitFor();
  await press(page, "Look at sample 1");
  await page.getByText("value 1 B: 76").waitFor();
  await page.goto(stand.url);
  await page.getByRole("link", { name: "orders-eu" }).waitFor();
  await press(page, /^viewer/);
  await tabTo(page, /^(system|light|dark)/);
  const before = await page.evaluate(() => document.documentElement.dataset.theme);
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((was) => document.documentElement.dataset.theme !== was, before);
  await page.keyboard.press("Escape");
  assert.match((await focused(page)).name, /^viewer/);
  sound(page);
});

full("on every page Tab comes to all that can be pressed or filled in, and goes past it", async () => {
  const page = await person(browser);
  await signIn(page, stand, "admin");
  for (const [name, path] of Object.entries(PAGES)) {
    await page.goto(stand.url + path);
    await shows(page, name);
    // The lanes of a link are a window on many: more come into sight with the focus.
    const passed = new Set();
    for (let times = 0; times < MOST; times += 1) {
      await page.keyboard.press("Tab");
      const found = await focused(page);
      if (found === null) break; // the browser's own address bar is next
      assert.ok(found.isSeen || found.tag === "MAIN", `${name}: ${found.tag} "${found.name}" has the focus, and nobody sees it`);
      passed.add(`${found.tag} ${found.name}`);
    }
    const there = await page.evaluate(() =>
      [...document.querySelectorAll("main :is(a[href], button, input, select, textarea, summary)")]
        .filter((one) => one.checkVisibility() && !one.disabled && !one.closest(".lanes-body, .cm-editor") && (one.type !== "radio" || one.checked))
        .map((one) => {
          const label = one.labels?.[0]?.querySelector(".label")?.textContent ?? one.labels?.[0]?.textContent;
          return `${one.tagName} ${(one.getAttribute("aria-label") ?? label ?? one.textContent).trim().replace(/\s+/g, " ")}`;
        }),
    );
    assert.deepEqual(there.filter((one) => !passed.has(one)), [], name);
  }
  sound(page);
});
