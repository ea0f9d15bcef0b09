// The states of a page while it reads, where nothing answers, and once it is asked again.
import assert from "node:assert/strict";

/** What the frame of every page reads: who is signed in, and what may be done. */
const FRAME = /\/api\/v1\/(me|verbs|ways|events|session)$/;
const READS = "**/api/v1/**";

const isRead = (request) => !FRAME.test(new URL(request.url()).pathname);

/**
 * Open a page whose reads are not answered: it says what it reads; once they are, `shown` is shown.  A page that `isForm`
 * shows itself at once.
 */
export async function waits(page, address, shown, isForm) {
  let answer;
  const answered = new Promise((resolve) => (answer = resolve));
  await page.route(READS, async (route) => {
    if (isRead(route.request())) await answered;
    await route.continue().catch(() => undefined); // its page may have been left
  });
  await page.goto(address);
  if (isForm) await shown();
  else await page.getByRole("status").getByText(/^Reading .* …$/).first().waitFor();
  answer();
  await shown();
  await page.unrouteAll({ behavior: "wait" });
}

/** Open a page whose reads fail: it says so and what to do, and shows `shown` once somebody tries again. */
export async function fails(page, address, shown, isForm) {
  await page.route(READS, (route) => (isRead(route.request()) ? route.abort() : route.continue()));
  await page.goto(address);
  if (isForm) {
    await shown();
    await page.unrouteAll({ behavior: "wait" });
    return;
  }
  const failed = page.getByRole("main").getByRole("alert");
  await failed.getByText("The service does not answer").first().waitFor();
  assert.match(await failed.first().innerText(), /What to do: check that `anabranch serve` runs/);
  await page.unrouteAll({ behavior: "wait" });
  // All at once: what is read each second may take its own button away.
  await failed.getByRole("button", { name: "Try again" }).evaluateAll((buttons) => buttons.forEach((one) => one.click()));
  await shown();
}
