// A route table, and applications that have registered, as programs leave them.
import { readFileSync } from "node:fs";

export const TABLE = {
  codes: {
    orders: { cluster: "old", description: "ask team shop" },
    shop: { code: "orders" },
  },
  rules: [
    {
      name: "job-1234",
      priority: 100,
      match: { code: "orders", role: "consumer", group: "enrich-1234", parameters: { job_id: "1234" } },
      to: { cluster: "new", topics: "old.{topic}", write: false },
    },
    { name: "all-of-billing", match: { group: "billing*" }, to: { cluster: "old" } },
  ],
};

/** Publish a table; the operation that did it. */
export const publish = (stand, table = TABLE, reason = "a code for team shop") => stand.apply("routes/apply", { table, reason });

/** A client's id by its number. */
export const clientId = (number) => number.toString(16).padStart(32, "0");

/** Register a client, and report as it would. */
export async function register(stand, number, asked = {}, report = null) {
  const { facts, ...query } = asked;
  const body = {
    code: "orders",
    role: "consumer",
    topics: ["orders"],
    group: "billing",
    ...query,
    facts: { application: "shop", host: `host-${number}`, pid: 100 + number, sdk: "0.9.0", ...facts },
  };
  const id = clientId(number);
  const answer = await stand.ask("PUT", `clients/${id}`, body, "client");
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  if (report !== null) await tell(stand, id, report);
  return id;
}

const tell = (stand, id, report) => stand.ask("POST", `clients/${id}/report`, report, "client");

/** Have clients report until this is ended: a test may take longer than a lease. */
export function reporting(stand, reports) {
  const timer = setInterval(() => {
    for (const [id, report] of Object.entries(reports)) void tell(stand, id, report).catch(() => undefined);
  }, 3_000);
  return () => clearInterval(timer);
}

/** What the clients of `fillRoutes` report, by their ids. */
export const REPORTS = {
  [clientId(1)]: { version: 2, records: 5_000, bytes: 1_200_000, lag: 17, positions: { "orders-0": 28, "orders-1": 5_000 } },
  [clientId(2)]: { version: 2, records: 12, errors: 3, last_error: "delivery failed: timed out" },
  [clientId(3)]: { version: 1, records: 1 },
};

/** A table that leads both live clients of code orders to another cluster, which a switch moves. */
export const MOVED = { ...TABLE, codes: { ...TABLE.codes, orders: { cluster: "new", topics: "old.{topic}" } }, rules: [TABLE.rules[0]] };

/** Have a change move clients that run: its operation and its switch, once it is known whom that moves. */
export async function beginSwitch(stand, table, reason) {
  const plan = await stand.plan("routes/apply", { table, reason, timeout_s: 3_600 });
  const begun = await stand.ask("POST", `plans/${plan.id}/apply`, { hash: plan.hash }, "approver");
  for (;;) {
    const [newest] = (await stand.ask("GET", "switches?limit=1")).body;
    if (newest?.reason === reason && newest.clients > 0) return { operation: begun.body.id, id: newest.id };
    const work = (await stand.ask("GET", `operations/${begun.body.id}`)).body;
    if (work.state !== "running") throw new Error(JSON.stringify(work));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Have a client answer that it has paused. */
export async function paused(stand, number, id, positions = {}, uncertain = {}) {
  const answer = await stand.ask("POST", `clients/${clientId(number)}/ready`, { switch: id, positions, uncertain }, "client");
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
}

/** What every page of routes has something of; a switch that was given up. */
export async function fillRoutes(stand) {
  await publish(stand, { codes: { orders: { cluster: "old" } } }, "the first one");
  await publish(stand);
  await register(stand, 1, { client_id: "billing-1" }, REPORTS[clientId(1)]);
  await register(stand, 2, { role: "producer", group: "", facts: { application: "till" } }, REPORTS[clientId(2)]);
  const enriching = { group: "enrich-1234", topics: ["orders", "payments"], parameters: { job_id: "1234" } };
  await register(stand, 3, enriching, REPORTS[clientId(3)]);
  const { id } = await beginSwitch(stand, MOVED, "to the new cluster");
  await paused(stand, 1, id, { "orders-0": 12, "orders-1": 27 });
  const given = await stand.apply("routes/cancel", { switch: id, reason: "too early in the day" });
  if (given.state !== "done") throw new Error(JSON.stringify(given));
  while ((await stand.ask("GET", `switches/${id}`)).body.switch.state !== "cancelled") await new Promise((resolve) => setTimeout(resolve, 100));
  return { switch: `/routes/switches/${id}` };
}

export const example = (name) => readFileSync(new URL(`../../../examples/routes/${name}.yaml`, import.meta.url), "utf8");
