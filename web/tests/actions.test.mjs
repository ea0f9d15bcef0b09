// Plans: shown, applied, refused, by a second person, by keyboard.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { dialog, person, signIn, sound } from "./support/browser.mjs";
import { full } from "./support/looks.mjs";
import { theBrowser, theStand } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

const LINK = "/links/new/old-new";
const ON_LINK = { target: "new", link: "old-new" };
let stand;
let browser;
before(async () => {
  [stand, browser] = await together(theStand(), theBrowser());
});

/** Whether the link is paused, as far as the service has read that. */
const paused = async () => (await stand.ask("GET", "clusters/new/links/old-new")).body.record.wanted.paused;

/** Another rate limit is asked for, from the settings of the link. */
async function changing(page, rate) {
  await page.getByRole("button", { name: "Change" }).click();
  await dialog(page).getByLabel("Rate limit").fill(rate);
  await dialog(page).getByRole("button", { name: "Plan" }).click();
}

async function until(holds) {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 100));
}

test("a plan is shown with its hash and its command, applied, and reported in words", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", LINK);
  await page.getByRole("button", { name: "Pause" }).click();
  await dialog(page).getByRole("row", { name: /paused false true/ }).waitFor();
  const text = await dialog(page).innerText();
  assert.match(text, /anabranch link pause old-new --target new/);
  assert.match(text, /hash\s+[0-9a-f]{8,}/);
  assert.equal(await paused(), false);
  await dialog(page).getByRole("button", { name: "Copy as CLI" }).click();
  await dialog(page).getByText("Copied").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "anabranch link pause old-new --target new");
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("Link old-new is paused; its workers obey within two seconds.").waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).last().click();
  await page.getByText("paused", { exact: true }).first().waitFor();
  assert.equal(await paused(), true);
  sound(page);
});

test("the same by keyboard alone, and the focus goes back to the button", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", LINK);
  const resume = page.getByRole("button", { name: "Resume" });
  await resume.focus();
  await page.keyboard.press("Enter");
  await dialog(page).getByRole("button", { name: "Apply this plan" }).waitFor();
  await dialog(page).getByText("Setting").waitFor();
  for (let tabs = 0; tabs < 20; tabs += 1) {
    if (await page.evaluate(() => document.activeElement?.textContent === "Apply this plan")) break;
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  await dialog(page).getByText("Link old-new goes on").waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "BUTTON");
  await until(async () => !(await paused()));
  sound(page);
});

full("Escape closes a dialog and changes nothing", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", LINK);
  const pause = page.getByRole("button", { name: "Pause" });
  await pause.focus();
  await page.keyboard.press("Enter");
  await dialog(page).getByText("Setting").waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Pause");
  assert.equal(await paused(), false);
});

test("a plan that is no longer true is refused, nothing is done, and it is planned again", async () => {
  const page = await person(browser);
  await signIn(page, stand, "approver", `${LINK}/settings`);
  await changing(page, "5MB/s");
  await dialog(page).getByRole("row", { name: /rate_limit/ }).waitFor();
  await stand.apply("links/set", { ...ON_LINK, rate_limit: "9MB/s" });
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("This plan has changed since it was made: nothing was changed").waitFor();
  await dialog(page).getByText("What to do:").waitFor();
  await dialog(page).getByRole("button", { name: "Plan again" }).click();
  await dialog(page).getByRole("row", { name: /rate_limit 9\.0 MB\/s 5\.0 MB\/s/ }).waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("Link old-new was changed").waitFor();
});

test("from a plan the way back to what was asked keeps what was typed", async () => {
  const page = await person(browser);
  await signIn(page, stand, "approver", `${LINK}/settings`);
  await changing(page, "7MB/s");
  await dialog(page).getByRole("row", { name: /rate_limit .* 7\.0 MB\/s/ }).waitFor();
  await dialog(page).getByRole("button", { name: "Back", exact: true }).click();
  const rate = dialog(page).getByLabel("Rate limit");
  assert.equal(await rate.inputValue(), "7MB/s");
  await rate.fill("8MB/s");
  await dialog(page).getByRole("button", { name: "Plan" }).click();
  await dialog(page).getByRole("row", { name: /rate_limit .* 8\.0 MB\/s/ }).waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  sound(page);
});

full("a field that is wrong is said at the field, and what was typed stays", async () => {
  const page = await person(browser);
  await signIn(page, stand, "approver", `${LINK}/settings`);
  await changing(page, "fast");
  await dialog(page).getByText("Not planned").waitFor();
  assert.match(await dialog(page).innerText(), /is not a rate[\s\S]*What to do/);
  assert.equal(await dialog(page).getByLabel("Rate limit").inputValue(), "fast");
});

test("an operator plans a move of groups, and a second person applies it at the plan's address", async () => {
  const first = await person(browser);
  await signIn(first, stand, "operator", `${LINK}/groups?group=shop`);
  await first.getByRole("button", { name: "Move this group" }).click();
  await dialog(first).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(first).getByText("1 group would move").waitFor();
  const apply = dialog(first).getByRole("button", { name: "Apply this plan" });
  assert.match(await apply.getAttribute("title"), /operator has the role operator; applying this plan needs the role approver/);
  const address = await dialog(first).getByRole("link", { name: "Open as a page" }).getAttribute("href");

  const second = await person(browser);
  await signIn(second, stand, "approver", address);
  await second.getByText(/by operator/).waitFor();
  assert.match(await second.getByRole("row", { name: /orders-1/ }).innerText(), /27[\s\S]*old.orders-1[\s\S]*12/);
  await second.getByRole("button", { name: "Apply this plan" }).click();
  await second.getByText(/1 group moved, 0 in sync, 0 refused\. The undo record is/).waitFor();

  const third = await person(browser);
  await signIn(third, stand, "viewer", address);
  await third.getByText(/by approver/).waitFor();
  assert.equal(await third.getByRole("button", { name: "Apply this plan" }).count(), 0);
  sound(second);
});

test("a move that was applied is undone from its operation", async () => {
  const page = await person(browser);
  await signIn(page, stand, "approver", "/operations");
  await page.getByRole("link", { name: "groups.sync" }).first().click();
  await page.getByRole("button", { name: "Undo" }).click();
  await dialog(page).getByText("was moved to", { exact: false }).first().waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("1 of 1 group went back.").waitFor();
});

test("moves are listed beside the groups, with what was taken back", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", `${LINK}/groups`);
  const moves = page.getByRole("region", { name: "Moves", exact: true });
  await moves.getByRole("row", { name: /shop yes/ }).waitFor();
  sound(page);
});

full("a plan that is refused says why and cannot be applied", async () => {
  const page = await person(browser);
  await signIn(page, stand, "approver", `${LINK}/groups?group=reports`);
  await page.getByRole("button", { name: "Move this group" }).click();
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText("0 groups would move, 0 in sync, 1 refused").waitFor();
  assert.match(await dialog(page).innerText(), /not in link/);
  const apply = dialog(page).getByRole("button", { name: "Apply this plan" });
  assert.equal(await apply.getAttribute("title"), "no group would move");
});

test("a checkpoint's rewrite is planned with every position, applied, and undone", async () => {
  const page = await person(browser);
  await signIn(page, stand, "approver", "/checkpoints/rewrite");
  const form = page.getByRole("region", { name: "Plan a rewrite" });
  await form.getByLabel("Checkpoint").fill(stand.checkpoint);
  await form.getByLabel("Target", { exact: true }).selectOption("new");
  await form.getByLabel("Route: links").fill("old-new");
  await form.getByRole("button", { name: "Plan the rewrite" }).click();
  await dialog(page).getByRole("row", { name: /orders-0 20 old.orders-0 10/ }).first().waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText(/were rewritten in .* takes it back/).waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).last().click();
  await page.goto(`${stand.url}/checkpoints/undo`);
  const undo = page.getByRole("region", { name: "Undo a rewrite" });
  await undo.getByLabel("Checkpoint").fill(stand.checkpoint);
  await undo.getByRole("button", { name: "Plan the undo" }).click();
  await dialog(page).getByText("would be taken back, byte for byte").waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("The checkpoint is as it was before the rewrite").waitFor();
  sound(page);
});

full("a checkpoint is rewritten by given offsets, and an unclear line is named", async () => {
  const page = await person(browser);
  await signIn(page, stand, "approver", "/checkpoints/rewrite");
  const form = page.getByRole("region", { name: "Plan a rewrite" });
  await form.getByLabel("Checkpoint").fill(stand.checkpoint);
  await form.getByLabel("Target", { exact: true }).selectOption("new");
  await form.getByLabel("Route: offsets").fill("old.orders-0:10\norders:7");
  await form.getByRole("button", { name: "Plan the rewrite" }).click();
  await form.getByRole("alert").getByText("orders:7: not TOPIC-PARTITION:OFFSET").waitFor();
  await form.getByLabel("Route: offsets").fill("old.orders-0:10\nold.orders-1:11");
  await form.getByLabel("New names of topics").fill("orders=old.orders");
  await form.getByRole("button", { name: "Plan the rewrite" }).click();
  await dialog(page).getByRole("row", { name: /orders-1 27 old.orders-1 11/ }).first().waitFor();
  sound(page);
});

test("a checkpoint is looked at, with its lag, and advice is given for its job", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", "/checkpoints");
  await page.getByLabel("Checkpoint", { exact: true }).fill(stand.checkpoint);
  await page.getByLabel("Lag on").selectOption("old");
  await page.getByRole("button", { name: "Look", exact: true }).click();
  await page.getByRole("row", { name: /orders-0 .*20/ }).first().waitFor();
  await page.getByLabel("Checkpoint", { exact: true }).fill("/etc");
  await page.getByRole("button", { name: "Look", exact: true }).click();
  await page.getByText("the service does not open /etc").waitFor();
  await page.goto(`${stand.url}/checkpoints/advice`);
  await page.getByLabel("Checkpoint", { exact: true }).fill(stand.checkpoint);
  await page.getByLabel("Links", { exact: true }).fill("old-new");
  await page.getByLabel("New cluster").selectOption("new");
  await page.getByRole("button", { name: "Advise" }).click();
  await page.getByRole("row", { name: /rewritten checkpoint/ }).waitFor();
  await page.getByText(/anabranch checkpoint rewrite/).first().waitFor();
  await page.getByText(/anabranch checkpoint advise .*--link old-new --target new/).last().waitFor();
});

test("a link is created from the form, with what would be copied in its plan", async () => {
  const page = await person(browser);
  await signIn(page, stand, "approver", "/links/create");
  await page.getByLabel("Source", { exact: true }).selectOption("old");
  await page.getByLabel("Target", { exact: true }).selectOption("new");
  await page.getByLabel("Id").fill("private-copy");
  await page.getByRole("textbox", { name: "Topics", exact: true }).fill("private");
  await page.getByRole("button", { name: "Plan the link" }).click();
  await dialog(page).getByText("1 topic would be copied now").waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("The link private-copy is stored.").waitFor();
  await page.goto(`${stand.url}/`);
  await page.getByRole("link", { name: "private-copy" }).waitFor();
  sound(page);
});

test("a cluster is probed, and what is missing for a link is said", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", "/clusters");
  await page.getByRole("button", { name: "Probe old" }).click();
  await dialog(page).getByRole("button", { name: "Connect" }).click();
  await dialog(page).getByText("As a link’s source").waitFor();
  await dialog(page).getByText("cluster id").waitFor();
});

test("a token is shown once, is copied, and signs in", async () => {
  const page = await person(browser);
  await signIn(page, stand, "admin", "/accounts");
  await page.getByRole("button", { name: "Make a token" }).click();
  await dialog(page).getByLabel("Account").fill("viewer");
  await dialog(page).getByLabel("Name").fill("for the dashboard");
  await dialog(page).getByRole("button", { name: "Make" }).click();
  await dialog(page).getByText("This text is shown once, here.").waitFor();
  const token = await dialog(page).locator("code").innerText();
  await dialog(page).getByRole("button", { name: "Copy", exact: true }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), token);
  await dialog(page).getByRole("button", { name: "I have kept it" }).click();
  await page.getByRole("row", { name: /for the dashboard/ }).waitFor();
  assert.equal(await page.getByText(token).count(), 0);
  const other = await person(browser);
  await signIn(other, { ...stand, tokens: { viewer: token } }, "viewer");
  await page.getByRole("button", { name: "Revoke for the dashboard of viewer" }).click();
  await dialog(page).getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByRole("row", { name: /for the dashboard revoked/ }).waitFor();
});

test("an account is added and its role changed; the last admin stays one", async () => {
  const page = await person(browser);
  await signIn(page, stand, "admin", "/accounts");
  await page.getByRole("button", { name: "Add an account" }).click();
  await dialog(page).getByLabel("Name").fill("mei");
  await dialog(page).getByRole("button", { name: "Add" }).click();
  await page.getByRole("row", { name: /mei viewer/ }).waitFor();
  await page.getByRole("button", { name: "Role of mei" }).click();
  await dialog(page).getByLabel("Role").selectOption("approver");
  await dialog(page).getByRole("button", { name: "Change the role" }).click();
  await page.getByRole("row", { name: /mei approver/ }).waitFor();
  await page.getByRole("button", { name: "Disable admin" }).click();
  await dialog(page).getByRole("button", { name: "Disable", exact: true }).click();
  await dialog(page).getByText("Not changed").waitFor();
});

full("the audit is filtered by account and verb", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", "/audit");
  await page.getByLabel("Verb, such as links.pause").fill("groups.sync");
  await page.getByRole("row", { name: /groups.sync/ }).first().waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll("tbody tr")].every((row) => row.textContent.includes("groups.sync")));
  await page.getByLabel("Account").fill("nobody");
  await page.getByText("No entry is as the filter wants it").waitFor();
});
