// A link's whole life in a browser, beside real clusters: somebody signs in with a real provider, and everything that
// moves is moved by Spark.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { SPARK, dialog, person, signIn, sound } from "./support/browser.mjs";
import { theBrowser, theSandbox } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

/** Spark starts within this, also on a machine that is busy. */
const LINK = "/links/new/first";
let stand;
let browser;
before(async () => {
  [stand, browser] = await together(theSandbox(), theBrowser());
});

/** Sign in with the provider's own form. */
async function signInByProvider(page, name, path) {
  await page.goto(`${stand.url}${path}`);
  await page.getByRole("link", { name: `Sign in with ${stand.provider}` }).click();
  await page.locator("#username").fill(name);
  await page.locator("#password").fill(`${name}-password`);
  await page.locator("#kc-login").click();
}

/** Apply the plan that a dialog shows, wait for its report, and close it. */
async function apply(page, reported) {
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText(reported).first().waitFor(SPARK);
  await dialog(page).getByRole("button", { name: "Close" }).last().click();
}

let page;

test("somebody signs in with the provider and comes back to the page that was asked for", async () => {
  page = await person(browser, { stays: true });
  await signInByProvider(page, "mei", "/links/create");
  await page.getByRole("heading", { name: "Create a link" }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/links/create");
  await page.locator("summary", { hasText: "mei" }).waitFor();
});

test("whom the provider gives no role is not let in, and is told why", async () => {
  const other = await person(browser);
  await signInByProvider(other, "vis", "/");
  await other.getByText("has none of the values of 'groups'").waitFor();
});

test("a link is created, run, and its lanes are seen to follow", async () => {
  await page.getByLabel("Source", { exact: true }).selectOption("old");
  await page.getByLabel("Target", { exact: true }).selectOption("new");
  await page.getByLabel("Id").fill("first");
  await page.getByRole("textbox", { name: "Topics", exact: true }).fill(stand.topic);
  await page.getByRole("button", { name: "Plan the link" }).click();
  await dialog(page).getByText("1 topic would be copied now").waitFor();
  await apply(page, "The link first is stored.");
  await page.goto(`${stand.url}${LINK}`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await dialog(page).getByText("anabranch link run first --detach --target new").waitFor();
  await apply(page, /runs as process \d+/);
  for (const partition of [0, 1, 2]) {
    await page.getByRole("row", { name: new RegExp(`orders-${partition} .*following`) }).waitFor(SPARK);
  }
  await stand.say("produce");
  await page.getByText(`${(2 * stand.records).toLocaleString("en-US")} records`).first().waitFor(SPARK);
  sound(page);
});

test("a record is found on the other side", async () => {
  await page.goto(`${stand.url}${LINK}/lanes/orders-1`);
  await page.getByLabel("Offset in orders-1").fill("123");
  await page.getByRole("button", { name: "Translate" }).click();
  await page.getByRole("status").getByText("exact").waitFor();
  assert.match(await page.getByRole("status").innerText(), /orders-1 offset 123/);
});

test("a link is paused, and goes on where it was", async () => {
  await page.goto(`${stand.url}${LINK}`);
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await apply(page, "Link first is paused");
  await page.getByRole("button", { name: "Resume", exact: true }).waitFor(SPARK);
  await page.getByRole("row", { name: /orders-0 .*paused/ }).waitFor(SPARK);
  await stand.say("produce");
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await apply(page, "Link first goes on");
  await page.getByText(`${(3 * stand.records).toLocaleString("en-US")} records`).first().waitFor(SPARK);
  sound(page);
});

test("an operator plans a move of a group, and somebody else applies it: it stands there exactly", async () => {
  await stand.say("commit shop orders 100 200 300");
  const operator = await person(browser);
  await signIn(operator, stand, "operator", `${LINK}/groups?group=shop`);
  await operator.getByRole("button", { name: "Move this group" }).click(SPARK);
  await dialog(operator).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(operator).getByText("1 group would move").waitFor(SPARK);
  const address = await dialog(operator).getByRole("link", { name: "Open as a page" }).getAttribute("href");
  await page.goto(`${stand.url}${address}`);
  await page.getByRole("button", { name: "Apply this plan" }).click();
  await page.getByText(/1 group moved, 0 in sync, 0 refused/).waitFor(SPARK);
  assert.deepEqual(await stand.say("committed shop orders 3"), [[100, "noted"], [200, "noted"], [300, "noted"]]);
  sound(operator);
});

test("both sides are compared, and are equal", async () => {
  await page.goto(`${stand.url}${LINK}/verification`);
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText("anabranch verify start first").waitFor();
  await apply(page, /The comparison .* found both sides equal/);
  await page.getByText("equal", { exact: true }).first().waitFor(SPARK);
});

test("lanes whose target topic was deleted wait, and go on once somebody has accepted that", async () => {
  await stand.say("delete-target");
  await stand.say("produce");
  await page.goto(`${stand.url}${LINK}`);
  await page.getByText("topic orders was deleted on the target").waitFor(SPARK);
  await page.getByRole("button", { name: "Accept" }).click();
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText("anabranch link accept first").waitFor();
  await dialog(page).getByText(/orders-0/).first().waitFor();
  await apply(page, "The decisions are stored");
  for (const partition of [0, 1, 2]) {
    await page.getByRole("row", { name: new RegExp(`orders-${partition} .*following`) }).waitFor(SPARK);
  }
});

test("the link is stopped and deleted, and the audit says who did what", async () => {
  await page.goto(`${stand.url}${LINK}`);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await apply(page, / ended\.$/);
  await page.getByRole("button", { name: "Run", exact: true }).waitFor(SPARK);
  await page.goto(`${stand.url}${LINK}/settings`);
  await page.getByRole("button", { name: "Delete" }).click();
  await dialog(page).getByText("anabranch link delete first").waitFor();
  await apply(page, "was forgotten; what it copied stays");
  await page.goto(stand.url);
  await page.getByText("No cluster that could be read stores a link").waitFor(SPARK);
  const viewer = await person(browser);
  await signIn(viewer, stand, "viewer", "/audit?account=mei");
  for (const verb of ["links.create", "links.run", "verify.start", "links.accept", "links.stop", "links.delete"]) {
    await viewer.getByRole("row", { name: new RegExp(`${verb}.*done`) }).first().waitFor();
  }
});
