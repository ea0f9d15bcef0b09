// Changes that are clicked through beside real clusters: a plan is shown, its command copied, the plan applied, and what
// it did is read from the brokers.  Comparisons and the link itself run on Spark: the tier `full` alone.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { SPARK, dialog, person, signIn, sound } from "./support/browser.mjs";
import { found } from "./support/looks.mjs";
import { theBrowser, theSandbox } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

const LINK = "/links/new/second";
const whole = (number) => number.toLocaleString("en-US");
let stand;
let page;
before(async () => {
  let browser;
  [stand, browser] = await together(theSandbox(), theBrowser());
  page = await person(browser, { stays: true });
  await signIn(page, stand, "approver");
});

/** What is asked for is planned, as far as the plan that is shown. */
async function plan(shown) {
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText(shown).first().waitFor(SPARK);
}

/** Its command is what the button copies, the whole of it. */
async function copies(command) {
  await dialog(page).getByRole("button", { name: "Copy as CLI" }).click();
  await dialog(page).getByText("Copied", { exact: true }).waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), command);
}

/** Apply the plan that the dialog shows, wait for its report, and close it. */
async function apply(reported) {
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText(reported).first().waitFor(SPARK);
  await dialog(page).getByRole("button", { name: "Close" }).last().click();
}

test("a link of a long topic follows, and a group stands in it", async () => {
  const { topic, records } = stand.long;
  const link = { id: "second", source: "old", target: "new", filter: { include: [topic] } };
  assert.equal((await stand.apply("links/create", { link })).state, "done");
  await stand.say(`commit desk ${topic} 1234`);
  assert.equal((await stand.apply("links/run", { target: "new", link: "second" })).state, "done");
  await page.goto(stand.url + LINK);
  await page.getByRole("row", { name: new RegExp(`${topic}-0 .*following.*${whole(records)}`) }).waitFor(SPARK);
});

test("a baseline of groups is planned, applied, and stands on the target", async () => {
  await page.goto(`${stand.url}${LINK}/groups`);
  await page.getByRole("button", { name: "Baseline", exact: true }).click();
  await dialog(page).getByLabel("Groups", { exact: true }).fill("desk");
  await plan("1,234");
  await dialog(page).getByRole("row", { name: /desk flights-0 1,234 covered/ }).waitFor();
  await copies(/^anabranch groups baseline second desk --target new/);
  await apply("1 baseline stored.");
  const [stored] = (await stand.say("kept __anabranch_positions")).filter(([key]) => key.includes("desk"));
  assert.match(stored[1], /\b1234\b/);
  await page.getByRole("row", { name: /desk .*covered/ }).waitFor();
  sound(page);
});

test("a group begins on the target where the plan says", async () => {
  await page.goto(`${stand.url}${LINK}/groups`);
  await page.getByRole("button", { name: "Begin a group" }).click();
  await dialog(page).getByLabel("Group", { exact: true }).fill("night");
  await dialog(page).getByLabel("Topics of the target").fill("flights");
  await dialog(page).getByLabel("Begins at").fill("flights-0:4321");
  await plan("4,321");
  await copies(/^anabranch groups create night --topic flights --start flights-0:4321 --target new/);
  assert.deepEqual(await stand.say("committed night flights 1"), [null]);
  await apply(/Group night begins in 1 partition; undo record /);
  assert.deepEqual((await stand.say("committed night flights 1")).map(([offset]) => offset), [4321]);
  sound(page);
});

test("a comparison is stopped after its round, says so, and is gone on with to the same end", async () => {
  await page.goto(`${stand.url}${LINK}/verification`);
  await page.getByText("This link was never compared").waitFor();
  const verification = page.getByRole("region", { name: "Verification" }); // the link itself is stopped above it
  await verification.getByRole("button", { name: "Compare", exact: true }).click();
  await dialog(page).getByLabel("Rate limit").fill("60kB/s");
  await plan(`1 lane with ${whole(stand.long.records)} source offsets would be compared`);
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("It goes on by itself").waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).last().click();

  await verification.getByRole("button", { name: "Stop", exact: true }).click(SPARK);
  await dialog(page).getByText("The comparison would be asked to end").waitFor();
  await copies(/^anabranch verify stop second --target new$/);
  await apply("The comparison was asked to end.");
  await verification.getByText("stopped", { exact: true }).first().waitFor(SPARK);
  const half = (await stand.ask("GET", "clusters/new/links/second/verification")).body;
  assert.equal(half.report.verdict, "unknown");
  assert.ok(half.report.lanes[0].source.verified_to < half.report.lanes[0].source.to);

  await verification.getByRole("button", { name: "Resume", exact: true }).click(SPARK);
  await dialog(page).getByText(/would be compared/).waitFor();
  await copies(/^anabranch verify resume second .*--target new/);
  await apply(/The comparison .* found both sides equal/);
  await verification.getByText("equal", { exact: true }).first().waitFor(SPARK);
  await page.getByRole("row", { name: new RegExp(`flights-0 equal 0 ${whole(stand.long.records)} ${whole(stand.long.records)}`) }).waitFor();
  sound(page);
});

test("the link's exact positions are published where MirrorMaker 2's readers look", async () => {
  await page.goto(`${stand.url}/mirrormaker/publish`);
  await page.getByRole("button", { name: "Publish second" }).click();
  await dialog(page).getByLabel("Alias of the source").fill("east");
  await plan("1 checkpoint would be written, 0 positions left out");
  await dialog(page).getByRole("row", { name: /desk 1,234 flights-0 1,234/ }).waitFor();
  assert.deepEqual(await found(page), []);
  await copies(/^anabranch mm2 publish second --source-alias east --target new/);
  await apply("1 checkpoint is written under the alias east, 0 positions left out.");
  const [[key]] = await stand.say("kept east.checkpoints.internal");
  assert.match(key, /desk.*flights/s);
  sound(page);
});

test("a transaction that holds a lane up is named, ended by its id, and the lane goes on", async () => {
  const { topic, records, writer } = stand.long;
  await stand.say("hang");
  assert.deepEqual(await stand.say("stable"), [records, records + 3]);
  await page.goto(stand.url + LINK);
  await page.getByText(new RegExp(`begins at offset ${whole(records)}`)).first().waitFor(SPARK);
  await page.goto(`${stand.url}${LINK}/settings`);
  const asks = async (id) => {
    await page.getByRole("button", { name: "End a transaction" }).click();
    await dialog(page).getByLabel("Partition").fill(`${topic}-0`);
    if (id) await dialog(page).getByLabel("Producer id").fill(id);
  };
  await asks();
  await plan("None would be ended");
  const open = dialog(page).getByRole("row", { name: new RegExp(`${whole(records)} .*${writer} Ongoing`) });
  const id = await open.getByRole("cell").first().innerText();
  await dialog(page).getByText(/aborts it by itself in/).waitFor();
  assert.deepEqual(await found(page), []);
  assert.match(await dialog(page).getByRole("button", { name: "Apply this plan" }).getAttribute("title"), /producer id/);
  await dialog(page).getByRole("button", { name: "Cancel" }).click();

  await asks(id);
  await plan(`The transaction of producer id ${id} would be ended`);
  await copies(new RegExp(`^anabranch link abort-transaction second ${topic}-0 --producer-id ${id} --target new`));
  await apply(`The transaction of producer id ${id} was ended`);
  assert.deepEqual(await stand.say("stable"), [records + 4, records + 4]);
  await page.goto(stand.url + LINK);
  await page.getByRole("row", { name: new RegExp(`${topic}-0 .*following`) }).waitFor(SPARK);
  sound(page);
});

test("the link is stopped", async () => {
  assert.equal((await stand.apply("links/stop", { target: "new", link: "second", wait_s: 120 })).state, "done");
});
