// `npm run measure`: how long a link of 10,000 lanes takes to be shown, to be drawn anew as its figures change, and to be
// scrolled, in this machine's browser.
import { person, signIn, startBrowser } from "../tests/support/browser.mjs";
import { startStand } from "../tests/support/stand.mjs";
import { together } from "../tests/support/together.mjs";

const TIMES = 5;
const UPDATES = 10;
const middle = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const [stand, browser] = await together(startStand("--lanes", "10000"), startBrowser());
try {
  const page = await person(browser);
  await signIn(page, stand, "viewer");
  const paints = [];
  const rows = [];
  for (let time = 0; time < TIMES; time += 1) {
    await page.goto(`${stand.url}/links/new/wide`);
    await page.locator(".lane-row.moving a").first().waitFor();
    const [paint, row] = await page.evaluate(() => [
      performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
      performance.now(),
    ]);
    paints.push(paint);
    rows.push(row);
  }
  // From the moment at which the answer is there until the frame in which another lag is seen.
  const updates = await page.locator(".lanes-body").evaluate(async (body, most) => {
    const lags = () => [...body.querySelectorAll(".lane-row.moving > :nth-child(5)")].map((cell) => cell.textContent).join();
    const drawn = [];
    performance.clearResourceTimings();
    for (let last = lags(); drawn.length < most; ) {
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      const now = lags();
      if (now === last) continue;
      last = now;
      const seen = performance.now();
      const answers = performance.getEntriesByType("resource").filter((one) => new URL(one.name).pathname.endsWith("/lanes") && one.responseEnd <= seen);
      const answer = answers.at(-1)?.responseEnd;
      if (answer !== undefined) drawn.push(seen - answer);
      performance.clearResourceTimings();
    }
    return drawn.sort((a, b) => a - b);
  }, UPDATES);
  const frames = await page.getByRole("region", { name: "Lanes, scrolls" }).evaluate(async (box) => {
    const times = [];
    let last = performance.now();
    for (let top = 0; top < 320_000; top += 800) {
      box.scrollTo({ top });
      await new Promise((resolve) => requestAnimationFrame(resolve));
      const now = performance.now();
      times.push(now - last);
      last = now;
    }
    return times.sort((a, b) => a - b);
  });
  console.log(`first paint ${middle(paints).toFixed(0)} ms, first lanes ${middle(rows).toFixed(0)} ms (median of ${TIMES})`);
  console.log(`new figures, ${updates.length} times: drawn after ${middle(updates).toFixed(0)} ms (median), at most ${updates.at(-1).toFixed(0)} ms after their answer`);
  const at = (part) => frames[Math.min(frames.length - 1, Math.floor(frames.length * part))].toFixed(0);
  console.log(`scrolling all 10,000 lanes, ${frames.length} frames: median ${at(0.5)} ms, 95 % within ${at(0.95)} ms, longest ${at(1)} ms`);
} finally {
  await browser.close();
  await stand.end();
}
