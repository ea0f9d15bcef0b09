// `npm run shots:migrations`: pictures of a migration whose applications are held up by a switch, as `npm run shots` has
// those of other pages; their names begin with `migration-`.
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { person, signIn, startBrowser } from "../tests/support/browser.mjs";
import { startMigrations } from "../tests/support/stand.mjs";
import { together } from "../tests/support/together.mjs";

const OUT = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "build", "shots");

await mkdir(OUT, { recursive: true });
const [stand, browser] = await together(startMigrations("--simulated"), startBrowser());
try {
  await stand.apply("migrations/start", { migration: stand.file });
  const plan = await stand.plan("migrations/switch", { migration: stand.name, wave: "orders" }, "approver");
  await stand.ask("POST", `plans/${plan.id}/apply`, { hash: plan.hash }, "approver");
  const pages = {
    all: ["/migrations", "switch of wave orders"],
    held: [`/migrations/${stand.name}`, "Applications are held up for"],
    change: [`/migrations/${stand.name}/change`, "Migration file"],
  };
  for (const theme of ["light", "dark"]) {
    for (const width of [360, 768, 1280, 2560]) {
      const page = await person(browser, { theme, width, height: width < 700 ? 740 : 900 });
      await signIn(page, stand, "approver");
      for (const [name, [path, text]] of Object.entries(pages)) {
        await page.goto(stand.url + path);
        await page.getByText(text).first().waitFor();
        await page.screenshot({ path: join(OUT, `migration-${name}-${theme}-${width}.png`), fullPage: true });
      }
      await page.context().close();
    }
  }
  await stand.say("go");
} finally {
  await browser.close();
  await stand.end();
}
