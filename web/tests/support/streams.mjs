// The pages of streams and of the catalog: their addresses, and what each shows once it has been read.
export const STREAM_PAGES = {
  streams: ["/streams", "page views and visitors of the shop"],
  failed: ["/streams/refunds", "no table or view is called"],
  overview: ["/streams/page-views", "page_minutes"],
  script: ["/streams/page-views/script?version=1&line=13", "visitors, per minute", (page) => page.locator(".sql ol").waitFor()],
  versions: ["/streams/page-views/versions?from=1&to=2", "one below the other"],
  runs: ["/streams/page-views/runs", "Why it ended"],
  logs: ["/streams/page-views/logs", "has \\d+ rows"],
  metrics: ["/streams/page-views/metrics", "Duration of a micro-batch"],
};

/** Open one of them, and wait for what it shows. */
export async function visit(page, stand, [path, text]) {
  await page.goto(stand.url + path);
  await page.getByText(new RegExp(text)).first().waitFor();
}
