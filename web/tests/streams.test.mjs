// Streams in a browser, beside a service whose jobs are stand-ins: what each page shows and does, axe, narrow windows.
// CI looks at each page once, narrow, at one light and at the next dark; the tier `full` does the rest.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, test } from "node:test";
import { dialog, person, signIn, sound } from "./support/browser.mjs";
import { applied, close } from "./support/migrations.mjs";
import { fits, FULL, found, NARROW, turns } from "./support/looks.mjs";
import { theBrowser, theStreams } from "./support/shared.mjs";
import { fails, waits } from "./support/states.mjs";
import { startStreams } from "./support/stand.mjs";
import { STREAM_PAGES, visit } from "./support/streams.mjs";
import { together } from "./support/together.mjs";

/** Pages that ask before they read anything. */
const FORMS = new Set(["create", "createFile", "define", "import"]);

let stand;
let browser;
before(async () => {
  [stand, browser] = await together(theStreams(), theBrowser());
});

// In the tier `full` the last one of these looks at the same, and at more.
(FULL ? test.skip : test)("no page of streams or the catalog is wider than 360 pixels, and axe finds nothing there", async () => {
  const page = await person(browser, NARROW);
  const turn = turns("light", "dark");
  await signIn(page, stand, "admin");
  for (const [name, one] of Object.entries(STREAM_PAGES)) {
    await visit(page, stand, one);
    await one[2]?.(page);
    await turn(page);
    await fits(page, name);
    assert.deepEqual(await found(page), [], name);
  }
  sound(page);
});

test("a stream is stopped and started by plans that are looked at first, and its page follows", async () => {
  const page = await person(browser);
  await signIn(page, stand, "operator", "/streams");
  const row = page.getByRole("row", { name: /orders-copy/ });
  await row.getByText("running").waitFor();
  assert.match(await row.innerText(), /\d\/s/);
  await page.getByRole("link", { name: "orders-copy" }).click();
  await page.getByRole("row", { name: /orders_copy/ }).waitFor();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await dialog(page).getByText("anabranch stream stop orders-copy").waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("ends after its micro-batch").waitFor();
  await close(page);
  await page.locator("h1 + .badge").getByText("stopped").waitFor();
  await page.getByText("No query runs").waitFor();
  await applied(page, "Start", { shows: "Version 1 would be started" });
  await dialog(page).getByText("is being started").waitFor();
  await close(page);
  await page.locator("h1 + .badge").getByText("running").waitFor();
  sound(page);
});

test("a file of PySpark is read and edited as Python by an admin, and what it has not is said", async () => {
  const page = await person(browser);
  await signIn(page, stand, "admin", "/streams");
  await page.getByRole("row", { name: /late-flights/ }).getByText("pyspark").waitFor();
  await page.getByRole("link", { name: "late-flights" }).click();
  await page.getByRole("link", { name: "Script" }).click();
  await page.locator(".sql-keyword", { hasText: "def" }).waitFor();
  await page.getByRole("link", { name: "Preview" }).click();
  await page.getByText("A PySpark file has no preview").waitFor();
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByText("runs any code with the rights").waitFor();
  assert.equal(await page.getByRole("region", { name: "Try it" }).count(), 0);
  await write(page, "def other(job):\n");
  await page.getByRole("button", { name: "Plan the new version" }).click();
  await page.getByText(/refused/).first().waitFor();
  await write(page, "def main(job):\n    pass\n");
  await page.getByRole("button", { name: "Plan the new version" }).click();
  await dialog(page).getByText("Python has compiled it").waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText(/Version 2 .*is saved/).waitFor();
  sound(page);
  const other = await person(browser);
  await signIn(other, stand, "operator", "/streams/-/create?kind=pyspark");
  await other.locator(".cm-line").first().waitFor();
  assert.match(await other.getByRole("button", { name: "Plan the new stream" }).getAttribute("title"), /by an admin alone/);
});

if (FULL) {
  test("the list is filtered and sorted, and its address says how", async () => {
    const page = await person(browser);
    await signIn(page, stand, "viewer", "/streams?state=failed");
    await page.getByText("1 of 7 streams").waitFor();
    await page.getByText("no table or view is called").waitFor();
    await page.getByLabel("State").selectOption("");
    await page.getByLabel(/Filter by name/).fill("visitors");
    await page.getByText("2 of 7 streams").waitFor();
    await page.getByRole("button", { name: "Stream", exact: true }).click();
    await page.getByRole("columnheader", { name: "Stream" }).waitFor();
    assert.match(page.url(), /text=visitors&sort=name/);
    assert.equal(await page.getByRole("columnheader", { name: "Stream" }).getAttribute("aria-sort"), "ascending");
    assert.equal(await page.getByRole("link", { name: "Create a stream" }).count(), 0);
    assert.match(await page.getByRole("button", { name: "Create a stream" }).getAttribute("title"), /viewer has the role viewer/);
  });

  test("two versions are compared side by side and one below the other, and one is published and rolled back", async () => {
    const page = await person(browser);
    await signIn(page, stand, "operator", "/streams/page-views/versions?from=1&to=2");
    const table = page.getByRole("table", { name: "Both scripts, side by side" });
    await table.waitFor();
    assert.match(await table.innerText(), /−[\s\S]*10 MINUTES[\s\S]*\+[\s\S]*30 MINUTES/);
    await page.getByText("one below the other").click();
    await page.getByRole("table", { name: "Both scripts, one below the other" }).waitFor();
    assert.match(page.url(), /view=unified/);
    await page.getByLabel("to version", { exact: true }).selectOption("3");
    await page.getByText("trigger:").waitFor();
    await applied(page, "Publish version 3", { shows: "in place of version 2" });
    await dialog(page).getByText("Version 3 of stream page-views is published").waitFor();
    await close(page);
    await applied(page, "Roll back to version 2", { shows: "in place of version 3" });
    await dialog(page).getByText("Version 2 of stream page-views is published").waitFor();
    sound(page);
  });

  test("a log is searched, turned around and saved", async () => {
    const page = await person(browser);
    await signIn(page, stand, "viewer", "/streams/page-views/logs?search=WARN");
    await page.getByText("took longer than its trigger").first().waitFor();
    const log = page.getByRole("region", { name: /Log of start/ });
    assert.doesNotMatch(await log.innerText(), /INFO/);
    await page.getByLabel("Order").selectOption("oldest");
    await page.getByText("anabranch stream logs page-views --grep WARN --lines 200").waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save these lines" }).click()]);
    assert.match(await readFile(await download.path(), "utf8"), /WARN/);
    assert.match(download.suggestedFilename(), /^page-views-run-[0-9a-f]{12}\.log$/);
    const [whole] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Save the whole log" }).click()]);
    assert.match(await readFile(await whole.path(), "utf8"), /^\S+ \S+ INFO stream page-views, start 1\n/);
    assert.equal(whole.suggestedFilename(), download.suggestedFilename());
  });

  test("a stream that is not there, and a service that is away, say what to do", async () => {
    const page = await person(browser);
    await signIn(page, stand, "viewer", "/streams/nothing");
    await page.getByText("What to do:").waitFor();
    await page.goto(`${stand.url}/streams/page-views/nowhere`);
    await page.getByText("There is no page at this address").waitFor();
    await page.goto(`${stand.url}/streams`);
    await page.getByRole("link", { name: "page-views" }).waitFor();
    await page.route("**/api/v1/streams", (route) => route.abort());
    await page.getByText("What is shown of the streams is old").waitFor();
    await page.getByRole("link", { name: "page-views" }).waitFor();
  });

  for (const [what, opens] of Object.entries({ "waits for its answer": waits, "gets no answer": fails })) {
    test(`each page of streams or the catalog that ${what} says so, and is shown afterwards`, async () => {
      const page = await person(browser);
      await signIn(page, stand, "admin");
      for (const [name, [path, text]] of Object.entries(STREAM_PAGES)) {
        const shown = () => page.getByText(new RegExp(text)).first().waitFor();
        await opens(page, stand.url + path, shown, FORMS.has(name)).catch((error) => {
          throw new Error(`${name}: ${error.message}`);
        });
      }
      sound(page);
    });
  }

  for (const theme of ["light", "dark"]) {
    test(`no page of streams or the catalog is wider than its window in the ${theme} theme, and axe finds nothing`, async () => {
      for (const width of [360, 768, 1280, 2560]) {
        const page = await person(browser, { theme, width, height: 800 });
        await signIn(page, stand, "admin");
        for (const [name, one] of Object.entries(STREAM_PAGES)) {
          await visit(page, stand, one);
          await one[2]?.(page);
          await fits(page);
          assert.deepEqual(await found(page), [], `${name} at ${width}`);
        }
        await page.context().close();
      }
    });
  }
}

const editor = (page) => page.getByRole("textbox", { name: "Script", exact: true });

/** Put a text in place of what an editor has, as somebody pastes it. */
async function write(page, text, box = editor(page)) {
  await box.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

test("a stream is written with names of the catalog completed, refused at its line, looked at, and saved by a plan", async () => {
  const page = await person(browser);
  await signIn(page, stand, "admin", "/streams/-/create");
  await page.getByLabel("Name", { exact: true }).fill("written");
  await write(page, "-- rows 2\nINSERT INTO out SELECT o.am FROM shop.orders o");
  for (let at = 0; at < " FROM shop.orders o".length; at += 1) await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Control+Space");
  await page.getByRole("option", { name: /amount/ }).click(); // Enter counts only some time after the list has opened
  await editor(page).getByText("o.amount").waitFor();
  await page.getByRole("button", { name: "Show rows" }).click();
  await page.getByText(/It reads: 2 rows so far/).waitFor();
  assert.equal(await page.getByRole("table", { name: /Rows of statement/ }).getByRole("row").count(), 3);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByText(/It was stopped/).waitFor();
  await write(page, "-- refuse\nINSERT INTO out SELECT 1;\nINSERT INTO out SELECT * FROM absent;\n");
  await page.getByRole("button", { name: "Plan the new stream" }).click();
  await page.getByText("The script is refused at line 3").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /no table 'absent'[\s\S]*What to do: declare it/);
  assert.equal(await page.locator(".cm-lintRange-error").count(), 1);
  await write(page, "-- run\nINSERT INTO out SELECT 1;\n");
  await page.getByRole("button", { name: "Plan the new stream" }).click();
  await dialog(page).getByText("Stream written would be saved").waitFor();
  await dialog(page).getByText("anabranch stream create written stream.sql").waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
  await dialog(page).getByText("Stream written is saved").waitFor();
  await dialog(page).getByRole("link", { name: "Look at stream written" }).click();
  await page.getByRole("heading", { name: "Stream written" }).waitFor();
  sound(page);
});

if (FULL) {
  test("another version is compared with the one before by its plan, and is not published by it", async () => {
    const page = await person(browser);
    await signIn(page, stand, "admin", "/streams/sessions/edit");
    await page.getByLabel("Note").fill("twice as much");
    await write(page, "-- run\nCREATE TABLE n USING rate;\nINSERT INTO sessions SELECT 2 * value FROM n;\n");
    await page.keyboard.press("Control+Enter");
    await dialog(page).getByText("What differs from version 1").waitFor();
    await dialog(page).getByText("SELECT 2 * value").first().waitFor();
    await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
    await dialog(page).getByText("Version 2 of stream sessions is saved").waitFor();
    await dialog(page).getByRole("link", { name: "Look at stream sessions" }).click();
    await page.getByRole("button", { name: "Publish version 2" }).waitFor();
  });

  test("who may not save a script sees why, and may try what was saved", async () => {
    const page = await person(browser);
    await signIn(page, stand, "operator", "/streams/page-views/preview?version=1");
    await page.getByRole("button", { name: "Validate" }).click();
    await page.getByRole("table", { name: "Queries that a start begins" }).waitFor();
    await page.getByText("anabranch stream preview page-views --version 1 --rows 100").waitFor();
    await page.goto(`${stand.url}/streams/page-views/preview`);
    await page.getByRole("button", { name: "Show rows" }).click();
    await page.getByText(/It reads: 3 rows so far/).waitFor();
    sound(page);
  });

  test("the catalog is searched, a table shows its columns and versions, and a grant is given and taken", async () => {
    const page = await person(browser);
    await signIn(page, stand, "admin", "/catalog");
    await page.getByLabel("Names, descriptions, columns").fill("voucher");
    await page.getByText("1 entry", { exact: true }).waitFor();
    await page.getByRole("link", { name: "orders", exact: true }).click();
    await page.getByRole("row", { name: /voucher/ }).first().waitFor();
    await page.getByText(/amount: DECIMAL\(10, 2\) became DECIMAL\(12, 2\)/).waitFor();
    await page.getByRole("button", { name: "Grant", exact: true }).click();
    await dialog(page).getByLabel("Privilege").selectOption("write");
    await dialog(page).getByLabel("For whom").fill("user:viewer");
    await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
    await dialog(page).getByText("user:viewer would have write on spark_catalog.shop.orders").waitFor();
    await dialog(page).getByText("anabranch catalog grant write").waitFor();
    await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
    await dialog(page).getByText("user:viewer has write").waitFor();
    await close(page);
    await page.getByRole("button", { name: /Revoke write on .* of user:viewer/ }).click();
    await dialog(page).getByText("user:viewer would lose write").waitFor();
    await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
    await dialog(page).getByText("user:viewer has no more write").waitFor();
    sound(page);
  });

  test("definitions that break readers, or are wrong, say so before anything is kept", async () => {
    const page = await person(browser);
    await signIn(page, stand, "admin", "/catalog/define");
    const box = page.getByRole("textbox", { name: "Definitions" });
    await write(page, "CREATE TABLE shop.wrong (id) USING rate;\n", box);
    await page.getByRole("button", { name: "Plan the definitions" }).click();
    await page.getByText("It is refused at line 1").waitFor();
    await write(page, "CREATE DATABASE fresh COMMENT 'new';\nCREATE TABLE fresh.ticks (n BIGINT) USING rate;\n", box);
    await page.getByRole("button", { name: "Plan the definitions" }).click();
    await dialog(page).getByRole("row", { name: /fresh.ticks/ }).getByText("is made").waitFor();
    await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
    await dialog(page).getByText("2 entries of the catalog are as defined").waitFor();
  });

  test("who has no privilege on it sees nothing of the catalog, and is told whom to ask", async () => {
    const page = await person(browser);
    await signIn(page, stand, "approver", "/catalog");
    await page.getByText("There is nothing in the catalog that you may see").waitFor();
    await page.goto(`${stand.url}/catalog/entries/spark_catalog.shop.orders`);
    await page.getByText("What to do:").waitFor();
  });

  test("a service without a stream says how one begins", async () => {
    const empty = await startStreams("--empty");
    try {
      const page = await person(browser, NARROW);
      await signIn(page, empty, "admin", "/streams");
      await page.getByText("No stream has been saved yet").waitFor();
      await fits(page);
      assert.deepEqual(await found(page), []);
      await page.goto(`${empty.url}/catalog`);
      await page.getByText("There is nothing in the catalog that you may see").waitFor();
      assert.deepEqual(await found(page), []);
    } finally {
      await empty.end();
    }
  });

  test("lineage is a graph whose columns are reached by keyboard, and a table; tables that one may not see are named alone", async () => {
    const page = await person(browser);
    await signIn(page, stand, "viewer", "/streams/orders-copy/lineage");
    const column = page.getByRole("button", { name: "amount of orders_copy" });
    await column.focus();
    await page.keyboard.press("Enter");
    assert.equal(await column.getAttribute("aria-pressed"), "true");
    assert.equal(await page.locator(".lineage path.lit").count(), 1);
    await page.getByText("The same as a table: 1 line").click();
    await page.getByRole("row", { name: /orders.amount identity orders_copy.amount/ }).waitFor();
    assert.deepEqual(await found(page), []);
    await page.setViewportSize(NARROW);
    await fits(page);
    sound(page);
    const stranger = await person(browser);
    await signIn(stranger, stand, "approver", "/streams/orders-copy/lineage");
    await stranger.getByText("its columns are not shown to you").waitFor();
    assert.equal(await stranger.getByRole("button", { name: /^amount of .*orders$/ }).count(), 0);
    sound(stranger);
  });
}
