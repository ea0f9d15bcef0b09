import type { Schemas } from "../api/client";
import { counted, whole } from "../format/numbers";
import { Document } from "../parts/Document";
import { Facts } from "../parts/Facts";
import { Reasons } from "../parts/Reasons";
import { Table } from "../parts/Table";
import { linkChanges } from "./diff";

/** What a change of a link changes, each setting now and then. */
export function ChangeBody({ plan }: { plan: Schemas["ChangeLinkPlan"] }) {
  const changes = linkChanges(plan);
  if (changes.length === 0) {
    return <p>The link&#8217;s settings stay as they are. Lanes that have stopped would try again.</p>;
  }
  return (
    <Table
      caption="Settings that change"
      rows={changes}
      rowKey={(change) => change.path}
      columns={[
        { key: "path", label: "setting", head: "Setting", cell: (change) => <code>{change.path}</code> },
        { key: "old", label: "now", head: "Now", cell: (change) => <del className="change-old">{change.before}</del> },
        { key: "new", label: "then", head: "Then", cell: (change) => <ins className="change-new">{change.after}</ins> },
      ]}
    />
  );
}

export const CreateBody = ({ plan }: { plan: Schemas["CreateLinkPlan"] }) => (
  <div className="stack">
    {plan.findings.length ? <Reasons reasons={plan.findings} /> : <p>Nothing speaks against this link.</p>}
    <Facts
      facts={[
        ["source", `${plan.source.context}, Kafka ${plan.source.version}, ${counted(plan.source.brokers, "broker")}`],
        ["target", `${plan.target.context}, Kafka ${plan.target.version}, ${counted(plan.target.brokers, "broker")}`],
      ]}
    />
    <h3>{counted(plan.topics.length, "topic")} would be copied now</h3>
    <Table
      caption="Topics"
      rows={plan.topics}
      rowKey={(topic) => topic.source}
      columns={[
        { key: "source", label: "source", head: "Source", cell: (topic) => topic.source },
        { key: "target", label: "target", head: "Target", cell: (topic) => topic.target },
        { key: "partitions", label: "partitions", head: "Partitions", number: true, cell: (topic) => whole(topic.partitions) },
        { key: "exists", label: "on the target", head: "On the target", cell: (topic) => (topic.exists ? "is there" : "would be made") },
        { key: "modes", label: "modes", head: "Modes", cell: (topic) => modes(topic.lanes) },
      ]}
    />
    <details>
      <summary>All settings</summary>
      <Document value={plan.spec} />
    </details>
  </div>
);

function modes(lanes: readonly Schemas["LaneForecast"][]): string {
  if (lanes.length === 0) return "not known";
  const mapped = lanes.filter((lane) => lane.mode === "mapped");
  if (mapped.length === 0) return "identity";
  const why = [...new Set(mapped.map((lane) => lane.why))].join("; ");
  return `${whole(mapped.length)} of ${whole(lanes.length)} mapped: ${why}`;
}

export const AcceptBody = ({ plan }: { plan: Schemas["AcceptPlan"] }) =>
  plan.pending.length === 0 ? (
    <p>No lane waits for a decision.</p>
  ) : (
    <div className="stack">
      <Table
        caption="Decisions"
        rows={plan.pending}
        rowKey={(one) => one.lane}
        columns={[
          { key: "lane", label: "lane", head: "Lane", cell: (one) => one.source },
          { key: "cause", label: "cause", head: "Cause", cell: (one) => one.cause },
          { key: "position", label: "position", head: "Position", number: true, cell: (one) => whole(one.position) },
          { key: "means", label: "what it means", head: "What it means", cell: (one) => one.means },
          { key: "lost", label: "given up", head: "Given up", cell: (one) => span(one.given_up) },
          { key: "twice", label: "twice", head: "Twice", cell: (one) => span(one.twice) },
        ]}
      />
      {plan.remake.length ? <p>Target topics that would be made again: {plan.remake.join(", ")}</p> : null}
    </div>
  );

const span = (range: readonly number[] | null): string =>
  range === null ? "none" : `${whole(range[0])} to ${whole(range[1])}`;

export const DeleteBody = ({ plan }: { plan: Schemas["DeletePlan"] }) => (
  <div className="stack">
    <p>
      The link is forgotten; what it copied stays. {plan.running ? "It runs now: stop it first." : "It does not run."}
    </p>
    <Facts
      facts={[
        ["target topics that stay", plan.topics.map((topic) => topic.target).join(", ") || "none"],
        ["records forgotten", <Document key="forget" value={plan.forget} />],
        ["configs given back", <Document key="restore" value={plan.restore} />],
      ]}
    />
  </div>
);
