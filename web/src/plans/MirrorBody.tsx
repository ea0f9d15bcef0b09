import type { Schemas } from "../api/client";
import { counted, either, whole } from "../format/numbers";
import { Table } from "../parts/Table";

/** Positions as MirrorMaker 2's readers would find them, and those that none is written for, with why. */
export const PublishBody = ({ plan }: { plan: Schemas["PublishPlan"] }) => (
  <div className="stack">
    <p className="strong">
      {counted(plan.checkpoints.length, "checkpoint")} would be written, {counted(plan.left_out.length, "position")} left out
    </p>
    <p>
      Readers find them under the alias <code>{plan.source_alias}</code>. What is written is where the groups stand as the plan is applied.
    </p>
    {plan.checkpoints.length ? (
      <Table
        caption="Checkpoints"
        rows={plan.checkpoints}
        rowKey={(one) => `${one.group} ${one.partition}`}
        columns={[
          { key: "group", label: "group", head: "Group", cell: (one) => one.group },
          { key: "upstream", label: "committed", head: "Committed", number: true, cell: (one) => whole(one.upstream) },
          { key: "partition", label: "target", head: "Target", cell: (one) => one.partition },
          { key: "downstream", label: "there", head: "There", number: true, cell: (one) => whole(one.downstream) },
        ]}
      />
    ) : null}
    {plan.left_out.length ? (
      <Table
        caption="Positions left out"
        rows={plan.left_out}
        rowKey={(one) => `${one.group} ${one.source}`}
        columns={[
          { key: "group", label: "group", head: "Group", cell: (one) => one.group },
          { key: "source", label: "source", head: "Source", cell: (one) => one.source },
          { key: "reason", label: "why", head: "Why it is left out", cell: (one) => one.reason },
        ]}
      />
    ) : null}
    {plan.notes.map((note) => (
      <p key={note} className="dim">
        {note}
      </p>
    ))}
  </div>
);

export const publishedWords = ({ checkpoints, left_out, source_alias }: Schemas["Published"]): string =>
  `${counted(checkpoints.length, "checkpoint")} ${either(checkpoints.length, "is", "are")} written under the alias ${source_alias}, ` +
  `${counted(left_out.length, "position")} left out.`;
