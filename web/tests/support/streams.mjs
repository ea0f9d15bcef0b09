// The pages of streams and of the catalog: their addresses, and what each shows once it has been read.
export const STREAM_PAGES = {
  streams: ["/streams", "page views and visitors of the shop"],
  failed: ["/streams/refunds", "no table or view is called"],
  overview: ["/streams/page-views", "page_minutes"],
  script: ["/streams/page-views/script?version=1&line=13", "visitors, per minute", (page) => page.locator(".sql ol").waitFor()],
  preview: ["/streams/page-views/preview", "no consumer group is made"],
  versions: ["/streams/page-views/versions?from=1&to=2", "one below the other"],
  runs: ["/streams/page-views/runs", "Why it ended"],
  checkpoints: ["/streams/page-views/checkpoints", "None was saved"],
  logs: ["/streams/page-views/logs", "has \\d+ rows"],
  metrics: ["/streams/page-views/metrics", "Duration of a micro-batch"],
  alerts: ["/streams/deliveries/alerts", "It is to run and does not"],
  artifacts: ["/artifacts", "names of pages"],
  artifact: ["/artifacts/pages", "RETURNS STRING"],
  create: ["/streams/-/create", "Ctrl-Space completes", (page) => page.locator(".cm-line").first().waitFor()],
  file: ["/streams/late-flights/script", "from pyspark", (page) => page.locator(".sql ol").waitFor()],
  createFile: ["/streams/-/create?kind=pyspark", "runs any code with the rights", (page) => page.locator(".cm-line").first().waitFor()],
  edit: ["/streams/page-views/edit", "Every save is another version", (page) => page.locator(".cm-line").first().waitFor()],
  catalog: [
    "/catalog",
    "each order, as it is made",
    async (page) => {
      await page.getByRole("button", { name: "List their tables" }).click();
      await page.getByRole("cell", { name: "clicks" }).waitFor();
    },
  ],
  table: ["/catalog/entries/spark_catalog.shop.orders?column=amount", "became decimal|the first, with"],
  database: ["/catalog/entries/spark_catalog.reporting", "page_minutes"],
  view: ["/catalog/entries/spark_catalog.shop.large", "Its query", (page) => page.locator(".sql ol").waitFor()],
  define: ["/catalog/define", "OR REPLACE changes", (page) => page.locator(".cm-line").first().waitFor()],
  import: ["/catalog/import", "without a consumer group"],
  grants: ["/catalog/grants", "group:reporting"],
  groups: ["/catalog/groups", "operator, viewer|viewer, operator"],
};

/** Open one of them, and wait for what it shows. */
export async function visit(page, stand, [path, text]) {
  await page.goto(stand.url + path);
  await page.getByText(new RegExp(text)).first().waitFor();
}
