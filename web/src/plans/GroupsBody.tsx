import type { Schemas } from "../api/client";
import { counted, whole } from "../format/numbers";
import { Badge, type Tone } from "../parts/Badge";
import { Reasons } from "../parts/Reasons";
import type { ShapeName } from "../parts/Shape";
import { Table } from "../parts/Table";

const LOOK: Record<Schemas["GroupStep"], readonly [Tone, ShapeName]> = {
  move: ["busy", "play"],
  "in sync": ["ok", "dot"],
  refused: ["bad", "cross"],
  moved: ["ok", "check"],
  failed: ["bad", "cross"],
};

export const StepBadge = ({ step }: { step: Schemas["GroupStep"] }) => (
  <Badge tone={LOOK[step][0]} shape={LOOK[step][1]}>
    {step}
  </Badge>
);

/** Groups of a plan or of its report: each with its positions, now and then, and every refusal. */
export function GroupsBody({ groups }: { groups: readonly Schemas["GroupPlan"][] }) {
  if (groups.length === 0) return <p>No group is selected: nothing would be moved.</p>;
  return (
    <div className="stack-wide">
      {groups.map((group) => (
        <GroupBody key={group.group} group={group} />
      ))}
    </div>
  );
}

export const GroupBody = ({ group }: { group: Schemas["GroupPlan"] }) => (
  <section className="stack" aria-label={`Move of ${group.group}`}>
    <div className="row">
      <h3 className="anywhere">{group.group}</h3>
      <StepBadge step={group.step} />
      <span className="dim small">
        {group.kind}, {words(group.state)} on the source, {words(group.target_state)} on the target,{" "}
        {counted(group.moves.length, "partition")}
      </span>
    </div>
    {group.failure ? <p className="old">{group.failure}</p> : null}
    {group.refusals.length ? <Reasons reasons={group.refusals} /> : null}
    {group.moves.length ? (
      <Table
        caption={`Positions of ${group.group}`}
        rows={group.moves}
        rowKey={(move) => move.source}
        columns={[
          { key: "source", label: "source", head: "Source", cell: (move) => move.source },
          { key: "old", label: "committed", head: "Committed", number: true, cell: (move) => whole(move.commit.offset) },
          { key: "target", label: "target", head: "Target", cell: (move) => move.target ?? "none" },
          {
            key: "now",
            label: "there now",
            head: "There now",
            number: true,
            cell: (move) => (move.current ? <span>{whole(move.current.offset)}</span> : <span className="dim">none</span>),
          },
          {
            key: "new",
            label: "there then",
            head: "There then",
            number: true,
            cell: (move) =>
              move.answer === null ? (
                <span className="old">refused</span>
              ) : (
                <span className={move.current?.offset === move.answer ? "" : "change-new"}>{whole(move.answer)}</span>
              ),
          },
          { key: "lag", label: "left to read", head: "Left to read", number: true, cell: (move) => whole(move.lag) },
        ]}
      />
    ) : null}
    {group.moves.some((move) => move.refusals.length) ? (
      <Reasons reasons={group.moves.flatMap((move) => move.refusals)} />
    ) : null}
  </section>
);

/** Kafka says of a group that is not there that it is dead. */
export const words = (state: string): string => (state === "dead" ? "not there" : state.replaceAll("_", " "));
