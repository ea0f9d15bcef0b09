// What the command line can beside links: maps from records, MirrorMaker 2, proofs, many offsets; and each of its commands.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, test } from "node:test";
import { dialog, person, signIn, sound } from "./support/browser.mjs";
import { full } from "./support/looks.mjs";
import { theBrowser, theStand } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

const LINK = "/links/new/old-new";
let stand;
let browser;
before(async () => {
  [stand, browser] = await together(theStand(), theBrowser());
});

const copied = (page) => page.evaluate(() => navigator.clipboard.readText());

/** What the browser saves when somebody presses a button. */
async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return { name: download.suggestedFilename(), text: await readFile(await download.path(), "utf8") };
}

test("a link's command line says all of it by flags, or comes with the file that it reads", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", "/links/create?source=old&target=new&id=some&include=private");
  await page.getByLabel("Rate limit").fill("5MB/s");
  await page.getByRole("button", { name: "Plan the link" }).click();
  await dialog(page).getByText("1 topic would be copied now").waitFor();
  await dialog(page).getByRole("button", { name: "Copy as CLI" }).click();
  await dialog(page).getByText("Copied", { exact: true }).waitFor();
  assert.equal(
    await copied(page),
    "anabranch link create --source old --target new --id some --include private --rate-limit 5MB/s --execute",
  );
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await page.getByLabel("Topic configs that follow the source").fill("retention.*");
  await page.getByRole("button", { name: "Plan the link" }).click();
  await dialog(page).getByText("anabranch link create --file some.yaml --execute").waitFor();
  await dialog(page).getByRole("button", { name: "Copy some.yaml" }).click();
  await dialog(page).getByText("Copied", { exact: true }).waitFor();
  const text = await copied(page);
  for (const line of ["source: old", "id: some", "- retention.*", "rate_limit: 5MB/s"]) assert.ok(text.includes(line), text);
  const file = await saved(page, dialog(page).getByRole("button", { name: "Save some.yaml" }));
  assert.deepEqual(file, { name: "some.yaml", text });
  sound(page);
});

full("a rewrite by given offsets comes with the offsets file that its command reads", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", "/checkpoints/rewrite");
  const form = page.getByRole("region", { name: "Plan a rewrite" });
  await form.getByLabel("Checkpoint").fill(stand.checkpoint);
  await form.getByLabel("Target", { exact: true }).selectOption("new");
  await form.getByLabel("Route: offsets").fill("old.orders-0:10\nold.orders-1:11");
  await form.getByLabel("New names of topics").fill("orders=old.orders");
  await form.getByRole("button", { name: "Plan the rewrite" }).click();
  await dialog(page).getByText("--offsets offsets.json").waitFor();
  const { text } = await saved(page, dialog(page).getByRole("button", { name: "Save offsets.json" }));
  assert.deepEqual(JSON.parse(text), { version: 1, cluster: "new", offsets: { "old.orders": { 0: 10, 1: 11 } } });
});

test("maps of what another tool copied are planned, and a link adopts such maps", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", "/mirrormaker/rebuild");
  await page.getByLabel("Source", { exact: true }).selectOption("old");
  await page.getByLabel("Target", { exact: true }).selectOption("new");
  const topics = page.getByLabel("Topics", { exact: true });
  await topics.fill("orders=");
  await page.getByRole("button", { name: "Plan the maps" }).click();
  await page.getByRole("alert").getByText("orders=: not TOPIC or TOPIC=COPY").waitFor();
  await topics.fill("private");
  await page.getByRole("button", { name: "Plan the maps" }).click();
  await dialog(page).getByText("cluster new has no topic 'old.private'").waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  // A copy with as many partitions as its source: MirrorMaker's own topics have one.
  await topics.fill("private=old.checkpoints.internal");
  await page.getByRole("button", { name: "Plan the maps" }).click();
  await dialog(page).getByText("1 partition with 32 source offsets would be read on both clusters, and aligned").waitFor();
  await dialog(page)
    .getByText("anabranch offsets rebuild --topic private=old.checkpoints.internal --source old --target new --link old-new")
    .waitFor();

  await page.goto(`${stand.url}/links/create?source=old&target=new&id=adopting&include=orders&naming=prefix`);
  await page.getByLabel("File of maps to adopt").fill("/etc/passwd");
  await page.getByRole("button", { name: "Plan the link" }).click();
  await dialog(page).getByText("the service does not open /etc/passwd").waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await page.getByLabel("File of maps to adopt").fill(stand.maps);
  await page.getByLabel("Copy also into target topics").check();
  await page.getByRole("button", { name: "Plan the link" }).click();
  await dialog(page).getByText(/topic old.orders is adopted with 30 records/).waitFor();
  await dialog(page).getByText(`--adopt ${stand.maps}`).waitFor();
  sound(page);
});

test("MirrorMaker 2's answers are told beside the exact ones, the worst first", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", "/mirrormaker");
  await page.getByLabel("Source", { exact: true }).selectOption("old");
  await page.getByLabel("Target", { exact: true }).selectOption("new");
  await page.getByLabel("A link beside it").selectOption("old-new");
  await page.getByRole("button", { name: "Compare" }).click();
  const table = page.getByRole("table", { name: "Positions, the worst first" });
  await table.getByRole("row", { name: /shop orders-1 27 27 12 .*12 exact map/ }).waitFor();
  const rows = await table.locator("tbody tr").allInnerTexts();
  const unanswered = rows.map((row) => row.includes("no answer"));
  assert.deepEqual(unanswered, [...unanswered].sort((a, b) => Number(b) - Number(a)));
  assert.ok(unanswered.some(Boolean) && !unanswered.every(Boolean));
  await page.getByText("anabranch mm2 report --source old --target new --link old-new").waitFor();
  await page.getByLabel("Alias of the source").fill("elsewhere");
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByText(/^0 of \d+$/).waitFor();
  sound(page);
});

test("offsets are translated to MirrorMaker 2's copy, with the bound of what is read again", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", "/mirrormaker/translate");
  await page.getByLabel("Source", { exact: true }).selectOption("old");
  await page.getByLabel("Target", { exact: true }).selectOption("new");
  await page.getByRole("textbox", { name: "Offsets" }).fill("orders-0");
  await page.getByRole("button", { name: "Translate", exact: true }).click();
  await page.getByRole("alert").getByText("orders-0: not TOPIC-PARTITION:OFFSET").waitFor();
  await page.getByRole("textbox", { name: "Offsets" }).fill("orders-0:25\norders-1:28");
  await page.getByRole("button", { name: "Translate", exact: true }).click();
  await page.getByRole("row", { name: /orders-0 25 .*old.orders-0 10/ }).waitFor();
  await page.getByText("anabranch mm2 translate orders-0:25 orders-1:28 --source old --target new").waitFor();
  await page.goto(`${stand.url}/mirrormaker/publish`);
  await page.getByRole("button", { name: "Publish old-new" }).waitFor();
});

test("many offsets, and all that a group has committed, are translated at once and saved as a file", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", `${LINK}/where`);
  const many = page.getByRole("region", { name: "Many offsets" });
  await many.getByRole("textbox", { name: "Offsets" }).fill("orders-0:12\norders-1:27\norders-0:22");
  await many.getByLabel("The very records at these offsets").check();
  await many.getByRole("button", { name: "Look them up" }).click();
  await many.getByText("2 of 3 offsets have an exact answer on new").waitFor();
  assert.match(await many.getByRole("row", { name: /orders-0 22/ }).innerText(), /unmapped/);
  assert.equal(await many.getByRole("button", { name: /Save/ }).count(), 0);
  await many.getByText("anabranch offsets translate old-new orders-0:12 orders-1:27 orders-0:22 --records --target new").waitFor();
  await many.getByRole("textbox", { name: "Offsets" }).fill("orders-0:12\norders-1:27");
  await many.getByRole("button", { name: "Look them up" }).click();
  const file = await saved(page, many.getByRole("button", { name: "Save old-new-offsets.json" }));
  assert.deepEqual(JSON.parse(file.text), { version: 1, cluster: "new", offsets: { "old.orders": { 0: 2, 1: 12 } } });

  const group = page.getByRole("region", { name: "A group's offsets" });
  await group.getByLabel("Group").fill("shop");
  await group.getByRole("button", { name: "Look its commits up" }).click();
  await group.getByRole("row", { name: /orders-1 27 exact old.orders-1 12/ }).waitFor();
  await group.getByText("anabranch offsets translate old-new --group shop --target new").waitFor();
  sound(page);
});

test("a rewrite is proved position by position, and what is not as it must be is named", async () => {
  await stand.apply("checkpoints/rewrite", { path: stand.checkpoint, target: "new", links: ["old-new"] });
  const page = await person(browser);
  await signIn(page, stand, "viewer", "/checkpoints/proof");
  const form = page.getByRole("region", { name: "Prove a rewrite" });
  await form.getByLabel("Checkpoint", { exact: true }).fill(stand.checkpoint);
  await form.getByLabel("Target", { exact: true }).selectOption("new");
  await form.getByLabel("Route: links").fill("old-new");
  await form.getByRole("button", { name: "Prove it" }).click();
  const proof = page.getByRole("region", { name: "Proof", exact: true });
  await proof.getByText("as it must be").waitFor();
  await proof.getByRole("row", { name: /old.orders-0: 10/ }).first().waitFor();
  await proof.getByText(`anabranch checkpoint verify ${stand.checkpoint} --link old-new --target new`).waitFor();
  await form.getByLabel("Route: links").fill("");
  await form.getByLabel("Route: offsets").fill("old.orders-0:9\nold.orders-1:11");
  await form.getByLabel("New names of topics").fill("orders=old.orders");
  await form.getByRole("button", { name: "Prove it" }).click();
  await proof.getByText(/\d problems?/).waitFor();
  await proof.getByText("Do not start the job from it").waitFor();
  await stand.apply("checkpoints/undo", { path: stand.checkpoint });
  sound(page);
});

full("a comparison's report is saved as it was made", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", `${LINK}/verification`);
  const { name, text } = await saved(page, page.getByRole("button", { name: "Save the report (JSON)" }));
  assert.equal(name, "verify-old-new-verify-5a6b7c.json");
  const answer = await stand.ask("GET", "clusters/new/links/old-new/verification");
  assert.deepEqual(JSON.parse(text), answer.body.report);
  await page.getByText("anabranch verify show old-new --target new --report").waitFor();
});

full("accounts, tokens and probes have their commands, with what was typed", async () => {
  const page = await person(browser);
  await signIn(page, stand, "admin", "/accounts");
  const says = (text) => dialog(page).getByText(text, { exact: true }).waitFor();
  await page.getByRole("button", { name: "Add an account" }).click();
  await dialog(page).getByLabel("Name").fill("lee");
  await dialog(page).getByLabel("Role").selectOption("operator");
  await says("anabranch account add lee --role operator");
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Role of viewer" }).click();
  await dialog(page).getByLabel("Role").selectOption("approver");
  await says("anabranch account set viewer --role approver");
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Disable viewer" }).click();
  await says("anabranch account set viewer --disable");
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Make a token" }).click();
  await dialog(page).getByLabel("Account").fill("viewer");
  await dialog(page).getByLabel("Name").fill("it's mine");
  await says(`anabranch token create viewer --name 'it'"'"'s mine' --days 90`);
  await dialog(page).getByRole("button", { name: "Copy as CLI" }).click();
  assert.equal(await copied(page), `anabranch token create viewer --name 'it'"'"'s mine' --days 90`);
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Revoke test of viewer" }).first().click();
  await dialog(page).getByText(/^anabranch token revoke [0-9a-f]{32}$/).waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await page.goto(`${stand.url}/clusters`);
  await page.getByRole("button", { name: "Probe new" }).click();
  await says("anabranch context test new");
  sound(page);
});
