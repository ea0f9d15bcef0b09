// Where there is nothing yet, or nothing is found: each says the next step, and leads there.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dialog, person, signIn, sound, startBrowser } from "./support/browser.mjs";
import { startStand } from "./support/stand.mjs";
import { together } from "./support/together.mjs";

let stand;
let fresh;
let browser;
before(async () => {
  [stand, fresh, browser] = await together(startStand(), startStand("--empty"), startBrowser());
});
after(async () => {
  await browser?.close();
  await stand?.end();
  await fresh?.end();
});

test("a service that knows no cluster says how to add one, wherever one is needed", async () => {
  const page = await person(browser);
  await signIn(page, fresh, "operator");
  await page.getByText("No cluster that could be read stores a link").waitFor();
  await page.getByRole("link", { name: "The clusters that are known" }).click();
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

test("a filter that finds nothing says so, and is taken away by a button", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer");
  await page.getByLabel("Filter links by name or cluster").fill("nowhere");
  await page.getByText('No link has "nowhere" in its name or clusters').waitFor();
  await page.getByRole("button", { name: "Show all links" }).click();
  await page.getByRole("link", { name: "orders-eu" }).waitFor();

  await page.goto(`${stand.url}/audit?account=nobody&verb=links.pause`);
  await page.getByText("No entry is as the filter wants it").waitFor();
  await page.getByRole("button", { name: "Show every entry" }).click();
  await page.getByRole("row", { name: /session.begin/ }).first().waitFor();
  assert.equal(await page.getByLabel("Account").inputValue(), "");
  assert.equal(new URL(page.url()).search, "");

  await page.goto(`${stand.url}/links/new/orders-eu?text=nothing`);
  await page.getByText("No lane is as the filter wants it").waitFor();
  await page.getByRole("button", { name: "Show every lane" }).click();
  await page.getByRole("link", { name: "orders.000-0", exact: true }).waitFor();

  await page.goto(`${stand.url}/links/new/old-new/groups`);
  await page.getByLabel("Filter groups by name").fill("nobody");
  await page.getByText('No group has "nobody" in its name').waitFor();
  await page.getByRole("button", { name: "Show all groups" }).click();
  await page.getByRole("link", { name: "shop" }).waitFor();
  sound(page);
});

test("a link that never ran and was never compared offers both", async () => {
  await stand.apply("links/create", { link: { source: "old", target: "new", id: "fresh", filter: { include: ["private"] } } });
  const page = await person(browser);
  await signIn(page, stand, "operator", "/links/new/fresh");
  await page.getByText("This link has no lanes yet").waitFor();
  await page.getByRole("button", { name: "Run the link" }).click();
  await dialog(page).getByText("anabranch link run fresh --detach --target new").waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("link", { name: "Verification" }).click();
  await page.getByText("This link was never compared").waitFor();
  await page.getByRole("button", { name: "Compare now" }).click();
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).waitFor();
  sound(page);
});
