// Every page: its content, what axe finds, and whether it fits 360 pixels.  CI looks at each once, at one light and at the
// next dark; the tier `full` does so in both themes, narrow and wide, and opens each anew for every width.
// Last, what a filter that finds nothing and a link that never ran lead to.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, test } from "node:test";
import { dialog, PAGES, person, shows, signIn, sound } from "./support/browser.mjs";
import { fillRoutes } from "./support/routes.mjs";
import { fits, FULL, found, full, NARROW, turns } from "./support/looks.mjs";
import { theBrowser, theStand } from "./support/shared.mjs";
import { together } from "./support/together.mjs";

let stand;
let browser;
const pages = {};
before(async () => {
  [stand, browser] = await together(theStand(), theBrowser());
  await stand.apply("links/set", { target: "new", link: "old-new", rate_limit: "7MB/s" });
  const [operation] = (await stand.ask("GET", "operations")).body;
  Object.assign(pages, await fillRoutes(stand));
  pages.operation = `/operations/${operation.id}`;
  const plan = await stand.plan("groups/sync", { target: "new", link: "old-new" });
  pages.plan = `/plans/${plan.id}`;
});

const OTHER = { operation: "was changed", plan: "What it changes", switch: "It was given up, and nothing was published" };
const visit = async (page, name) => {
  await page.goto(stand.url + (PAGES[name] ?? pages[name]));
  if (name in OTHER) await page.getByText(OTHER[name]).first().waitFor();
  else await shows(page, name);
};

for (const theme of FULL ? ["light", "dark"] : []) {
  test(`axe finds nothing on any page in the ${theme} theme`, async () => {
    const page = await person(browser, { theme });
    await page.goto(stand.url);
    await page.getByLabel("Token").waitFor();
    assert.deepEqual(await found(page), []);
    await signIn(page, stand, "admin");
    for (const name of [...Object.keys(PAGES), ...Object.keys(OTHER)]) {
      await visit(page, name);
      assert.deepEqual(await found(page), [], name);
    }
    await visit(page, "groups");
    await page.getByRole("button", { name: "Move groups" }).click();
    await dialog(page).getByRole("button", { name: "Plan" }).waitFor();
    assert.deepEqual(await found(page), [], "a form");
    await dialog(page).getByRole("button", { name: "Plan" }).click();
    await dialog(page).getByText("would move").waitFor();
    assert.deepEqual(await found(page), [], "a plan");
    sound(page);
  });
}

for (const width of FULL ? [768, 2560] : []) {
  test(`no page is wider than a window of ${width} pixels`, async () => {
    const page = await person(browser, { width, height: 800 });
    await signIn(page, stand, "admin");
    for (const name of [...Object.keys(PAGES), ...Object.keys(OTHER)]) {
      await visit(page, name);
      await fits(page, name);
    }
  });
}

/** Every dialog, by how it is opened; each is left open. */
const DIALOGS = {
  "a form": async (page) => {
    await visit(page, "groups");
    await page.getByRole("button", { name: "Move groups" }).click();
  },
  "a plan of groups": async (page) => {
    await dialog(page).getByRole("button", { name: "Plan" }).click();
    await dialog(page).getByText("would move").waitFor();
  },
  "a change of a link": async (page) => {
    await visit(page, "settings");
    await page.getByRole("button", { name: "Change" }).click();
  },
  "its plan": async (page) => {
    await dialog(page).getByLabel("Rate limit").fill("11MB/s");
    await dialog(page).getByRole("button", { name: "Plan" }).click();
    await dialog(page).getByRole("row", { name: /rate_limit/ }).waitFor();
  },
  "a link with its file": async (page) => {
    await page.goto(`${stand.url}/links/create?source=old&target=new&id=narrow&include=private&allow=retention.*`);
    await page.getByRole("button", { name: "Plan the link" }).click();
    await dialog(page).getByRole("button", { name: "Save narrow.yaml" }).waitFor();
  },
  "a rewrite": async (page) => {
    await page.goto(`${stand.url}/checkpoints/rewrite?path=${stand.checkpoint}&target=new&link=old-new`);
    await page.getByRole("option", { name: "new", exact: true }).first().waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Plan the rewrite" }).click();
    await dialog(page).getByText("unmodified restart").first().waitFor();
  },
  "a change of the routes": async (page) => {
    await page.goto(`${stand.url}/routes/versions/1`);
    await page.getByRole("button", { name: /Go back to it/ }).click();
    await dialog(page).getByLabel("Reason").fill("a reason that is as long as a reason may be who has much to say of why it is done");
    await dialog(page).getByLabel("Publish at once").check();
    await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
    await dialog(page).getByText("What changes in the table").waitFor();
  },
  "a comparison": async (page) => {
    await visit(page, "verification");
    await page.getByRole("button", { name: "Compare" }).click();
  },
  "a probe": async (page) => {
    await visit(page, "clusters");
    await page.getByRole("button", { name: "Probe old" }).click();
    await dialog(page).getByRole("button", { name: "Connect" }).click();
    await dialog(page).getByText("cluster id").waitFor();
  },
  "a token": async (page) => {
    await visit(page, "accounts");
    await page.getByRole("button", { name: "Make a token" }).click();
    await dialog(page).getByLabel("Name").fill("for-a-program-with-a-name-that-is-longer-than-most-of-them-are");
  },
  "an account": async (page) => {
    await visit(page, "accounts");
    await page.getByRole("button", { name: "Add an account" }).click();
    await dialog(page).getByLabel("Name").fill("somebody-with-a-name-that-is-longer-than-most@department.example.com");
  },
};

/** What axe looks at in CI: a plan with tables, one with a file, and one with fields above. */
const LOOKED_AT = new Set(["a plan of groups", "a link with its file", "a change of the routes"]);

test("no dialog is wider than a window of 360 pixels, or hides what is in it", async () => {
  const page = await person(browser, { width: 360, height: 640 });
  await signIn(page, stand, "admin");
  for (const [name, open] of Object.entries(DIALOGS)) {
    await open(page);
    await dialog(page).waitFor();
    const { left, right, over, flat } = await dialog(page).evaluate((box) => {
      const { left, right } = box.getBoundingClientRect();
      const parts = [box, ...box.querySelectorAll(".dialog-head, .dialog-body, .dialog-foot, .command")];
      const flat = [...box.querySelectorAll(".scroll")].filter((one) => one.clientHeight < one.firstElementChild.clientHeight);
      return { left, right, flat: flat.map((one) => one.innerText), over: parts.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.className || one.tagName) };
    });
    assert.ok(left >= 0 && right <= 360, `${name} is from ${left} to ${right}`);
    assert.deepEqual([...over, ...flat], [], name);
    if (FULL || LOOKED_AT.has(name)) assert.deepEqual(await found(page), [], name);
  }
  sound(page);
});

const WIDE = { width: 1280, height: 900 };

test("no page is wider than a window of 360 pixels, and axe finds nothing on any there", async () => {
  const page = await person(browser, NARROW);
  const turn = turns("light", "dark");
  const seen = async (name) => {
    if (!FULL) await turn(page);
    await fits(page, name);
    assert.deepEqual(await found(page), [], name);
    if (!FULL) return;
    await page.setViewportSize(WIDE);
    await page.emulateMedia({ colorScheme: "dark" });
    assert.deepEqual(await found(page), [], `${name}, wide and dark`);
    await page.setViewportSize(NARROW);
    await page.emulateMedia({ colorScheme: "light" });
  };
  await page.goto(stand.url);
  await page.getByLabel("Token").waitFor();
  await seen("sign in");
  await signIn(page, stand, "admin");
  for (const name of [...Object.keys(PAGES), ...Object.keys(OTHER)]) {
    await visit(page, name);
    await seen(name);
  }
  sound(page);
});

test("the links say their state, lag and rate, and which cluster cannot be read and why", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer");
  const row = page.getByRole("row", { name: /orders-eu/ });
  await row.getByText("2 stopped").waitFor();
  assert.match(await row.innerText(), /\d\/s/);
  assert.match(await page.getByRole("row", { name: /archive/ }).innerText(), /paused/);
  const lost = page.getByRole("region", { name: "Clusters that cannot be read" });
  assert.match(await lost.innerText(), /Cluster lost cannot be read[\s\S]*Connection refused[\s\S]*What to do:/);
  await page.getByLabel("Filter links by name or cluster").fill("arch");
  await page.getByText("1 of 4 links").waitFor();
});

test("a cluster says how its brokers and partitions are, or why it cannot be read", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", "/clusters");
  const whole = page.getByRole("row", { name: /^new / });
  await whole.getByText("healthy").waitFor();
  assert.match(await whole.innerText(), /1 broker, \d+ topics, \d+ partitions/);
  assert.match(await page.getByRole("row", { name: /^lost / }).innerText(), /not read[\s\S]*What to do:/);
});

test("a link says its state in words, with its findings and their fixes", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", PAGES.lanes);
  await page.getByText(/2 lanes have stopped at an offset that needs a decision/).waitFor();
  const findings = page.getByRole("region", { name: "Findings" });
  assert.match(await findings.innerText(), /warning[\s\S]*cleanup.policy[\s\S]*What to do: allow/);
});

test("figures change as they are read", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", PAGES.lanes);
  await page.getByText("live", { exact: true }).waitFor();
  const records = () => page.locator(".figures").innerText();
  const first = await records();
  await page.waitForFunction((was) => document.querySelector(".figures").innerText !== was, first);
});

test("a comparison leads down to the record that differs", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", "/links/new/old-new/verification");
  await page.getByText("1 modified, 2 missing").waitFor();
  await page.getByRole("button", { name: "Look at sample 1" }).click();
  await page.getByText("value 1 B: 76").waitFor();
  await page.getByText("value 1 B: 77").waitFor();
  assert.match(page.url(), /sample=0/);
  assert.match(await saved(page, "Save the report as a page (HTML)"), /<title>old-new: different/);
});

/** What a browser saves as somebody follows a link. */
async function saved(page, name) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name }).click()]);
  return readFile(await download.path(), "utf8");
}

test("where a record is, both ways, exact or refused with the reason", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", PAGES.where);
  assert.equal(JSON.parse(await saved(page, "Save the maps (JSON)")).link, "old-new");
  assert.match(await saved(page, "Save their mapped ranges (CSV)"), /^source_topic,/);
  await page.getByLabel("Source partition").fill("orders-0");
  await page.getByLabel("Offset", { exact: true }).fill("12");
  await page.getByRole("button", { name: "Translate" }).click();
  await page.getByText("old.orders-0 offset 2").waitFor();
  await page.getByLabel("Offset", { exact: true }).fill("22");
  await page.getByRole("button", { name: "Translate" }).click();
  await page.getByText("unmapped", { exact: true }).first().waitFor();
  await page.getByLabel("Offset", { exact: true }).fill("-5");
  await page.getByRole("button", { name: "Translate" }).click();
  await page.getByText("anabranch offsets translate old-new orders-0:22 --target new --records").waitFor();
  await page.getByRole("radio", { name: "target to source" }).check({ force: true });
  await page.getByLabel("Target partition").fill("old.orders-0");
  await page.getByLabel("Offset", { exact: true }).fill("11");
  await page.getByRole("button", { name: "Translate" }).click();
  await page.getByText("orders-0 offset 26").waitFor();
});

test("a lane shows its offset map as a drawing and as a table", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", PAGES.lane);
  await page.getByRole("img", { name: /2 mapped ranges, 2 gaps/ }).waitFor();
  const table = page.getByRole("table", { name: "Ranges and gaps" });
  assert.equal(await table.getByRole("row").count(), 5);
});

test("charts are drawn, and told as a table", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", PAGES.charts);
  await page.getByRole("img", { name: /Lag in records: now/ }).waitFor();
  await page.getByRole("img", { name: /Latency: now \d+ ms, at most/ }).waitFor();
  assert.equal(await page.locator("canvas").count(), 5);
  await page.getByText("The same as a table").click();
  const table = page.getByRole("table", { name: "The last hour" });
  await table.waitFor();
  assert.match(await table.getByRole("row").nth(1).innerText(), /\d ms$/);
  sound(page);
});

test("a viewer's actions are disabled and say why", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", PAGES.lanes);
  const pause = page.getByRole("button", { name: "Pause" });
  await pause.waitFor();
  assert.equal(await pause.getAttribute("aria-disabled"), "true");
  assert.equal(await pause.getAttribute("title"), "viewer has the role viewer; plans need the role operator");
  await pause.click({ force: true });
  assert.equal(await dialog(page).count(), 0);
});

test("an instance that only shows says so, and names the one that acts", async () => {
  const page = await person(browser);
  await signIn(page, stand, "approver", "/links/new/old-new", stand.shows);
  const banner = page.getByText("This instance only shows.").locator("..");
  assert.ok((await banner.innerText()).includes(stand.acting));
  await page.getByRole("button", { name: "Pause" }).click();
  const apply = dialog(page).getByRole("button", { name: "Apply this plan" });
  await dialog(page).getByText("Setting").waitFor();
  assert.equal(await apply.getAttribute("aria-disabled"), "true");
  assert.match(await apply.getAttribute("title"), /only shows/);
});

test("what is shown of a cluster that is away is marked as old, with why", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer", "/links/far/new-far");
  await page.getByText(/^read \d+ s ago$/).first().waitFor();
  await stand.say("away");
  await page.getByText("Cluster far is away: what is shown is old").waitFor();
  await page.getByText(/^stale: read/).first().waitFor();
  await stand.say("back");
  await page.getByText("Cluster far is away").waitFor({ state: "detached" });
});

test("a service that does not answer is said so, with what to do, and what was known stays", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer");
  await page.getByText("orders-eu").first().waitFor();
  await page.route("**/api/v1/**", (route) => route.abort());
  await page.getByText("What is shown of the links is old").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /does not answer[\s\S]*What to do: check/);
  await page.getByText("orders-eu").first().waitFor();
  await page.unroute("**/api/v1/**");
  await page.getByText("What is shown of the links is old").waitFor({ state: "detached" });
});

full("a filter that finds nothing says so, and is taken away by a button", async () => {
  const page = await person(browser);
  await signIn(page, stand, "viewer");
  await page.getByLabel("Filter links by name or cluster").fill("nowhere");
  await page.getByText('No link has "nowhere" in its name or clusters').waitFor();
  await page.getByRole("button", { name: "Show all links" }).click();
  await page.getByRole("link", { name: "orders-eu" }).waitFor();

  await page.goto(`${stand.url}/audit?account=nobody&verb=links.pause`);
  await page.getByText("No entry is as the filter wants it").waitFor();
  await page.getByRole("button", { name: "Show every entry" }).click();
  await page.getByRole("row", { name: /session.begin/ }).first().waitFor();
  assert.equal(await page.getByLabel("Account").inputValue(), "");
  assert.equal(new URL(page.url()).search, "");

  await page.goto(`${stand.url}/links/new/orders-eu?text=nothing`);
  await page.getByText("No lane is as the filter wants it").waitFor();
  await page.getByRole("button", { name: "Show every lane" }).click();
  await page.getByRole("link", { name: "orders.000-0", exact: true }).waitFor();

  await page.goto(`${stand.url}/links/new/old-new/groups`);
  await page.getByLabel("Filter groups by name").fill("nobody");
  await page.getByText('No group has "nobody" in its name').waitFor();
  await page.getByRole("button", { name: "Show all groups" }).click();
  await page.getByRole("link", { name: "shop" }).waitFor();
  sound(page);
});

test("a link that never ran and was never compared offers both", async () => {
  await stand.apply("links/create", { link: { source: "old", target: "new", id: "fresh", filter: { include: ["fresh"] } } });
  const page = await person(browser);
  await signIn(page, stand, "operator", "/links/new/fresh");
  await page.getByText("This link has no lanes yet").waitFor();
  await page.getByRole("button", { name: "Run the link" }).click();
  await dialog(page).getByText("anabranch link run fresh --detach --target new").waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("link", { name: "Verification" }).click();
  await page.getByText("This link was never compared").waitFor();
  await page.getByRole("button", { name: "Compare now" }).click();
  await dialog(page).getByRole("button", { name: "Plan", exact: true }).waitFor();
  sound(page);
});
