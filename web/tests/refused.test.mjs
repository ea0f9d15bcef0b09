// What is refused while somebody works: a token whose time is over, a plan that somebody else has applied, a cluster that
// is away, a store that is locked or full.  The page says why and what to do, and nothing is half done.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { dialog, person, signIn, sound } from "./support/browser.mjs";
import { theBrowser, theStand } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

const LINK = "/links/new/old-new";
const ON_LINK = { target: "new", link: "old-new" };
let stand;
let browser;
before(async () => {
  [stand, browser] = await together(theStand("--alone"), theBrowser());
});

const paused = async (target = "new", link = "old-new") => (await stand.ask("GET", `clusters/${target}/links/${link}`)).body.record.wanted.paused;
const operations = async () => (await stand.ask("GET", "operations")).body.length;

async function until(holds) {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 100));
}

/** A page that reads nothing more, so that what somebody does is all that it asks. */
const readsNoMore = (page) => page.route("**/api/v1/**", (route) => (route.request().method() === "GET" ? undefined : route.continue()));

async function ofItsOwn(role) {
  const made = (await stand.ask("POST", "tokens", { account: role, name: "short" })).body;
  return { id: made.id, as: { ...stand, tokens: { [role]: made.token } } };
}

/** The plan to pause a link, as a dialog shows it. */
async function planPause(page) {
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await dialog(page).getByRole("row", { name: /paused false true/ }).waitFor();
}

const applyButton = (page) => dialog(page).getByRole("button", { name: "Apply this plan" });

test("a token whose time is over does not sign in, and is told to have been somebody's", async () => {
  const { id, as } = await ofItsOwn("operator");
  await stand.say(`expire ${id}`);
  const page = await person(browser);
  await page.goto(stand.url);
  await page.getByLabel("Token").fill(as.tokens.operator);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("alert").getByText(/the token of account operator expired .* UTC/i).waitFor();
  await page.getByRole("alert").getByText("What to do:").waitFor();
  await page.getByText("anabranch token create ACCOUNT").waitFor();
});

test("a token whose time is over as a plan is applied: nothing is done, and the same page comes after signing in", async () => {
  const { id, as } = await ofItsOwn("operator");
  const page = await person(browser);
  await signIn(page, as, "operator", LINK);
  await planPause(page);
  const before = await operations();
  await readsNoMore(page);
  await stand.say(`expire ${id}`);
  await applyButton(page).click();
  const told = page.getByRole("alert");
  await told.getByText("You are signed out").waitFor();
  assert.match(await told.innerText(), /the token of account operator expired .* UTC/i);
  assert.equal(await operations(), before);
  assert.equal(await paused(), false);
  await page.unrouteAll();
  await page.getByLabel("Token").fill(stand.tokens.operator);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
  assert.equal(new URL(page.url()).pathname, LINK);
  sound(page);
});

test("of two people with one plan one applies it, and the other is told so", async () => {
  const { id } = await stand.plan("links/pause", ON_LINK);
  const [one, other] = await Promise.all([person(browser), person(browser)]);
  await Promise.all([signIn(one, stand, "operator", `/plans/${id}`), signIn(other, stand, "approver", `/plans/${id}`)]);
  const button = (page) => page.getByRole("button", { name: "Apply this plan" });
  await Promise.all([button(one).waitFor(), button(other).waitFor()]);
  await readsNoMore(other);
  const before = await operations();
  await button(one).click();
  await one.getByText("Link old-new is paused").waitFor();
  await button(other).click();
  const refused = other.getByRole("alert");
  await refused.getByText("Not applied").waitFor();
  assert.match(await refused.innerText(), /What to do: /);
  assert.equal(await operations(), before + 1);
  await other.unrouteAll();
  await other.reload();
  await other.getByText("by operator").first().waitFor();
  assert.equal(await button(other).count(), 0);
  await stand.apply("links/resume", ON_LINK);
  sound(one);
});

test("of a cluster that is away nothing is planned, and a plan from before changes nothing", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", "/links/far/new-far");
  await planPause(page);
  await stand.say("away");
  await applyButton(page).click();
  const failed = dialog(page).getByRole("alert");
  await failed.getByText("Not done").waitFor();
  assert.match(await failed.innerText(), /far[\s\S]*What to do: /);
  await dialog(page).getByRole("button", { name: "Plan again" }).click();
  await dialog(page).getByText("Not planned").waitFor();
  assert.match(await dialog(page).getByRole("alert").innerText(), /far[\s\S]*What to do: /);
  await stand.say("back");
  assert.equal(await paused("far", "new-far"), false);
  await until(async () => (await stand.ask("POST", "links/pause/plan", { target: "far", link: "new-far" }, "operator")).status === 200);
  await dialog(page).getByRole("button", { name: "Try again" }).click();
  await dialog(page).getByRole("row", { name: /paused false true/ }).waitFor();
  sound(page);
});

test("a store that is locked refuses a plan, and the same plan is applied once it is free", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", LINK);
  await planPause(page);
  const before = await operations();
  await readsNoMore(page);
  await stand.say("lock");
  await applyButton(page).click();
  const refused = dialog(page).getByRole("alert");
  await refused.getByText("Not applied").waitFor();
  assert.match(await refused.innerText(), /is locked[\s\S]*What to do: end what else has it open/);
  await stand.say("unlock");
  assert.equal(await operations(), before);
  assert.equal(await paused(), false);
  await page.unrouteAll();
  await until(async () => (await stand.ask("GET", "me")).body.acts);
  await applyButton(page).click();
  await dialog(page).getByText("Link old-new is paused").waitFor();
  assert.equal(await operations(), before + 1);
  await stand.apply("links/resume", ON_LINK);
  sound(page);
});

test("a store that is full keeps no plan, says so, and goes on once there is room", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", LINK);
  await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
  await stand.say("full");
  await until(async () => (await stand.ask("POST", "links/pause/plan", ON_LINK, "operator")).status === 507);
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  const refused = dialog(page).getByRole("alert");
  await refused.getByText("Not planned").waitFor();
  assert.match(await refused.innerText(), /is full[\s\S]*What to do: free space on its disk/);
  assert.equal(await paused(), false);
  await stand.say("room");
  await dialog(page).getByRole("button", { name: "Try again" }).click();
  await dialog(page).getByRole("row", { name: /paused false true/ }).waitFor();
  await applyButton(page).click();
  await dialog(page).getByText("Link old-new is paused").waitFor();
  sound(page);
});
