// What is looked at on a page: what axe finds, and whether the page fits its window.
import assert from "node:assert/strict";
import { test } from "node:test";
import axe from "@axe-core/playwright";

const { AxeBuilder } = axe.AxeBuilder ? axe : { AxeBuilder: axe.default ?? axe };

/** Whether all is looked at: every width and theme.  CI looks at each page once. */
export const FULL = (process.env.ANABRANCH_TIER ?? "full") === "full";

/** A test of the tier `full` alone. */
export const full = (name, run) => test(name, { skip: FULL ? false : "in the tier full" }, run);

export const NARROW = { width: 360, height: 640 };

export async function found(page) {
  // Of what is in order nothing is told, and no page has frames of others: a third of the time of both.
  const { violations } = await new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).setLegacyMode().analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

export async function fits(page, what = "the page") {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(over <= 0, `${what} is ${over} pixels too wide`);
}

/** In turn one theme and the other, so that pages of both are looked at where each is looked at once. */
export function turns(...themes) {
  let at = -1;
  return (page) => page.emulateMedia({ colorScheme: themes[(at += 1) % themes.length] });
}
