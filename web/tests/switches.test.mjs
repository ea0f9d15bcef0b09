// Switches: clients that run are moved to another cluster; how far that is, told as it happens, and giving it up.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dialog, person, signIn, sound } from "./support/browser.mjs";
import { beginSwitch, clientId, MOVED, paused, publish, register, reporting, REPORTS, TABLE } from "./support/routes.mjs";
import { fits, found, NARROW } from "./support/looks.mjs";
import { theBrowser, theStand } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

let stand;
let browser;
let quiet;
before(async () => {
  [stand, browser] = await together(theStand(), theBrowser());
});
after(() => quiet?.());

const copied = (page) => page.evaluate(() => navigator.clipboard.readText());
const steps = (page) => page.getByRole("region", { name: "How far it has come" }).getByRole("listitem").allInnerTexts();
const row = (page, name) => page.getByRole("table", { name: "Clients that it moves" }).getByRole("row", { name });

test("before the first switch its page says what one is, and how it begins", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", "/routes");
  await page.getByRole("link", { name: "Switches" }).click();
  await page.getByText("No client was moved yet").waitFor();
  await page.getByRole("link", { name: "Plan a change" }).waitFor();
  await page.getByText("anabranch route apply -f FILE --reason WHY --execute").waitFor();
  await page.goto(`${stand.url}/routes/switches/nonsense`);
  await page.getByText("There is no page at this address").waitFor();
  await page.goto(`${stand.url}/routes/switches/${"0".repeat(32)}`);
  await page.getByRole("alert").getByText("What to do:").waitFor();
  sound(page);
});

test("a switch is shown as it goes, and given up by somebody who may, with a reason", async () => {
  await publish(stand);
  await register(stand, 1, { client_id: "billing-1" }, REPORTS[clientId(1)]);
  await register(stand, 2, { role: "producer", group: "", facts: { application: "till" } }, REPORTS[clientId(2)]);
  quiet = reporting(stand, { [clientId(1)]: REPORTS[clientId(1)], [clientId(2)]: REPORTS[clientId(2)] });
  const { operation, id } = await beginSwitch(stand, MOVED, "to the new cluster");

  const page = await person(browser);
  await signIn(page, stand, "viewer", `/operations/${operation}`);
  await page.getByRole("link", { name: "Look at the switch" }).click();
  await page.getByRole("heading", { name: `Switch ${id.slice(0, 8)}` }).waitFor();
  assert.deepEqual((await steps(page)).map((text) => text.split("\n").slice(0, 2).join(" ")), [
    "preparing now",
    "draining to come",
    "moving to come",
    "published to come",
    "done to come",
  ]);
  assert.match(await row(page, /billing-1/).innerText(), /consumer, group billing\s+old\s+new\s+not yet/);
  await page.getByRole("link", { name: "old-new" }).waitFor();
  await paused(stand, 1, id, { "orders-0": 12, "orders-1": 27 }, { "orders-0": 3 });
  await row(page, /billing-1/).getByText("paused", { exact: true }).waitFor();
  await row(page, /till/).getByText("not yet").waitFor();
  await row(page, /billing-1/).getByText("2 partitions").click();
  await row(page, /billing-1/).getByText("orders-1: 27").waitFor();
  await row(page, /billing-1/).getByText("3 messages").click();
  await row(page, /billing-1/).getByText("orders-0: 3").waitFor();
  assert.deepEqual(await found(page), []);
  await page.getByRole("button", { name: "Copy as CLI" }).click();
  assert.equal(await copied(page), `anabranch route switches ${id}`);
  assert.match(await page.getByRole("button", { name: "Give it up" }).getAttribute("title"), /plans need the role operator/);

  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Applications" }).click();
  await page.getByText("A switch is under way: preparing").waitFor();
  await page.getByText("1 of 2 clients that it moves have paused").waitFor();
  assert.deepEqual(await found(page), []);
  await page.getByRole("link", { name: "Look at the switch" }).click();
  await page.getByText("How far it has come").waitFor();

  const second = await person(browser, NARROW);
  await signIn(second, stand, "approver", `/routes/switches/${id}`);
  await second.getByRole("button", { name: "Give it up" }).click();
  await dialog(second).getByRole("button", { name: "Plan" }).click();
  assert.equal(await dialog(second).getByLabel("Reason").count(), 1, "a reason is wanted");
  await dialog(second).getByLabel("Reason").fill("too early in the day");
  await dialog(second).getByRole("button", { name: "Plan" }).click();
  await dialog(second).getByText("Every client goes on where it was, at the record where it was.").waitFor();
  await dialog(second).getByText("2, of which 1 have paused").waitFor();
  await dialog(second).getByText(`anabranch route cancel ${id} --reason 'too early in the day' --execute`).waitFor();
  assert.deepEqual(await found(second), []);
  await fits(second);
  await dialog(second).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(second).getByText("The switch was given up, and every client is where it was.").waitFor();
  await dialog(second).getByRole("button", { name: "Close" }).last().click();
  for (const one of [page, second]) {
    await one.getByText("It was given up, and nothing was published").waitFor();
    await one.getByText("approver: too early in the day").waitFor();
    assert.equal(await one.getByRole("button", { name: "Give it up" }).count(), 0);
    await row(one, /till/).getByText("had not paused").waitFor();
  }
  await page.getByRole("navigation", { name: "Where this is" }).getByRole("link", { name: "Switches" }).click();
  const listed = page.getByRole("table", { name: "Switches" }).getByRole("row", { name: new RegExp(id.slice(0, 8)) });
  assert.match(await listed.innerText(), /given up[\s\S]*not published\s+2\s+1\s+0\s+to the new cluster\s+by approver\s+given up: approver: too early in the day/);
  await page.getByText("anabranch route switches", { exact: true }).waitFor();
  assert.equal((await stand.ask("GET", "routes")).body.version, 1);
  sound(page);
  sound(second);
});

test("a switch that ends says where each client starts, and which version it published", async () => {
  const rule = { name: "billing-first", match: { group: "billing" }, to: { cluster: "new", topics: "old.{topic}" } };
  const { operation, id } = await beginSwitch(stand, { ...TABLE, rules: [rule] }, "readers first");
  const page = await person(browser);
  await signIn(page, stand, "approver", `/routes/switches/${id}`);
  await row(page, /billing-1/).getByText("not yet").waitFor();
  await page.getByRole("button", { name: "Give it up" }).click();
  await paused(stand, 1, id, { "orders-0": 12, "orders-1": 27 });
  // Who was about to give it up is told that it is too late.
  await page.getByRole("link", { name: "version 2" }).waitFor();
  await page.getByRole("button", { name: "Give it up" }).waitFor({ state: "detached" });
  await dialog(page).getByLabel("Reason").fill("too late in the day");
  await dialog(page).getByRole("button", { name: "Plan" }).click();
  await dialog(page).getByText(`switch ${id} is not under way`).waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  assert.ok((await steps(page)).every((text) => text.split("\n")[1] === "reached"));
  await row(page, /billing-1/).getByText("2 partitions").last().click();
  await row(page, /billing-1/).getByText("old.orders-0: 2").waitFor();
  await row(page, /billing-1/).getByText("old.orders-1: 12").waitFor();
  await page.goto(`${stand.url}/operations/${operation}`);
  await page.getByText("Version 2 of the route table applies.").waitFor();
  await page.getByRole("link", { name: "Look at the switch" }).click();
  await page.getByText("every client was told to go on").waitFor();
  sound(page);
});
