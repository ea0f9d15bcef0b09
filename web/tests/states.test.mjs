// What each page shows while it reads, where nothing answers, and where there is nothing yet.
import { before, test } from "node:test";
import { PAGES, person, shows, signIn, sound } from "./support/browser.mjs";
import { full } from "./support/looks.mjs";
import { theBrowser, theStand } from "./support/shared.mjs";
import { fails, waits } from "./support/states.mjs";
import { together } from "./support/together.mjs";

let stand;
let browser;
before(async () => {
  [stand, browser] = await together(theStand(), theBrowser());
});

/** Pages that ask before they read anything, or read nothing. */
const FORMS = new Set(["checkpoints", "advice", "rewrite", "proof", "undo", "mirrormaker", "flow", "rebuild", "start", "nowhere"]);

test("each page says what it reads, and shows it once it is answered", async () => {
  const page = await person(browser);
  await signIn(page, stand, "admin");
  for (const [name, path] of Object.entries(PAGES)) {
    await waits(page, stand.url + path, () => shows(page, name), FORMS.has(name)).catch((error) => {
      throw new Error(`${name}: ${error.message}`);
    });
  }
  sound(page);
});

full("each page that gets no answer says so and what to do, and shows what it reads once it is asked again", async () => {
  const page = await person(browser);
  await signIn(page, stand, "admin");
  for (const [name, path] of Object.entries(PAGES)) {
    await fails(page, stand.url + path, () => shows(page, name), FORMS.has(name)).catch((error) => {
      throw new Error(`${name}: ${error.message}`);
    });
  }
  sound(page);
});

/** Where there is nothing yet: what a page says then.  Each names the next step, as a link, a button or a command. */
const EMPTY = {
  "/": "No cluster is known, and a link needs two",
  "/clusters": "The contexts file names no cluster",
  "/links/create": "No cluster is known, and a link needs two",
  "/migrations": "No migration has begun yet",
  "/streams": "No stream has been saved yet",
  "/catalog": "There is nothing in the catalog that you may see",
  "/catalog/grants": "There is no grant that you may see",
  "/catalog/groups": "There is no group yet",
  "/artifacts": "No artifact has been uploaded yet",
  "/routes": "No route table has been published yet",
  "/routes/versions": "No route table has been published yet",
  "/routes/switches": "No client was moved yet",
  "/applications": "No application has registered yet",
  "/checkpoints": "The service opens no checkpoints",
  "/mirrormaker/publish": "There is no link whose map could be published",
  "/operations": "Nothing has been changed through this service yet",
};

test("each page of a service that has nothing yet says so, and the next step", async () => {
  const page = await person(browser);
  await signIn(page, stand.fresh, "admin");
  for (const [path, title] of Object.entries(EMPTY)) {
    await page.goto(stand.fresh.url + path);
    const empty = page.locator(".empty").filter({ hasText: title }).first();
    await empty.waitFor();
    await empty.locator("a, button, code").first().waitFor().catch(() => {
      throw new Error(`${path} names no next step`);
    });
  }
  sound(page);
});

/** Addresses of what is not there, as an old bookmark may have them. */
const GONE = [
  "/links/new/none",
  "/links/nowhere/old-new",
  "/links/new/old-new/lanes/orders-77",
  "/migrations/none",
  "/migrations/none/change",
  "/streams/none",
  "/streams/none/edit",
  "/artifacts/none",
  "/catalog/entries/spark_catalog.none.none",
  "/routes/versions/999",
  "/routes/switches/none",
  "/applications/00000000000000000000000000000009",
  "/operations/none",
  "/plans/none",
];

test("the address of what is not there says so, and where to go on", async () => {
  const page = await person(browser);
  await signIn(page, stand, "admin");
  for (const path of GONE) {
    await page.goto(stand.url + path);
    const told = page.getByRole("main").locator(".empty, [role=alert]").first();
    await told.waitFor().catch(() => {
      throw new Error(`${path} says nothing`);
    });
    const next = (await told.locator("a, button, code").count()) > 0 || /What to do: /.test(await told.innerText());
    if (!next) throw new Error(`${path} says no next step: ${await told.innerText()}`);
  }
  sound(page);
});
