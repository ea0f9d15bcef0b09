// A real browser, and what every test does with it.
import assert from "node:assert/strict";
import { chromium as playwright } from "playwright-core";
import { ARGUMENTS, chromiumPath } from "./chromium.mjs";

const SCALE = Number(process.env.ANABRANCH_TIMEOUT_SCALE ?? 1);
/** For what Spark has to start for. */
export const SPARK = { timeout: 240_000 * SCALE };

export const PAGES = {
  links: "/",
  clusters: "/clusters",
  migrations: "/migrations",
  start: "/migrations/-/start",
  lanes: "/links/new/orders-eu",
  groups: "/links/new/old-new/groups",
  group: "/links/new/old-new/groups?group=shop",
  verification: "/links/new/old-new/verification?sample=0",
  charts: "/links/new/orders-eu/charts",
  settings: "/links/new/orders-eu/settings",
  linkAlerts: "/links/new/orders-eu/alerts",
  where: "/links/new/old-new/where",
  lane: "/links/new/old-new/lanes/orders-0",
  stopped: "/links/new/orders-eu/lanes/orders.000-5",
  create: "/links/create",
  routes: "/routes",
  explain: "/routes/explain?code=shop&role=consumer&topic=orders&group=enrich-1234&param=job_id%3D1234",
  change: "/routes/change",
  versions: "/routes/versions",
  version: "/routes/versions/1",
  switches: "/routes/switches",
  applications: "/applications",
  client: "/applications/00000000000000000000000000000001",
  checkpoints: "/checkpoints",
  advice: "/checkpoints/advice",
  rewrite: "/checkpoints/rewrite",
  proof: "/checkpoints/proof",
  undo: "/checkpoints/undo",
  mirrormaker: "/mirrormaker",
  flow: "/mirrormaker/translate",
  publish: "/mirrormaker/publish",
  rebuild: "/mirrormaker/rebuild",
  operations: "/operations",
  audit: "/audit",
  accounts: "/accounts",
  nowhere: "/nowhere",
};

/** What each page shows once it has been read: a test waits for it. */
export const SHOWN = {
  links: "orders-eu",
  clusters: "cannot be reached",
  migrations: "No migration has begun yet",
  start: "Migration file",
  lanes: "payments.001-0",
  groups: "search-index",
  group: "What a move would do now",
  verification: "value 1 B: 77",
  charts: "Lag in seconds",
  settings: "Processes that the service started",
  linkAlerts: "More than so many runs failed within an hour",
  where: "What an answer means",
  lane: "mapped ranges",
  stopped: "Stopped at offset",
  create: "Lease in seconds",
  routes: "Version \\d+ applies|No route table has been published yet",
  explain: "Code shop leads to cluster new|Such a client is refused",
  change: "Change the route table",
  versions: "There are no older versions|No route table has been published yet",
  version: "What version \\d+, which applies, has otherwise|There is no version 1",
  switches: "to the new cluster|No client was moved yet",
  applications: "\\d+ clients|No application has registered yet",
  client: "Where it is led|What to do: ",
  checkpoints: "Look at a checkpoint",
  advice: "Ways to move a job",
  rewrite: "Plan a rewrite",
  proof: "Each source must start where the map says",
  undo: "Takes the newest rewrite in place back",
  mirrormaker: "Compare its answers with the exact ones",
  flow: "Translate offsets to its copy",
  publish: "Readers of its checkpoints find exact positions",
  rebuild: "A Spark job aligns the records",
  operations: "Operations",
  audit: "session.begin",
  accounts: "Your tokens|Add an account",
  nowhere: "There is no page at this address",
};

/** Chromium's own choice for machines without a display is a graphics card in software, which costs half as much again. */
const WITHOUT = /single-process|no-zygote|swiftshader|use-gl|in-process-gpu|ignore-gpu/;

export async function startBrowser() {
  const browser = await playwright.launch({
    executablePath: await chromiumPath(),
    // Several people look at once: each browser window has a process of its own.
    args: [...ARGUMENTS.filter((one) => !WITHOUT.test(one)), "--disable-gpu"],
    headless: true,
  });
  return browser;
}

const open = new Set();

/** A page of a person's own browser; what fails in it fails the test.  One that stays is not closed with its test. */
export async function person(browser, { theme = "light", width = 1280, height = 900, stays = false } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    locale: "en-US",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  if (!stays) open.add(context);
  const page = await context.newPage();
  page.setDefaultTimeout(120_000 * SCALE);
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("console", (message) => {
    // An answer of 401 or 409 is what the tests ask for; the browser notes each.
    if (message.type() === "error" && !message.text().includes("Failed to load resource")) page.faults.push(message.text());
  });
  return page;
}

/** Close what people have opened: a page that nobody looks at any more reads, and is drawn, all the same. */
export async function closePeople() {
  const contexts = [...open];
  open.clear();
  await Promise.all(contexts.map((one) => one.close()));
}

/** Be signed in, and on a page: as who has signed in before. */
export async function signIn(page, stand, role, path = "/", url = stand.url) {
  const answer = await page.request.post(`${url}/api/v1/session`, { data: { token: stand.tokens[role] } });
  assert.equal(answer.status(), 204, await answer.text());
  await page.goto(url + path);
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
}

/** Sign in by the form, as who comes for the first time. */
export async function signInByForm(page, stand, role, path = "/") {
  await page.goto(stand.url + path);
  await page.getByLabel("Token").fill(stand.tokens[role]);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
}

export const shows = (page, name) => page.getByText(new RegExp(SHOWN[name])).first().waitFor();

export const dialog = (page) => page.getByRole("dialog");

export function sound(page) {
  assert.deepEqual(page.faults, []);
}
