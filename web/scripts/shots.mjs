// `npm run shots [PAGE ...]`: pictures of every page, in both themes and from 360 to 2,560 pixels wide, in build/shots,
// for somebody who looks at their spacing, alignment, contrast and overflow.
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { dialog, PAGES, person, shows, signIn, startBrowser } from "../tests/support/browser.mjs";
import { fillRoutes, MOVED, reporting, REPORTS } from "../tests/support/routes.mjs";
import { startStand } from "../tests/support/stand.mjs";
import { together } from "../tests/support/together.mjs";

const OUT = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "build", "shots");
const WIDTHS = [360, 768, 1280, 2560];
const wanted = process.argv.slice(2);
const isWanted = (name) => wanted.length === 0 || wanted.includes(name);

/** Pages that look otherwise once something was asked. */
const ASKED = {
  "plan-of-a-link": async (page, stand) => {
    await page.goto(`${stand.url}/links/create?source=old&target=new&id=some&include=private&allow=retention.*`);
    await page.getByRole("button", { name: "Plan the link" }).click();
    await dialog(page).getByRole("button", { name: "Save some.yaml" }).waitFor();
  },
  "plan-of-groups": async (page, stand) => {
    await page.goto(`${stand.url}/links/new/old-new/groups`);
    await page.getByRole("button", { name: "Move groups" }).click();
    await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
    await dialog(page).getByText("would move").waitFor();
  },
  "plan-of-a-rewrite": async (page, stand) => {
    await page.goto(`${stand.url}/checkpoints/rewrite?path=${stand.checkpoint}&target=new&link=old-new`);
    await page.getByRole("option", { name: "new", exact: true }).first().waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Plan the rewrite" }).click();
    await dialog(page).getByText("unmodified restart").first().waitFor();
  },
  "mirrormaker-report": async (page, stand) => {
    await page.goto(`${stand.url}/mirrormaker`);
    await page.getByLabel("Source", { exact: true }).selectOption("old");
    await page.getByLabel("Target", { exact: true }).selectOption("new");
    await page.getByLabel("A link beside it").selectOption("old-new");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByText("anabranch mm2 report").waitFor();
  },
  "many-offsets": async (page, stand) => {
    await page.goto(`${stand.url}/links/new/old-new/where`);
    await page.getByRole("textbox", { name: "Offsets" }).fill("orders-0:12\norders-1:27\norders-0:22");
    await page.getByRole("button", { name: "Look them up" }).click();
    await page.getByText("anabranch offsets translate").waitFor();
  },
  "what-a-checkpoint-holds": async (page, stand) => {
    await page.goto(`${stand.url}/checkpoints`);
    await page.getByLabel("Checkpoint", { exact: true }).fill(stand.checkpoint);
    await page.getByLabel("Lag on").selectOption("old");
    await page.getByRole("button", { name: "Look", exact: true }).click();
    await page.getByText("anabranch checkpoint inspect").waitFor();
  },
  "a-token": async (page, stand) => {
    await page.goto(`${stand.url}/accounts`);
    await page.getByRole("button", { name: "Make a token" }).click();
    await dialog(page).getByLabel("Name").fill("for the dashboard");
  },
  "plan-of-routes": async (page, stand) => {
    await page.goto(`${stand.url}/routes/change`);
    await page.getByLabel("Routes file").fill(JSON.stringify(MOVED, null, 2));
    await page.getByLabel("Reason").fill("to the new cluster");
    await page.getByRole("button", { name: "Plan the change" }).click();
    await dialog(page).getByRole("table", { name: "How they are moved" }).waitFor();
  },
  "a-filter-that-finds-nothing": async (page, stand) => {
    await page.goto(`${stand.url}/audit?account=nobody`);
    await page.getByText("No entry is as the filter wants it").waitFor();
  },
};

await mkdir(OUT, { recursive: true });
const [stand, browser] = await together(startStand(), startBrowser());
let quiet;
try {
  await stand.apply("links/set", { target: "new", link: "old-new", rate_limit: "7MB/s" });
  const [operation] = (await stand.ask("GET", "operations")).body;
  const routes = await fillRoutes(stand);
  quiet = reporting(stand, REPORTS);
  const others = {
    operation: [`/operations/${operation.id}`, "was changed"],
    switch: [routes.switch, "It was given up, and nothing was published"],
    plan: [`/plans/${(await stand.plan("groups/sync", { target: "new", link: "old-new" })).id}`, "What it changes"],
  };
  let taken = 0;
  for (const theme of ["light", "dark"]) {
    for (const width of WIDTHS) {
      const page = await person(browser, { theme, width, height: width < 700 ? 740 : 900 });
      const shoot = async (name) => {
        await page.evaluate(() => document.fonts.ready);
        await page.screenshot({ path: join(OUT, `${name}-${theme}-${width}.png`), fullPage: (await dialog(page).count()) === 0 });
        taken += 1;
      };
      if (isWanted("sign-in")) {
        await page.goto(stand.url);
        await page.getByLabel("Token").waitFor();
        await shoot("sign-in");
      }
      await signIn(page, stand, "admin");
      for (const [name, path] of Object.entries(PAGES).filter(([name]) => isWanted(name))) {
        await page.goto(stand.url + path);
        await shows(page, name);
        await shoot(name);
      }
      for (const [name, [path, text]] of Object.entries(others).filter(([name]) => isWanted(name))) {
        await page.goto(stand.url + path);
        await page.getByText(text).first().waitFor();
        await shoot(name);
      }
      for (const [name, ask] of Object.entries(ASKED).filter(([name]) => isWanted(name))) {
        await ask(page, stand);
        await shoot(name);
      }
      await page.context().close();
    }
  }
  console.log(`${taken} pictures are in ${OUT}`);
} finally {
  quiet?.();
  await browser.close();
  await stand.end();
}
