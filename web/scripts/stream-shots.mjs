// `npm run shots:streams [PAGE ...]`: pictures of the pages of streams and of the catalog, as `npm run shots` has those of others;
// their names begin with `streams-`.
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { dialog, person, signIn, startBrowser } from "../tests/support/browser.mjs";
import { startStreams } from "../tests/support/stand.mjs";
import { STREAM_PAGES, visit } from "../tests/support/streams.mjs";
import { together } from "../tests/support/together.mjs";

const OUT = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "build", "shots");
const WIDTHS = process.env.WIDTHS ? process.env.WIDTHS.split(",").map(Number) : [360, 768, 1280, 2560];
const wanted = process.argv.slice(2);

await mkdir(OUT, { recursive: true });
const [stand, browser] = await together(startStreams(), startBrowser());
try {
  let taken = 0;
  for (const theme of process.env.THEMES ? process.env.THEMES.split(",") : ["light", "dark"]) {
    for (const width of WIDTHS) {
      const page = await person(browser, { theme, width, height: width < 700 ? 740 : 900 });
      await signIn(page, stand, "admin");
      for (const [name, one] of Object.entries(STREAM_PAGES).filter(([name]) => wanted.length === 0 || wanted.includes(name))) {
        await visit(page, stand, one);
        await one[2]?.(page);
        // An editor below the window has not measured its lines yet.
        const editor = page.locator(".cm-editor");
        if ((await editor.count()) > 0) await editor.first().scrollIntoViewIfNeeded();
        await page.screenshot({ path: join(OUT, `streams-${name}-${theme}-${width}.png`), fullPage: (await dialog(page).count()) === 0 });
        taken += 1;
      }
      await page.context().close();
    }
  }
  console.log(`${taken} pictures are in ${OUT}`);
} finally {
  await browser.close();
  await stand.end();
}
