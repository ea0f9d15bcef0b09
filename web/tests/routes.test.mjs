// Routes and applications: the table and its versions, why a client is led where, a change that is planned, applied and
// taken back, and who is where.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { dialog, person, signIn, sound } from "./support/browser.mjs";
import { FULL, full } from "./support/looks.mjs";
import { clientId, example, fillRoutes, publish, register, reporting, REPORTS, TABLE } from "./support/routes.mjs";
import { theBrowser, theStand } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

let stand;
let browser;
let quiet;
before(async () => {
  [stand, browser] = await together(theStand(), theBrowser());
});
after(() => quiet?.());

const newest = async () => (await stand.ask("GET", "routes")).body;
const copied = (page) => page.evaluate(() => navigator.clipboard.readText());
const file = (page) => page.getByLabel("Routes file");

test("before the first table every page says the next step, and the first table is written there", async () => {
  const page = await person(browser);
  await signIn(page, stand, "approver", "/applications");
  await page.getByText("No application has registered yet").waitFor();
  await page.getByText("anabranch route apply -f FILE --reason WHY --execute").waitFor();
  await page.getByRole("link", { name: "route table" }).click();
  await page.getByText("No route table has been published yet").waitFor();
  await page.getByRole("button", { name: "Copy as CLI" }).click();
  assert.equal(await copied(page), "anabranch route apply -f FILE --reason WHY --execute");
  await page.getByRole("link", { name: "Versions" }).click();
  await page.getByText("No route table has been published yet").waitFor();
  await page.goto(`${stand.url}/routes/explain?code=orders&role=consumer`);
  await page.getByRole("alert").getByText("Such a client is refused").waitFor();
  await page.getByRole("link", { name: "Write the first table" }).click();
  await file(page).fill(example("applications"));
  await page.getByLabel("Reason").fill("a code for team shop");
  await page.getByRole("button", { name: "Plan the change" }).click();
  await dialog(page).getByRole("row", { name: /code orders new none leads to cluster old/ }).waitFor();
  await dialog(page).getByText("anabranch route apply --file routes.yaml --reason 'a code for team shop' --execute").waitFor();
  await dialog(page).getByRole("button", { name: "Save routes.yaml" }).waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("Version 1 of the route table applies.").waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).last().click();
  await page.goto(`${stand.url}/applications`);
  await page.getByText("anabranch account add NAME --role client").waitFor();
  sound(page);
});

test("the table shows its codes, and its rules in the order in which they decide", async () => {
  await fillRoutes(stand);
  quiet = reporting(stand, REPORTS);
  const page = await person(browser);
  await signIn(page, stand, "viewer");
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Routes" }).click();
  await page.getByText("a code for team shop").waitFor();
  await page.getByRole("row", { name: /shop code orders old/ }).waitFor();
  const rules = await page.getByRole("table", { name: "Rules, the highest priority first" }).locator("tbody tr").allInnerTexts();
  assert.equal(rules.length, 2);
  assert.match(rules[0], /100\s+job-1234\s+consumers with code orders, group enrich-1234, parameter job_id 1234\s+cluster new; topics are called old\.\{topic\} there; may only read/);
  assert.match(rules[1], /all-of-billing/);
  await page.getByLabel("Filter codes and rules").fill("nobody");
  await page.getByText('No code and no rule has "nobody" in it').waitFor();
  await page.getByRole("button", { name: "Show all of them" }).click();
  await page.getByRole("row", { name: /shop code orders/ }).waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save routes.yaml" }).click()]);
  assert.match(await readFile(await download.path(), "utf8"), /^version: 1\ncodes:\n {2}orders:\n {4}cluster: old\n/);
  sound(page);
});

test("a route is explained with each rule on its way, at an address of its own", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", "/routes/explain");
  await page.getByRole("textbox", { name: "Code" }).fill("shop");
  await page.getByLabel("Group").fill("enrich-1234");
  await page.getByLabel("Topics").fill("orders");
  await page.getByLabel("Parameters").fill("job_id");
  await page.getByRole("button", { name: "Explain", exact: true }).click();
  await page.getByRole("alert").getByText("job_id: not NAME=VALUE").waitFor();
  await page.getByLabel("Parameters").fill("job_id=1234");
  await page.getByRole("button", { name: "Explain", exact: true }).click();
  await page.getByText("Code shop leads to cluster new").waitFor();
  const route = page.getByRole("region", { name: "The route" });
  assert.match(await route.innerText(), /rule job-1234[\s\S]*may only read/);
  await route.getByRole("row", { name: /orders old\.orders/ }).waitFor();
  const way = page.getByRole("region", { name: "The way of topic orders" });
  await way.getByRole("table", { name: "Rules for code shop" }).getByRole("row", { name: /job-1234 does not match .*code/ }).waitFor();
  await way.getByRole("table", { name: "Rules for code orders" }).getByRole("row", { name: /100 job-1234 decides/ }).waitFor();
  await page.getByText("anabranch route explain shop --role consumer --topic orders --group enrich-1234 --param job_id=1234").waitFor();
  const other = await person(browser);
  await signIn(other, stand, "viewer", new URL(page.url()).pathname + new URL(page.url()).search);
  await other.getByText("Code shop leads to cluster new").waitFor();
  assert.equal(await other.getByLabel("Parameters").inputValue(), "job_id=1234");
  await other.getByRole("textbox", { name: "Code" }).fill("nobody");
  await other.getByRole("button", { name: "Explain", exact: true }).click();
  await other.getByRole("alert").getByText("Such a client is refused").waitFor();
  assert.match(await other.getByRole("alert").innerText(), /there is no cluster code 'nobody'[\s\S]*What to do:/i);
  // Back and forward lead to questions, and the form has theirs.
  const asked = async () => [await other.getByRole("textbox", { name: "Code" }).inputValue(), await other.getByLabel("Parameters").inputValue()];
  await other.goBack();
  await other.getByText("Code shop leads to cluster new").waitFor();
  assert.deepEqual(await asked(), ["shop", "job_id=1234"]);
  await other.getByLabel("Parameters").fill("job_id");
  await other.getByRole("button", { name: "Explain", exact: true }).click();
  await other.getByRole("alert").getByText("job_id: not NAME=VALUE").waitFor();
  await other.goForward();
  await other.getByRole("alert").getByText("Such a client is refused").waitFor();
  assert.deepEqual(await asked(), ["nobody", "job_id=1234"]);
  assert.equal(await other.getByText("job_id: not NAME=VALUE").count(), 0);
  sound(page);
});

test("a change says whom it moves, is refused with its reasons, and applied by somebody who may", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", "/routes/change");
  const table = { version: 1, ...TABLE, codes: { ...TABLE.codes, orders: { cluster: "new" } }, rules: [TABLE.rules[0]] };
  await file(page).fill("codes:\n  orders: *old");
  await page.getByLabel("Reason").fill("to the new cluster");
  await page.getByRole("button", { name: "Plan the change" }).click();
  await page.getByRole("alert").getByText("not read: line 2: an alias (*) is not read here").waitFor();
  await file(page).fill("codes:\n  orders: {cluster: nowhere}\n  shop: {code: gone}");
  await page.getByRole("button", { name: "Plan the change" }).click();
  await dialog(page).getByText("Not planned").waitFor();
  assert.match(await dialog(page).innerText(), /2 faults:[\s\S]*'nowhere'[\s\S]*anabranch context add nowhere[\s\S]*'gone'[\s\S]*What to do: correct all of them/);
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await page.getByLabel("Read it from a file").setInputFiles({ name: "routes.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(table)) });
  await page.waitForFunction((text) => document.querySelector("textarea")?.value === text, JSON.stringify(table));
  await page.getByRole("button", { name: "Plan the change" }).click();
  await dialog(page).getByText("no link copies orders as orders from old to new").waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  const copies = JSON.stringify({ ...table, codes: { ...table.codes, orders: { cluster: "new", topics: "old.{topic}" } } });
  await file(page).fill(copies);
  await page.getByRole("button", { name: "Plan the change" }).click();
  await dialog(page).getByRole("table", { name: "How they are moved" }).getByRole("row", { name: /old new old-new 2/ }).waitFor();
  await dialog(page).getByText("where one does not, nothing is published").waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await file(page).fill(JSON.stringify(table));
  await page.getByLabel("Publish at once").check();
  await page.getByRole("button", { name: "Plan the change" }).click();
  await dialog(page).getByText("At once: nobody pauses, and no position is moved.").waitFor();
  await dialog(page).getByText("2 registered clients change, 1 stays as it is").waitFor();
  await dialog(page).getByRole("table", { name: "Groups that move" }).getByRole("row", { name: /billing old new/ }).waitFor();
  await dialog(page).getByRole("table", { name: "Who moves" }).getByRole("row", { name: /producers of till old new 1 host-2 pid 102/ }).waitFor();
  await dialog(page).getByRole("row", { name: /code orders changed leads to cluster old cluster new/ }).waitFor();
  const apply = dialog(page).getByRole("button", { name: "Apply this plan" });
  assert.match(await apply.getAttribute("title"), /applying this plan needs the role approver/);
  const address = await dialog(page).getByRole("link", { name: "Open as a page" }).getAttribute("href");

  const second = await person(browser);
  await signIn(second, stand, "approver", address);
  await second.getByRole("row", { name: /billing old new/ }).first().waitFor();
  await second.getByRole("button", { name: "Apply this plan" }).click();
  await second.getByText(/Version \d of the route table applies\. 2 clients are led otherwise, 1 group to another cluster\./).waitFor();
  assert.equal((await newest()).table.codes.orders.cluster, "new");

  // Who still has the text of before is told of the new version; the same table is no change.
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Plan the change" }).click();
  await dialog(page).getByText("Nothing: this table is the one that applies.").waitFor();
  assert.equal(await apply.getAttribute("title"), "this table is the one that applies");
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await publish(stand, { ...table, codes: { ...table.codes, late: { cluster: "old" } } }, "one more");
  await page.getByText(/was published by approver since this text began/).waitFor();
  await page.getByRole("button", { name: /Begin again with version/ }).click();
  assert.match(await file(page).inputValue(), /late:\n {4}cluster: old/);
  sound(page);
  sound(second);
});

test("an earlier version is opened, told apart from the newest, and published again", async () => {
  const page = await person(browser);
  await signIn(page, stand, "approver", "/routes/versions");
  await page.getByRole("row", { name: /applies .* one more/ }).waitFor();
  await page.getByRole("link", { name: "version 3", exact: true }).click();
  const other = page.getByRole("region", { name: "What the newest version has otherwise" });
  await other.getByText(/^1 code is new, 1 code changed, 1 rule is gone$/i).waitFor();
  await other.getByRole("row", { name: /code orders changed leads to cluster old cluster new/ }).waitFor();
  await page.getByRole("button", { name: "Go back to it" }).click();
  await dialog(page).getByLabel("Reason").fill("too early");
  await dialog(page).getByLabel("Publish at once").check();
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText("anabranch route rollback 3 --reason 'too early' --at-once --execute").waitFor();
  await dialog(page).getByRole("row", { name: /code late gone/ }).waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText(/of the route table applies/).waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).last().click();
  await page.getByText("Nothing: both versions have the same table.").waitFor();
  assert.equal((await newest()).table.codes.orders.cluster, "old");
  await page.goto(`${stand.url}/routes/versions/99`);
  await page.getByText(/there is no version 99/i).waitFor();
  sound(page);
});

full("a viewer sees all of it, and why a change is not for a viewer", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", "/routes/change");
  const plan = page.getByRole("button", { name: "Plan the change" });
  assert.equal(await plan.getAttribute("title"), "viewer has the role viewer; plans need the role operator");
  await page.goto(`${stand.url}/routes/versions`);
  assert.match(await page.getByRole("button", { name: /Go back to it/ }).first().getAttribute("title"), /plans need the role operator/);
});

test("applications: who is where, filtered, in pages, each with its details", async () => {
  const many = FULL ? 230 : 110;
  const all = many + 3;
  for (let number = 10; number < 10 + many; number += 1) await register(stand, number, { group: `many-${number}`, facts: { application: "many" } });
  const page = await person(browser);
  await signIn(page, stand, "viewer", "/applications");
  await page.getByText(`1 to 100 of ${all} clients`).waitFor();
  assert.equal(await page.getByRole("table", { name: "Clients" }).locator("tbody tr").count(), 100);
  await page.getByRole("button", { name: "Next page" }).click();
  await page.getByText(`101 to ${Math.min(all, 200)} of ${all} clients`).waitFor();
  await page.getByText("anabranch route clients --offset 100").waitFor();
  if (FULL) {
    await page.getByRole("button", { name: "Next page" }).click();
    await page.getByText(`201 to ${all} of ${all} clients`).waitFor();
  }
  assert.equal(await page.getByRole("button", { name: "Next page" }).getAttribute("title"), "this is the last page");
  await page.getByLabel("Application").fill("shop");
  await page.getByText("1 to 2 of 2 clients").waitFor();
  const row = page.getByRole("row", { name: /billing-1/ });
  assert.match(await row.innerText(), /shop[\s\S]*host-1, pid 101[\s\S]*SDK 0\.9\.0[\s\S]*consumer[\s\S]*group billing[\s\S]*orders[\s\S]*old[\s\S]*17/);
  await page.getByLabel("Application").fill("");
  await page.getByLabel("behind a change").check();
  await page.getByRole("row", { name: /enrich-1234/ }).getByText("behind").waitFor();
  await page.getByLabel("Role").selectOption("producer");
  assert.match(new URL(page.url()).search, /role=producer.*behind=true/);
  await page.getByRole("row", { name: /till/ }).waitFor();
  assert.match(await page.getByRole("row", { name: /till/ }).innerText(), /3[\s\S]*delivery failed: timed out/);
  await page.getByLabel("Cluster").fill("nowhere");
  await page.getByText("No client is as the filter wants it").waitFor();
  await page.getByRole("button", { name: "Show every client" }).click();
  await page.getByText(`1 to 100 of ${all} clients`).waitFor();
  await page.goto(`${stand.url}/applications?offset=900`);
  await page.getByText("There are not as many clients any more").waitFor();
  await page.getByRole("button", { name: "Show the first page" }).click();
  await page.getByText(`1 to 100 of ${all} clients`).waitFor();

  await page.goto(`${stand.url}/applications/${clientId(1)}`);
  await page.getByRole("heading", { name: "billing-1" }).waitFor();
  await page.getByRole("row", { name: /orders-1 5,000/ }).waitFor();
  await page.getByText(/leads it\s+otherwise/).waitFor();
  await page.getByRole("link", { name: "Explain its route" }).click();
  await page.getByText("Code orders leads to cluster old").waitFor();
  await page.goto(`${stand.url}/applications/${clientId(4_000)}`);
  await page.getByRole("alert").getByText("What to do:").waitFor();
  sound(page);
});
