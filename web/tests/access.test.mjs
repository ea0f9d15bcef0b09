// Access rules and quotas of a migration in a browser, beside clusters that keep such; in CI simulated ones.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { dialog, person, signIn, sound } from "./support/browser.mjs";
import { applied, close } from "./support/migrations.mjs";
import { fits, FULL, found, NARROW } from "./support/looks.mjs";
import { theAccess, theBrowser } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

let stand;
let browser;
let page;
before(async () => {
  [stand, browser] = await together(theAccess(...(FULL ? [] : ["--simulated"])), theBrowser());
});

test("access rules and quotas are planned, and carried over", async () => {
  page = await person(browser, { stays: true });
  await signIn(page, stand, "approver", `/migrations/${stand.name}`);
  const before = await stand.say("rules");
  await page.getByRole("button", { name: "Access rules" }).click();
  await dialog(page).getByRole("row", { name: /is made allow read topic old\.shop\..*User:shop/ }).waitFor();
  await dialog(page).getByRole("row", { name: /producer_byte_rate user shop none 4,?096/ }).waitFor();
  await dialog(page).getByText("anabranch migrate access --file migration.yaml --execute").waitFor();
  assert.deepEqual(await found(page), []);
  await page.setViewportSize(NARROW);
  await fits(page, "access rules");
  await page.setViewportSize({ width: 1280, height: 900 });
  assert.deepEqual(await stand.say("rules"), before);
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText(/4 .*made/).first().waitFor();
  await close(page);
  const after = await stand.say("rules");
  assert.equal(after.length, before.length + 4);
  assert.ok(before.every((rule) => after.includes(rule)));
  assert.deepEqual(await stand.say("quotas"), [["shop", 4096]]);
  sound(page);
});

test("what the source forbids again is forbidden on the target, and nothing that somebody else made", async () => {
  const before = await stand.say("rules");
  await stand.say("remove");
  await applied(page, "Access rules", { shows: "is deleted" });
  await dialog(page).getByText(/1 .*deleted/).first().waitFor();
  await close(page);
  const after = await stand.say("rules");
  assert.deepEqual(
    before.filter((rule) => !after.includes(rule)).map((rule) => /old\.shop\./.test(rule)),
    [true],
  );
  await page.getByRole("button", { name: "Access rules" }).click();
  await dialog(page).getByText(/othing/).first().waitFor();
  sound(page);
});
