import type { Schemas } from "../api/client";
import { counted, whole } from "../format/numbers";
import { moment } from "../format/times";
import { Facts } from "../parts/Facts";
import { Table } from "../parts/Table";

/** The transactions that are open on a source partition, which of them is ended, and why each other one is not. */
export const AbortBody = ({ plan }: { plan: Schemas["AbortPlan"] }) => (
  <div className="stack">
    <p className="strong">
      {plan.abort === null
        ? "None would be ended"
        : `The transaction of producer id ${plan.abort} would be ended by an abort marker: its records are not copied`}
    </p>
    <Facts
      facts={[
        ["partition", plan.source],
        ["stable up to", whole(plan.stable)],
        ["waits behind it", counted(plan.high_watermark - plan.stable, "offset")],
      ]}
    />
    <Table
      caption="Open transactions"
      rows={plan.transactions}
      rowKey={(one) => String(one.open.producer_id)}
      columns={[
        { key: "producer", label: "producer id", head: "Producer id", cell: (one) => String(one.open.producer_id) },
        { key: "begins", label: "begins at", head: "Begins at", number: true, cell: (one) => whole(one.open.start_offset) },
        { key: "since", label: "since", head: "Since", cell: (one) => moment(one.since_ms) },
        { key: "name", label: "transactional id", head: "Transactional id", cell: (one) => one.known?.transactional_id ?? "not known" },
        {
          key: "coordinator",
          label: "its coordinator",
          head: "Its coordinator",
          cell: (one) => one.known?.state ?? (one.unavailable || "no coordinator tells of it"),
        },
      ]}
    />
    {plan.kept.map((why) => (
      <p key={why} className="dim">
        {why}
      </p>
    ))}
  </div>
);

export const abortedWords = ({ plan, stable, high_watermark }: Schemas["AbortReport"]): string =>
  `The transaction of producer id ${plan.abort} was ended: its records are not copied. ` +
  `${plan.source} is stable up to ${whole(stable)}; ${counted(high_watermark - stable, "offset")} behind it wait.`;
