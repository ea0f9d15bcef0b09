import type { Schemas } from "../api/client";
import { counted, seconds, whole } from "../format/numbers";
import { Badge } from "../parts/Badge";
import { Facts } from "../parts/Facts";
import { Reasons } from "../parts/Reasons";
import { Table } from "../parts/Table";

const CHANGES: Record<Schemas["ChangeKind"], string> = { create: "is made", change: "is changed", keep: "stays as it is" };

export const DefineBody = ({ plan }: { plan: Schemas["DefinePlan"] }) => (
  <div className="stack">
    <Table
      caption="What is defined"
      rows={plan.changes}
      rowKey={(one) => `${one.kind} ${one.name}`}
      columns={[
        { key: "name", label: "name", head: "Name", cell: (one) => <strong className="anywhere">{one.name}</strong> },
        { key: "kind", label: "kind", head: "Kind", cell: (one) => one.kind },
        {
          key: "change",
          label: "what becomes of it",
          head: "What becomes of it",
          cell: (one) => (
            <span className={one.change === "keep" ? "dim" : "change-new"}>
              {CHANGES[one.change]}
              {one.schema && one.change === "change" ? ", with other columns" : ""}
            </span>
          ),
        },
        { key: "topic", label: "topic that is made", head: "Topic that is made", cell: (one) => <span className="anywhere">{one.topic}</span> },
      ]}
    />
    {plan.changes.map((one) =>
      one.reasons.length ? (
        <section key={one.name} className="stack">
          <h3>What that means for readers of {one.name}</h3>
          <Reasons reasons={one.reasons} />
        </section>
      ) : null,
    )}
  </div>
);

export const DropBody = ({ plan }: { plan: Schemas["DropPlan"] }) => (
  <div className="stack">
    <p className="strong">
      The {plan.kind} {plan.name} would be forgotten with {counted(plan.grants, "grant")}.
    </p>
    {plan.topic === null ? (
      <p className="dim">Its records stay where they are.</p>
    ) : (
      <div className="notice bad">
        <p className="strong">
          Topic {plan.topic.topic} of cluster {plan.topic.cluster} would be deleted with about {counted(plan.topic.records, "record")} in{" "}
          {counted(plan.topic.partitions, "partition")}.
        </p>
        <p className="dim">
          {plan.topic.retention_ms === null ? "" : `It keeps records for ${seconds(plan.topic.retention_ms / 1000)}. `}What is deleted does not come back.
        </p>
      </div>
    )}
    {plan.mentioned.length ? (
      <div className="notice warn">
        <p className="strong">These views and functions have its name in their text, and fail then</p>
        <ul>
          {plan.mentioned.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
      </div>
    ) : null}
  </div>
);

export const GrantBody = ({ plan: { grant, give, changes } }: { plan: Schemas["GrantPlan"] }) => (
  <div className="stack">
    <p className="strong">
      {changes
        ? `${grant.principal} would ${give ? "have" : "lose"} ${grant.privilege} on ${grant.securable}.`
        : `${grant.principal} ${give ? "has" : "has no"} ${grant.privilege} on ${grant.securable} already.`}
    </p>
    <p className="dim">A grant holds for all that is below a catalog or a database. Grants for others, and of groups, stay as they are.</p>
  </div>
);

export const ImportBody = ({ plan }: { plan: Schemas["ImportPlan"] }) => (
  <div className="stack-wide">
    {plan.tables.map((table) => (
      <section key={table.name} className="stack">
        <h3>
          {table.name} <Badge tone={table.fit === table.samples ? "ok" : "warn"} shape={table.fit === table.samples ? "check" : "triangle"}>
            {whole(table.fit)} of {counted(table.samples, "sample")} fit
          </Badge>
        </h3>
        <Facts facts={[["topic", table.topic]]} />
        <Table
          caption={`Columns of ${table.name}`}
          rows={table.columns}
          rowKey={(one) => one.name}
          columns={[
            { key: "name", label: "column", head: "Column", cell: (one) => <strong>{one.name}</strong> },
            { key: "type", label: "type", head: "Type", cell: (one) => <code className="anywhere">{one.type}</code> },
          ]}
        />
        {table.notes.length ? (
          <div className="notice warn">
            <p className="strong">What to look at</p>
            <ul>
              {table.notes.map((note) => (
                <li key={note}>{note}</li>
              ))}
            </ul>
          </div>
        ) : null}
      </section>
    ))}
  </div>
);

export const EntryBody = ({ plan }: { plan: Schemas["EntrySetPlan"] }) => (
  <div className="stack">
    <p className="strong">{plan.name} would be changed.</p>
    <Facts
      facts={[
        ["owner", plan.owner ?? <span className="dim">stays</span>],
        ["description", plan.description ?? <span className="dim">stays</span>],
      ]}
    />
  </div>
);

export const MembersBody = ({ plan }: { plan: Schemas["MembersPlan"] }) => (
  <div className="stack">
    <p className="strong">
      Group {plan.group} has {plan.members.length ? plan.members.join(", ") : "nobody"} now.
    </p>
    <Facts
      facts={[
        ["comes in", plan.add.length ? <span className="change-new">{plan.add.join(", ")}</span> : "nobody"],
        ["leaves", plan.remove.length ? <span className="change-old">{plan.remove.join(", ")}</span> : "nobody"],
      ]}
    />
  </div>
);
