// Where there is nothing yet: each says the next step, and leads there.  Where nothing is found: pages.test.mjs.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { person, signIn, sound } from "./support/browser.mjs";
import { theBrowser, theStand } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

let fresh;
let browser;
before(async () => {
  [{ fresh }, browser] = await together(theStand(), theBrowser());
});

test("a service that knows no cluster says how to add one, wherever one is needed", async () => {
  const page = await person(browser);
  await signIn(page, fresh, "operator");
  await page.getByText("No cluster is known, and a link needs two").waitFor();
  await page.getByText("anabranch context add NAME --bootstrap").waitFor();
  await page.goto(`${fresh.url}/clusters`);
  await page.getByText("The contexts file names no cluster").waitFor();
  await page.getByRole("button", { name: "Copy as CLI" }).click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^anabranch context add NAME --bootstrap/);
  await page.goto(`${fresh.url}/links/create`);
  await page.getByText("No cluster is known, and a link needs two").waitFor();
  await page.goto(`${fresh.url}/mirrormaker/publish`);
  await page.getByText("There is no link whose map could be published").waitFor();
  await page.getByRole("link", { name: "Create a link" }).waitFor();
  await page.goto(`${fresh.url}/operations`);
  await page.getByText("Nothing has been changed through this service yet").waitFor();
  await page.getByRole("link", { name: "a link", exact: true }).waitFor();
  await page.goto(`${fresh.url}/checkpoints`);
  await page.getByText("anabranch serve --checkpoints /data/checkpoints").waitFor();
  sound(page);
});
