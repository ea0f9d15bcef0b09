// Positions that move in a browser beside real clusters: those in a Spark query's checkpoint, and those in topics that
// another program has copied.  Real clusters, and Spark twice: it takes minutes, and is in the tier `full` alone.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { SPARK, dialog, person, signIn, sound } from "./support/browser.mjs";
import { theBrowser, thePositions } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

/** Spark starts within this, also on a machine that is busy. */
let stand;
let browser;
let operator;
let approver;
before(async () => {
  [stand, browser] = await together(thePositions(), theBrowser());
  [operator, approver] = await Promise.all([person(browser, { stays: true }), person(browser, { stays: true })]);
  await Promise.all([signIn(operator, stand, "operator"), signIn(approver, stand, "approver")]);
});

/** Every file of the checkpoint by its path, in hexadecimal digits. */
async function files() {
  const found = await readdir(stand.checkpoint, { recursive: true, withFileTypes: true });
  const paths = found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  return Object.fromEntries(await Promise.all(paths.sort().map(async (path) => [path, await readFile(path, "hex")])));
}

/** Where a query goes on that starts from the checkpoint, as Spark reads it. */
async function starts() {
  const log = await readFile(join(stand.checkpoint, "offsets", "4"), "utf8");
  return JSON.parse(log.split("\n").at(-1)).flights;
}

/** Apply the plan that a page or a dialog shows, and wait for its report. */
async function apply(within, reported) {
  await within.getByRole("button", { name: "Apply this plan" }).click();
  await within.getByText(reported).first().waitFor(SPARK);
}

let original;

test("a checkpoint is looked at, with what its query has not read on the old cluster", async () => {
  original = await files();
  assert.deepEqual(await starts(), { 0: 8, 1: 9, 2: 10 });
  await operator.goto(`${stand.url}/checkpoints`);
  await operator.getByLabel("Checkpoint", { exact: true }).fill(stand.checkpoint);
  await operator.getByLabel("Lag on").selectOption("old");
  await operator.getByRole("button", { name: "Look", exact: true }).click();
  const held = operator.getByRole("region", { name: "What it holds" });
  for (const row of [/flights-0 next 8 32/, /flights-1 next 9 31/, /flights-2 next 10 30/]) await held.getByRole("row", { name: row }).waitFor();
});

test("an operator plans a rewrite, and an approver applies it: the files hold the offsets of the new cluster", async () => {
  await operator.goto(`${stand.url}/checkpoints/rewrite?path=${stand.checkpoint}&link=${stand.link}`);
  const form = operator.getByRole("region", { name: "Plan a rewrite" });
  await form.getByLabel("Target", { exact: true }).selectOption("new");
  await form.getByRole("button", { name: "Plan the rewrite" }).click();
  const plan = dialog(operator);
  for (const row of [/flights-0 8 flights-0 6/, /flights-1 9 flights-1 7/, /flights-2 10 flights-2 8/]) await plan.getByRole("row", { name: row }).waitFor();
  await plan.getByText("would repeat 0 and skip 6 records").waitFor();
  await plan.getByText(`anabranch checkpoint rewrite ${stand.checkpoint} --link ${stand.link} --target new --execute`).waitFor();
  const button = plan.getByRole("button", { name: "Apply this plan" });
  assert.match(await button.getAttribute("title"), /approver/);
  assert.deepEqual(await files(), original);
  await approver.goto(stand.url + (await plan.getByRole("link", { name: "Open as a page" }).getAttribute("href")));
  await approver.getByRole("row", { name: /flights-1 9 flights-1 7/ }).waitFor();
  await apply(approver, /were rewritten in .* takes it back/);
  assert.deepEqual(await starts(), { 0: 6, 1: 7, 2: 8 });
  sound(approver);
});

test("the rewrite is proved: each source starts where the map says, inside of the log there", async () => {
  await operator.goto(`${stand.url}/checkpoints/proof?path=${stand.checkpoint}&link=${stand.link}`);
  const form = operator.getByRole("region", { name: "Prove a rewrite" });
  await form.getByLabel("Target", { exact: true }).selectOption("new");
  await form.getByRole("button", { name: "Prove it" }).click();
  const proof = operator.getByRole("region", { name: "Proof", exact: true });
  await proof.getByText("as it must be").waitFor();
  for (const row of [/flights-0: 8 flights-0: 6 0 to 38 right/, /flights-1: 9 flights-1: 7 0 to 38 right/]) await proof.getByRole("row", { name: row }).waitFor();
  sound(operator);
});

test("the rewrite is taken back by its page, and every file is as it was", async () => {
  await approver.goto(`${stand.url}/checkpoints/undo`);
  const undo = approver.getByRole("region", { name: "Undo a rewrite" });
  await undo.getByLabel("Checkpoint").fill(stand.checkpoint);
  await undo.getByRole("button", { name: "Plan the undo" }).click();
  await dialog(approver).getByText("would be taken back, byte for byte").waitFor();
  await apply(dialog(approver), "The checkpoint is as it was before the rewrite");
  assert.deepEqual(await files(), original);
  sound(approver);
});

const whole = (number) => number.toLocaleString("en-US");

/** Ask where a record is on the other side. */
async function ask(page, partition, offset) {
  await page.goto(`${stand.url}/links/new/taken/where`);
  const form = page.getByRole("region", { name: "Where is this record?" });
  await form.getByLabel("Source partition").fill(partition);
  await form.getByLabel("Offset", { exact: true }).fill(String(offset));
  await form.getByRole("button", { name: "Translate" }).click();
  return form.getByRole("status");
}

test("maps of topics that another program copied are made by a Spark job from the records alone", async () => {
  await operator.goto(`${stand.url}/mirrormaker/rebuild`);
  await operator.getByLabel("Source", { exact: true }).selectOption("old");
  await operator.getByLabel("Target", { exact: true }).selectOption("new");
  await operator.getByLabel("Topics", { exact: true }).fill("orders");
  await operator.getByLabel("Id of the link that will adopt the maps").fill("taken");
  await operator.getByRole("button", { name: "Plan the maps" }).click();
  const plan = dialog(operator);
  await plan.getByText(`2 partitions with ${whole(2 * stand.records)} source offsets would be read on both clusters`).waitFor();
  await plan.getByRole("row", { name: "orders old.orders" }).waitFor();
  await apply(plan, /Maps of 2 partitions with .* records are in .*taken\.json/);
  const words = await plan.getByRole("status").innerText();
  assert.match(words, /1 offset span is unclear: positions there are refused/);
  sound(operator);
});

test("the form of the link is filled in with what the maps are of, and the link that adopts them is created", async () => {
  await operator.getByRole("link", { name: "Create the link that adopts them" }).click();
  await operator.getByRole("heading", { name: "Create a link" }).waitFor();
  const filled = (label) => operator.getByRole("textbox", { name: label, exact: true }).inputValue();
  const chosen = (label) => operator.getByRole("combobox", { name: label, exact: true }).inputValue();
  assert.deepEqual(
    await Promise.all([chosen("Source"), chosen("Target"), filled("Id"), filled("Topics"), chosen("Names on the target")]),
    ["old", "new", "taken", "orders", "prefix"],
  );
  assert.match(await filled("File of maps to adopt"), /\/maps\/taken\.json$/);
  // Whoever made the maps may not create a link: an approver opens the same address.
  await approver.goto(operator.url());
  await approver.getByRole("button", { name: "Plan the link" }).click();
  await dialog(approver).getByText(/topic old.orders is adopted with .* records/).waitFor();
  await dialog(approver).getByText(/anabranch link create --source old --target new --id taken .*--adopt .*taken\.json/).waitFor();
  await apply(dialog(approver), "The link taken is stored.");
  sound(operator);
  sound(approver);
});

test("before its first run the link has no answers, and says what to do", async () => {
  await ask(operator, "orders-0", stand.records - 1);
  await operator.getByText("it has not begun: anabranch link run taken").waitFor();
});

test("the link is run, and goes on where the other program's copies end", async () => {
  await approver.goto(`${stand.url}/links/new/taken`);
  await approver.getByRole("button", { name: "Run", exact: true }).click();
  await dialog(approver).getByText("anabranch link run taken --detach --target new").waitFor();
  await apply(dialog(approver), /runs as process \d+/);
  await dialog(approver).getByRole("button", { name: "Close" }).last().click();
  for (const partition of [0, 1]) await approver.getByRole("row", { name: new RegExp(`orders-${partition} .*following`) }).waitFor(SPARK);
  await stand.say("produce");
  await approver.getByRole("row", { name: new RegExp(`orders-0 .*${whole(stand.records + stand.more)}`) }).waitFor(SPARK);
  sound(approver);
});

test("an offset is found in what the other program copied and in what the link copied, and none is guessed", async () => {
  for (const offset of [stand.records - 500, stand.records + stand.more - 1]) {
    const answer = await ask(operator, "orders-0", offset);
    await answer.getByText("exact", { exact: true }).waitFor();
    await answer.getByText(`→ old.orders-0 offset ${whole(offset + stand.shift)}`).waitFor();
    const value = await stand.say(`value new old.orders 0 ${offset + stand.shift}`);
    assert.equal(value, `record ${offset}`);
    assert.equal(await stand.say(`value old orders 0 ${offset}`), value);
  }
  const unclear = await ask(operator, "orders-1", 302);
  await unclear.getByText("before", { exact: true }).waitFor();
  await unclear.getByText(/Nearest above: 305 → \d+/).waitFor();
  sound(operator);
});
