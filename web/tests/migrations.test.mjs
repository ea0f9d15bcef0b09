// A migration in a browser, beside real clusters, in CI simulated ones: started, switched, given up, reversed and
// completed, as it goes.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { dialog, person, signIn, sound } from "./support/browser.mjs";
import { applied, close, steps, wave } from "./support/migrations.mjs";
import { fits, FULL, found, full } from "./support/looks.mjs";
import { theBrowser, theMigrations } from "./support/shared.mjs";
import { fails, waits } from "./support/states.mjs";
import { together } from "./support/together.mjs";

let stand;
let browser;
let page;
before(async () => {
  [stand, browser] = await together(theMigrations(...(FULL ? [] : ["--simulated"])), theBrowser());
});

/** What axe finds, and whether it fits: narrow and wide, light and dark; in CI axe looks once, where it is dark. */
async function looks(what) {
  for (const [colorScheme, width] of [
    ["light", 360],
    ["dark", 1280],
    ["light", 2560],
  ]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    await fits(page, what);
    if (!FULL && colorScheme !== "dark") continue;
    assert.deepEqual(await found(page), [], `${what}, ${colorScheme}, ${width}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 900 });
}

const at = () => `/migrations/${stand.name}`;

test("before the first one the page says how to begin, and a file is planned and started there", async () => {
  page = await person(browser, { stays: true });
  await signIn(page, stand, "approver", "/migrations");
  await page.getByText("No migration has begun yet").waitFor();
  await page.getByText("anabranch migrate start -f move.yaml --execute").waitFor();
  await looks("no migration");
  await page.getByRole("link", { name: "Start a migration" }).click();
  const suggest = page.getByRole("region", { name: "Suggest a file" });
  await suggest.getByLabel("Cluster that is left").selectOption("old");
  await suggest.getByLabel("Cluster that is moved to").selectOption("new");
  await suggest.getByText("anabranch migrate discover --source old --target new --out move.yaml").waitFor();
  await suggest.getByRole("button", { name: "Suggest a file" }).click();
  await suggest.getByText("The file below has 1 wave of 1 topic and 1 group of old.").waitFor();
  assert.match(await page.getByLabel("Migration file").inputValue(), /name: old-new[\s\S]*orders/);
  await page.getByLabel("Migration file").fill("waves: *old");
  await page.getByRole("button", { name: "Plan the start" }).click();
  await page.getByRole("alert").getByText("not read: line 1: an alias (*) is not read here").waitFor();
  await page.getByLabel("Migration file").fill(JSON.stringify(stand.file));
  await page.getByRole("button", { name: "Plan the start" }).click();
  await dialog(page).getByRole("list", { name: "Steps to start wave orders" }).waitFor();
  await dialog(page).getByText("What its switch does later").click();
  await dialog(page).getByText("Point of no return:").waitFor();
  await dialog(page).getByText("anabranch migrate start --file migration.yaml --execute").waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("1 wave of migration move is copied.").waitFor();
  await dialog(page).getByRole("link", { name: "Look at migration move" }).click();
  await wave(page, "orders").getByText("Its applications are on old; move-orders copies to new.").waitFor();
  await wave(page, "orders").getByRole("link", { name: "move-orders" }).waitFor();
  sound(page);
});

full("its page says what it reads, and what to do where nothing answers", async () => {
  const shown = () => wave(page, "orders").getByRole("link", { name: "move-orders" }).waitFor();
  for (const opens of [waits, fails]) await opens(page, stand.url + at(), shown, false);
  sound(page);
});

test("copying is slowed down by a plan, the page says by what, and it is resumed; a rehearsal says what it would make", async () => {
  const about = page.getByRole("region", { name: "About this migration" });
  // On a machine that is busy its own brokers answer late, which slows it down.
  await about.getByText(/nothing slows it down|slowed down|it stands still/).waitFor();
  await page.getByRole("button", { name: "Slow down" }).click();
  await dialog(page).getByLabel("Rate").fill("10MB/s");
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText("anabranch migrate throttle move --rate 10MB/s").waitFor();
  await dialog(page).getByText("at most 10.0 MB/s").waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("obey within some seconds").waitFor();
  await close(page);
  await about.getByText("the operator allows 10").waitFor();
  await page.getByRole("button", { name: "Slow down" }).click();
  await dialog(page).getByLabel("Its links that read the source").selectOption("pause");
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText("anabranch migrate throttle move --pause").waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await applied(page, "Resume", { shows: "as fast as its file and both clusters allow" });
  await close(page);

  await page.getByRole("button", { name: "Rehearse wave orders" }).click();
  await dialog(page).getByText("rehearsal.").first().waitFor();
  await dialog(page).getByText(/anabranch migrate rehearse --file migration.yaml --wave orders/).waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  sound(page);
});

test("where there is no authorizer, access rules are not planned, and it says so", async () => {
  await page.getByRole("button", { name: "Access rules" }).click();
  await dialog(page).getByText("Not planned").waitFor();
  await dialog(page).getByText("What to do:").waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  sound(page);
});

test("a wave that is held is not switched; released, it is", async () => {
  await applied(page, "Hold wave orders", { reason: "not before noon" });
  await dialog(page).getByText("Switches of wave orders of migration move wait until that is released.").waitFor();
  await close(page);
  await wave(page, "orders").getByText("Its switches wait: not before noon").waitFor();
  await page.getByRole("button", { name: "Switch wave orders" }).click();
  await dialog(page).getByText("wave orders is held: not before noon").waitFor();
  const apply = dialog(page).getByRole("button", { name: "Apply this plan" });
  assert.match(await apply.getAttribute("title"), /an error forbids it/);
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await applied(page, "Release wave orders");
  await dialog(page).getByText("need not wait any more").waitFor();
  await close(page);
  sound(page);
});

test("a switch shows its pause as it runs, and is given up before the point of no return", async () => {
  await applied(page, "Switch wave orders", { shows: "nobody reads now" });
  await dialog(page).getByText("Running for").waitFor();
  await close(page);
  const pause = wave(page, "orders").getByRole("group", { name: "Pause" });
  await pause.getByText("Applications are held up for").waitFor();
  assert.match(await pause.innerText(), /[\d.]+ s[\s\S]*% of the longest pause: at most 10 min 00 s/);
  const first = await pause.getByRole("timer").innerText();
  await page.waitForFunction((was) => document.querySelector(".pause .clock").innerText !== was, first);
  assert.match(await steps(page, "switch").nth(1).innerText(), /run stop-producers/i);
  assert.equal(await steps(page, "switch").nth(1).getAttribute("aria-current"), "step");
  assert.equal(await page.getByRole("button", { name: "Switch wave orders" }).count(), 0);
  await looks("a switch under way");

  // Another person's list has it as well, as it happens.
  const other = await person(browser);
  await signIn(other, stand, "viewer", "/migrations");
  await other.getByRole("row", { name: /move old new 1 copying switch of wave orders: step 2 of \d+/ }).waitFor();

  await page.getByRole("button", { name: "Give it up wave orders" }).click();
  await dialog(page).getByLabel("Reason").fill("not tonight");
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByRole("list", { name: "Steps that would be put back" }).waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  // The hook that holds the switch up is ended at once.
  await dialog(page).getByText("The switch of wave orders was taken back, and all is as before it.").waitFor();
  await close(page);
  await wave(page, "orders").getByText("approver: not tonight").waitFor();
  await other.getByRole("row", { name: /move old new 1 copying nothing/ }).waitFor();
  await stand.say("go");
  assert.equal(await stand.say("committed new"), null);
  sound(page);
  sound(other);
});

test("a wave is switched while applications write, and led back, each with the pause in milliseconds", async () => {
  await stand.say("write");
  await applied(page, "Switch wave orders");
  await dialog(page).getByText(/The switch of wave orders is done; applications were held up for [\d,]+ ms\./).waitFor();
  await close(page);
  await wave(page, "orders").getByText("Its applications are on new; move-orders-back keeps old up to date").waitFor();
  assert.match(await wave(page, "orders").getByRole("group", { name: "Pause" }).innerText(), /were held up for\s+[\d,]+ ms/);
  assert.match(await steps(page, "switch").filter({ hasText: "Point of no return" }).innerText(), /done\s+[\d,]+ ms/);
  assert.equal(await stand.say("committed new"), stand.read);
  await wave(page, "orders").getByText("2 earlier runs").click();
  await wave(page, "orders").getByText("taken back").first().waitFor();
  await looks("a wave that is switched");
  await applied(page, "Go back wave orders", { shows: "translated exactly" });
  await dialog(page).getByText(/The reverse of wave orders is done/).waitFor();
  await close(page);
  await wave(page, "orders").getByText("Its applications are on old; move-orders-2 copies to new.").waitFor();
  // Each of their records is on both clusters once, in order.
  assert.ok((await stand.say("written")) > 0);
  sound(page);
});

full("where approvers are named, who plans a switch hands it on, and an approver applies it", async () => {
  await stand.apply("migrations/set", { migration: stand.approved });
  await page.getByText("one of approver who did not ask for it").waitFor();
  await page.getByRole("button", { name: "Switch wave orders" }).click();
  const apply = dialog(page).getByRole("button", { name: "Apply this plan" });
  await dialog(page).getByText(/approver asked for this, and somebody else of approver has to approve it/i).first().waitFor();
  assert.equal(await apply.getAttribute("aria-disabled"), "true");
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  const plan = await stand.plan("migrations/switch", { migration: stand.name, wave: stand.wave });
  await page.goto(`${stand.url}/plans/${plan.id}`);
  await page.getByRole("button", { name: "Apply this plan" }).click();
  await page.getByText(/The switch of wave orders is done/).waitFor();
  sound(page);
});

test("topics are deleted only once the wave's name was typed", async () => {
  await page.goto(stand.url + at());
  if (FULL) {
    // An approver has switched it.
    const back = await stand.plan("migrations/reverse", { migration: stand.name, wave: stand.wave });
    await stand.ask("POST", `plans/${back.id}/apply`, { hash: back.hash }, "approver");
  }
  await page.getByRole("button", { name: "Cancel it wave orders" }).waitFor();
  if (FULL) {
    // And has the next ones done without a second person.
    const alone = await stand.plan("migrations/set", { migration: stand.file });
    await stand.ask("POST", `plans/${alone.id}/apply`, { hash: alone.hash }, "approver");
    await page.getByText("one of approver who did not ask for it").waitFor({ state: "detached" });
  }
  await page.getByRole("button", { name: "Cancel it wave orders" }).click();
  await dialog(page).getByLabel(/Delete the topics that the migration made/).check();
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  const apply = dialog(page).getByRole("button", { name: "Apply this plan" });
  await dialog(page).getByLabel("Type the wave's name, orders").fill("order");
  assert.match(await apply.getAttribute("title"), /type orders, the wave's name/);
  await dialog(page).getByLabel("Type the wave's name, orders").fill("orders");
  await apply.click();
  await dialog(page).getByText("The cancel of wave orders is done.").waitFor();
  await close(page);
  await wave(page, "orders").getByText("Its applications are on old, and nothing of it is copied yet.").waitFor();
  sound(page);
});

async function reconcile() {
  await page.getByRole("button", { name: "Reconcile wave orders" }).click();
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText("it answers").waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("The reconcile of wave orders is done.").waitFor();
  await close(page);
}

full("a source that does not answer is left without it, and reconciled when it is back", async () => {
  await stand.apply("migrations/set", { migration: stand.file });
  await stand.apply("migrations/start", { migration: stand.file, waves: [stand.wave] });
  await stand.say("away");
  await page.goto(`${stand.url}/clusters`);
  await page.getByRole("row", { name: /^old/ }).getByText(/cannot be reached|does not answer|no broker/i).first().waitFor();
  await page.goto(stand.url + at());
  await page.getByRole("button", { name: "Switch wave orders" }).click();
  await dialog(page).getByLabel(/The source is gone: go on from what was copied/).check();
  await dialog(page).getByLabel("Groups of which nothing is known without the source").selectOption("latest");
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText(/all was copied that was seen/).waitFor();
  await dialog(page).getByText(/how far it had read in 1 partition is not known/).waitFor();
  await dialog(page).getByText("--source-lost --unknown-groups latest").waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText(/The switch of wave orders is done\. 2 doubts:/).waitFor();
  await close(page);
  await wave(page, "orders").getByText("there is no way back to old: source lost").waitFor();
  await wave(page, "orders").getByText(/all was copied that was seen/).first().waitFor();
  await looks("a wave without its source");
  await stand.say("back");
  await reconcile();
  await wave(page, "orders").getByText("Its applications are on new; move-orders-back keeps old up to date").waitFor();
  sound(page);
});

full("a target that does not answer is left without it, and reconciled when it is back", async () => {
  await stand.say("away new");
  await page.goto(`${stand.url}/clusters`);
  await page.getByRole("row", { name: /^new/ }).getByText(/cannot be reached|does not answer|no broker/i).first().waitFor();
  await page.goto(stand.url + at());
  await page.getByRole("button", { name: "Go back wave orders" }).click();
  await dialog(page).getByLabel(/The target is gone: go on from what was copied back/).check();
  await dialog(page).getByLabel("Groups of which nothing is known without the target").selectOption("earliest");
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  await dialog(page).getByText(/orders-0.*(is not known|was never seen)/).first().waitFor();
  await dialog(page).getByText("--target-lost --unknown-groups earliest").waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText(/The reverse of wave orders is done\. \d doubts:/).waitFor();
  await close(page);
  await wave(page, "orders").getByText("there is no way to new: target lost").waitFor();
  await wave(page, "orders").getByText("It was led back without its target").waitFor();
  await looks("a wave without its target");
  await stand.say("back new");
  await reconcile();
  await wave(page, "orders").getByText("Its applications are on old; move-orders-2 copies to new").waitFor();
  sound(page);
});
