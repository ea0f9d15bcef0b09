// Streams in a browser, beside a service whose jobs are stand-ins: what each page shows and does, axe, narrow windows.
// CI looks at each page once, narrow and light, and then wide and dark; the tier `full` does the rest.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import axe from "@axe-core/playwright";
import { dialog, person, signIn, sound, startBrowser } from "./support/browser.mjs";
import { applied, close, fits } from "./support/migrations.mjs";
import { startStreams } from "./support/stand.mjs";
import { STREAM_PAGES, visit } from "./support/streams.mjs";
import { together } from "./support/together.mjs";

const { AxeBuilder } = axe.AxeBuilder ? axe : { AxeBuilder: axe.default ?? axe };
const FULL = (process.env.ANABRANCH_TIER ?? "full") === "full";

let stand;
let browser;
before(async () => {
  [stand, browser] = await together(startStreams(), startBrowser());
});
after(async () => {
  await browser?.close();
  await stand?.end();
});

async function found(page) {
  const result = await new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).setLegacyMode().analyze();
  return result.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

const NARROW = { width: 360, height: 640 };
const WIDE = { width: 1280, height: 900 };

test("no page of streams or the catalog is wider than 360 pixels, and axe finds nothing, narrow and light, wide and dark", async () => {
  const page = await person(browser, NARROW);
  await signIn(page, stand, "admin");
  for (const [name, one] of Object.entries(STREAM_PAGES)) {
    await visit(page, stand, one);
    await one[2]?.(page);
    await fits(page);
    assert.deepEqual(await found(page), [], name);
    await page.setViewportSize(WIDE);
    await page.emulateMedia({ colorScheme: "dark" });
    assert.deepEqual(await found(page), [], `${name}, wide and dark`);
    await page.setViewportSize(NARROW);
    await page.emulateMedia({ colorScheme: "light" });
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

if (FULL) {
  test("the list is filtered and sorted, and its address says how", async () => {
    const page = await person(browser);
    await signIn(page, stand, "viewer", "/streams?state=failed");
    await page.getByText("1 of 6 streams").waitFor();
    await page.getByText("no table or view is called").waitFor();
    await page.getByLabel("State").selectOption("");
    await page.getByLabel(/Filter by name/).fill("visitors");
    await page.getByText("2 of 6 streams").waitFor();
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

  for (const theme of ["light", "dark"]) {
    test(`no page of streams or the catalog is wider than 2,560 or 768 pixels in the ${theme} theme, and axe finds nothing`, async () => {
      for (const width of [768, 2560]) {
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
