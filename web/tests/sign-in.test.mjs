// Signing in and out, and coming back to the page that was wanted.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { PAGES, person, shows, signIn, signInByForm, sound } from "./support/browser.mjs";
import { full } from "./support/looks.mjs";
import { theBrowser, theStand } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

let stand;
let browser;
before(async () => {
  [stand, browser] = await together(theStand(), theBrowser());
});

test("a deep link shows its page after signing in", async () => {
  const page = await person(browser);
  await signInByForm(page, stand, "viewer", PAGES.lane);
  await shows(page, "lane");
  assert.equal(new URL(page.url()).pathname, PAGES.lane);
  sound(page);
});

test("a token that is nobody's is refused with what to do", async () => {
  const page = await person(browser);
  await page.goto(stand.url);
  await page.getByLabel("Token").fill("anb_nobody");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("alert").getByText("What to do:").waitFor();
  assert.equal(await page.getByText("You are signed out").count(), 0);
  assert.match(await page.getByRole("alert").innerText(), /token is nobody's/);
});

test("a browser that comes back after a day signs in and is on the same page", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", PAGES.verification);
  await shows(page, "verification");
  await page.context().clearCookies();
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.getByRole("alert").getByText("The browser has forgotten the token, as it does after twelve hours").waitFor();
  await page.getByLabel("Token").fill(stand.tokens.operator);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await shows(page, "verification");
  assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, PAGES.verification);
  sound(page);
});

test("signing out ends the session, and the page asks for a token", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer");
  await page.locator("summary", { hasText: "viewer" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  await page.reload();
  await page.getByLabel("Token").waitFor();
});

test("a revoked token signs an open page out", async () => {
  const made = await stand.ask("POST", "tokens", { account: "viewer", name: "short" });
  const page = await person(browser);
  await signIn(page, { ...stand, tokens: { viewer: made.body.token } }, "viewer");
  await stand.ask("DELETE", `tokens/${made.body.id}`);
  await page.getByLabel("Token").waitFor();
});

full("the theme is the system's or the chosen one, and is kept", async () => {
  const page = await person(browser, { theme: "dark" });
  await signIn(page, stand, "viewer");
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await ground();
  await page.locator("summary", { hasText: "viewer" }).click();
  await page.getByRole("radio", { name: "light" }).check({ force: true });
  const light = await ground();
  assert.notEqual(light, dark);
  await page.reload();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  assert.equal(await ground(), light);
});

test("files of the build are kept by browsers, the page itself is asked for again, and the API answers no page", async () => {
  const index = await fetch(`${stand.url}/links/new/anything`);
  assert.equal(index.status, 200);
  assert.equal(index.headers.get("cache-control"), "no-store");
  assert.match(index.headers.get("content-security-policy"), /default-src 'self'/);
  const asset = /\/assets\/[^"]+\.js/.exec(await index.text())[0];
  assert.match((await fetch(stand.url + asset)).headers.get("cache-control"), /immutable/);
  assert.equal((await fetch(`${stand.url}/assets/none.js`)).status, 404);
  const nothing = await fetch(`${stand.url}/api/v1/nothing`);
  assert.equal(nothing.status, 404);
  assert.match(nothing.headers.get("content-type"), /problem\+json/);
});
