// A link of 10,000 lanes, in CI of 2,000: scrolled, filtered and sorted while its figures change.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { person, signIn, sound } from "./support/browser.mjs";
import { FULL } from "./support/looks.mjs";
import { theBrowser, theStand } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

const LANES = FULL ? 10_000 : 2_000;
const ALL = LANES.toLocaleString("en-US");
/** As far down as half of them, of 32 pixels each. */
const HALF = LANES * 16;
let stand;
let browser;
let page;
before(async () => {
  [stand, browser] = await together(theStand("--lanes", String(LANES)), theBrowser());
  page = await person(browser, { stays: true });
  await signIn(page, stand, "viewer", "/links/new/wide");
  await page.getByText(`${ALL} lanes`, { exact: true }).first().waitFor();
});

const table = () => page.getByRole("region", { name: "Lanes, scrolls" });
const rows = () => page.locator(".lane-row.moving");

test("only the rows in sight are drawn, and the table says how many there are", async () => {
  await rows().first().waitFor();
  assert.ok((await rows().count()) < 100);
  assert.equal(await page.getByRole("table", { name: "Lanes of wide" }).getAttribute("aria-rowcount"), String(LANES + 1));
});

test("it scrolls to its end and shows the last lane", async () => {
  await table().evaluate((box) => box.scrollTo({ top: box.scrollHeight }));
  await page.getByRole("link", { name: "payments.099-99", exact: true }).or(page.locator(`[aria-rowindex="${LANES + 1}"] a`)).first().waitFor();
});

test("where it is scrolled to stays as figures change", async () => {
  await table().evaluate((box, top) => box.scrollTo({ top }), HALF);
  await page.locator(`[aria-rowindex="${LANES / 2 + 5}"] a`).waitFor();
  const before = await table().evaluate((box) => box.scrollTop);
  const text = await page.locator(".lanes-body").innerText();
  await page.waitForFunction((was) => document.querySelector(".lanes-body").innerText !== was, text);
  assert.equal(await table().evaluate((box) => box.scrollTop), before);
});

test("however far it scrolls, what is drawn stays as little, and the lanes in sight are there", async () => {
  // How fast it scrolls is measured by `npm run measure`: a machine that is busy says nothing of the pages.
  const most = await table().evaluate(async (box, half) => {
    box.scrollTo({ top: 0 });
    const drawn = [];
    for (let top = 0; top < half; top += 800) {
      box.scrollTo({ top });
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      drawn.push(box.querySelectorAll(".lane-row.moving").length);
    }
    return Math.max(...drawn);
  }, HALF);
  assert.ok(most < 100, `${most} rows were drawn at once`);
  await page.locator(`[aria-rowindex="${LANES / 2 - 20}"] a`).waitFor();
});

test("it is filtered by text and state by the service, and the address keeps that", async () => {
  await page.getByLabel("Filter lanes by topic or partition").fill("orders.008-1");
  await page.getByText(`11 of ${ALL} lanes`).waitFor();
  assert.match(page.url(), /text=orders.008-1/);
  await page.reload();
  await page.getByText(`11 of ${ALL} lanes`).waitFor();
  await page.getByLabel("Filter lanes by topic or partition").fill("");
  await page.getByLabel("State").selectOption("copying");
  await page.getByText(`of ${ALL} lanes`).waitFor();
  await page.waitForFunction(() =>
    [...document.querySelectorAll(".lane-row.moving .badge")].every((badge) => badge.textContent === "copying"),
  );
  await page.getByLabel("State").selectOption("");
});

test("it is sorted by lag, the largest first, and turned round", async () => {
  await page.getByRole("button", { name: "Lag" }).click();
  await page.waitForURL(/sort=lag_records&descending=true/);
  const lags = async () => {
    const texts = await page.locator(".lane-row.moving > :nth-child(5)").allInnerTexts();
    return texts.slice(0, 10).map((text) => Number(text.replaceAll(",", "")));
  };
  await page.waitForFunction(() => Number(document.querySelector(".lane-row.moving > :nth-child(5)")?.innerText.replaceAll(",", "")) > 100_000);
  const found = await lags();
  assert.deepEqual(found, [...found].sort((a, b) => b - a));
  await page.getByRole("button", { name: "Lag" }).click();
  await page.waitForURL((url) => !url.search.includes("descending"));
  await page.waitForFunction(() => document.querySelector(".lane-row.moving > :nth-child(5)")?.innerText === "0");
  sound(page);
});
