// A migration that is driven beside real clusters.
import { dialog } from "./browser.mjs";

/** Press a button, look at the plan, and have it applied; the dialog stays open. */
export async function applied(page, name, { shows = "", reason = "" } = {}) {
  await page.getByRole("button", { name, exact: true }).click();
  if (reason) {
    await dialog(page).getByLabel("Reason").fill(reason);
    await dialog(page).getByRole("button", { name: "Plan", exact: true }).click();
  }
  await dialog(page).getByRole("button", { name: "Copy as CLI" }).waitFor();
  if (shows) await dialog(page).getByText(shows).first().waitFor();
  await dialog(page).getByRole("button", { name: "Apply this plan" }).click();
}

export const close = (page) => dialog(page).getByRole("button", { name: "Close" }).last().click();

export const wave = (page, name) => page.getByRole("region", { name: `Wave ${name}` });

/** The steps of a run, as they read. */
export const steps = (page, what) => page.getByRole("list", { name: `Steps: ${what}` }).getByRole("listitem");
