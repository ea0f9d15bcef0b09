// Alerts of a stream, artifacts, and what was written and not saved, in a browser beside a service whose jobs are stand-ins.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { dialog, person, signIn, sound } from "./support/browser.mjs";
import { close } from "./support/migrations.mjs";
import { FULL } from "./support/looks.mjs";
import { theBrowser, theStreams } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

let stand;
let browser;
before(async () => {
  [stand, browser] = await together(theStreams(), theBrowser());
});

test("rules of alerts are changed by a plan that is looked at first, and has its command line", async () => {
  const page = await person(browser);
  await signIn(page, stand, "admin", "/streams/page-views/alerts");
  assert.equal(await page.getByRole("button", { name: "Plan the change" }).getAttribute("aria-disabled"), "true");
  await page.getByLabel("Limit of lag, in records").fill("50000");
  await page.getByLabel("Seconds of lag").fill("90");
  await page.getByLabel("slow is on").uncheck();
  await page.getByRole("button", { name: "Plan the change" }).click();
  await dialog(page).getByText("anabranch stream alerts page-views --set lag=50000 --set lag.for=90 --set slow=off").waitFor();
  await dialog(page).getByText("above 50,000 records, for 90 s").waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("The alerts of stream page-views were changed").waitFor();
  await close(page);
  await page.getByRole("row", { name: /lag.*changed/ }).waitFor();
  assert.equal(await page.getByLabel("Limit of lag, in records").inputValue(), "50000");
  assert.equal(await page.getByLabel("slow is on").isChecked(), false);
  await page.getByLabel("Limit of lag, in records").fill("many");
  await page.getByRole("button", { name: "Plan the change" }).click();
  await dialog(page).getByText("is no number").waitFor();
});

test("checkpoints of a stopped stream are saved under a name, a start goes back to them, and they are taken away", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", "/streams/returns/checkpoints");
  await page.getByText("None was saved").waitFor();
  await page.getByRole("button", { name: "Save those of now" }).click();
  await dialog(page).getByLabel("Name").fill("friday");
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText("would be saved as friday. Version 1 ran with them.").waitFor();
  await dialog(page).getByText("anabranch stream checkpoint returns --save friday").waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("are saved as friday").waitFor();
  await close(page);
  await page.getByRole("heading", { name: "friday" }).waitFor();

  await page.getByRole("button", { name: "Try it" }).click();
  await page.getByRole("row", { name: /out.*begins where its tables say/ }).waitFor();

  await page.getByRole("button", { name: "Start from…" }).click();
  await dialog(page).getByLabel("Each query begins").selectOption("saved");
  await dialog(page).getByLabel("Saved checkpoint").selectOption("friday");
  assert.equal(await dialog(page).getByLabel("Position").count(), 0);
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText("would go back to the saved checkpoint friday").waitFor();
  await dialog(page).getByRole("row", { name: /returns/ }).waitFor();
  await dialog(page).getByText("anabranch stream start returns --from-checkpoint friday").waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();

  await page.getByRole("button", { name: "Start from…" }).click();
  await dialog(page).getByLabel("Each query begins").selectOption("position");
  await dialog(page).getByLabel("Position").fill("yesterday");
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText("Not planned").waitFor();
  await dialog(page).getByLabel("Position").fill("n-0:17");
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText("would begin again at n-0:17, with an empty state").waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();

  await page.getByRole("button", { name: "Delete checkpoint friday" }).click();
  await dialog(page).getByText("No start can go back to it then").waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("friday of stream returns is gone").waitFor();
  await close(page);
  await page.getByText("None was saved").waitFor();
  sound(page);
});

test("a restart says what becomes of a state that does not fit, and of a file of PySpark nothing is asked of it", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", "/streams/page-views");
  await page.getByRole("button", { name: "Restart from…" }).click();
  await dialog(page).getByLabel(/A query whose state does not fit/).selectOption("new");
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText("goes on at its records, with an empty state").waitFor();
  await dialog(page).getByText("anabranch stream restart page-views --new-state").waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await page.goto(`${stand.url}/streams/late-flights/checkpoints`);
  await page.getByText("A PySpark file has no trial").waitFor();
  await page.getByRole("button", { name: "Start from…" }).click();
  assert.equal(await dialog(page).getByLabel(/A query whose state does not fit/).count(), 0);
  sound(page);
});

test("the page of a table says who reads a column, and what breaks if it goes", async () => {
  const page = await person(browser);
  await signIn(page, stand, "admin", "/catalog/entries/spark_catalog.shop.orders?column=amount");
  const region = page.getByRole("region", { name: "Who reads a column" });
  await region.getByRole("row", { name: /orders-copy orders_copy amount, which rows there are filter, identity/ }).waitFor();
  await region.getByText("Without it break:").waitFor();
  await region.getByText(/page-views/).waitFor();
  await region.getByText("anabranch stream lineage --column shop.orders.amount --impact").waitFor();
  await region.getByLabel("Column").selectOption("voucher");
  await region.getByText("No stream that has told its lineage reads it.").waitFor();
  await region.getByText("No stream breaks without it.").waitFor();
  assert.match(page.url(), /column=voucher/);
  await region.getByLabel("Column").selectOption("id");
  await region.getByRole("link", { name: "orders-copy" }).first().click();
  await page.getByRole("heading", { name: /Lineage of version 1/ }).waitFor();
  sound(page);
});

test("an artifact says what can be called in it and who uses it, and goes only where nobody does", async () => {
  const page = await person(browser);
  await signIn(page, stand, "admin", "/artifacts");
  await page.getByRole("link", { name: "pages", exact: true }).click();
  await page.getByText("pages.clean(path STRING) RETURNS STRING").waitFor();
  await page.getByText("pages.depth(path STRING, most BIGINT DEFAULT) RETURNS BIGINT").waitFor();
  await page.getByRole("link", { name: "stream orders-copy version 1" }).waitFor();
  assert.match(await page.getByRole("button", { name: "Delete", exact: true }).getAttribute("title"), /streams were saved with it/);
  await page.goto(`${stand.url}/artifacts/codes`);
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await dialog(page).getByText("Artifact codes would be forgotten with version 1.").waitFor();
  await dialog(page).getByText(/anabranch artifact delete codes/).first().waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("1 version of artifact codes forgotten").waitFor();
  await close(page);
  await page.goto(`${stand.url}/artifacts`);
  await page.getByText("1 artifact", { exact: true }).waitFor();
  sound(page);
});

test("what was written and not saved is there again after the page was left, and goes once it is saved or taken back", async () => {
  const page = await person(browser);
  await signIn(page, stand, "admin", "/streams/sessions/edit");
  const editor = page.locator(".cm-content");
  await editor.click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("-- not saved yet\n");
  await page.getByLabel("Note").fill("half a thought");
  await page.goto(`${stand.url}/streams`);
  await page.getByRole("link", { name: "sessions" }).waitFor();
  await page.goto(`${stand.url}/streams/sessions/edit`);
  await page.getByText("this browser has kept it").waitFor();
  await page.locator(".cm-line").getByText("-- not saved yet").waitFor();
  assert.equal(await page.getByLabel("Note").inputValue(), "half a thought");
  await page.goto(`${stand.url}/streams/returns/edit`);
  await page.locator(".cm-line").first().waitFor();
  assert.equal(await page.getByText("this browser has kept it").count(), 0, "another stream has its own");

  if (!FULL) return;
  await page.goto(`${stand.url}/streams/sessions/edit`);
  await page.getByRole("button", { name: "Take my changes back" }).click();
  await page.reload();
  await page.locator(".cm-line").first().waitFor();
  assert.equal(await page.getByText("-- not saved yet").count() + (await page.getByText("this browser has kept it").count()), 0);

  await editor.click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("-- to be saved\n");
  await page.getByRole("button", { name: "Plan the new version" }).click();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText(/Version \d of stream sessions is saved/).waitFor();
  await page.goto(`${stand.url}/streams/sessions/edit`);
  await page.locator(".cm-line").getByText("-- to be saved").waitFor();
  assert.equal(await page.getByText("this browser has kept it").count(), 0);
});
