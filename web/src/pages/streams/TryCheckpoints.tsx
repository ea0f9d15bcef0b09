import { useState } from "react";
import type { Schemas } from "../../api/client";
import { command } from "../../format/command";
import { Badge, type Tone } from "../../parts/Badge";
import { Button } from "../../parts/Button";
import { CommandLine } from "../../parts/CopyButton";
import { ProblemOf } from "../../parts/ProblemNotice";
import type { ShapeName } from "../../parts/Shape";
import { Table } from "../../parts/Table";
import { useWhyNotPlan } from "../../session/me";
import { isOver, problemOfTrial, useTrial, type TriedQuery } from "../../streams/trial";
import { TrialStands } from "../../streams/TrialStands";
import { versionWords } from "./ScriptTab";
import type { TabProps } from "./StreamPage";

/** Whether a version would go on with the checkpoints that there are: each query is tried on a copy of its own. */
export function TryCheckpoints({ answer: { stream, versions } }: TabProps) {
  const { trial, problem, isAsking, ask, stop } = useTrial();
  const [chosen, choose] = useState<number | null>(null);
  const why = useWhyNotPlan();
  const version = chosen ?? versions[0]?.number ?? stream.published;
  const goesOn = isAsking || (trial !== null && !isOver(trial));
  const found = trial === null ? null : problemOfTrial(trial);
  return (
    <section className="panel" aria-label="Does a version go on with them?">
      <div className="row">
        <h2>Does a version go on with them?</h2>
        <span className="dim small">Each query is tried on a copy of its checkpoint, also while the stream runs. Nothing is read or written.</span>
      </div>
      <div className="row">
        <select className="input" aria-label="Version to try" value={version} onChange={(event) => choose(Number(event.target.value))}>
          {versions.map((one) => (
            <option key={one.number} value={one.number}>
              {versionWords(one, stream)}
            </option>
          ))}
        </select>
        <Button kind="main" why={why ?? (goesOn ? "one look at a time: stop this one" : null)} act={() => ask({ kind: "checkpoints", stream: stream.name, version })}>
          Try it
        </Button>
        {goesOn ? <Button act={stop}>Stop</Button> : null}
      </div>
      {problem === null ? null : <ProblemOf problem={problem} title="It was not looked at" />}
      {trial === null ? null : <TrialStands trial={trial} count={0} again={() => ask({ kind: "checkpoints", stream: stream.name, version, fresh: true })} />}
      {found === null ? null : <ProblemOf problem={found} title="It is refused" />}
      {trial?.tried ? <Tried queries={trial.tried} /> : null}
      <CommandLine text={command(["stream", "try", `${stream.name}@${version}`])} />
    </section>
  );
}

const LOOKS: Record<Schemas["TrialResult"], readonly [Tone, ShapeName, string]> = {
  new: ["idle", "ring", "begins where its tables say"],
  same: ["ok", "check", "is what ran last"],
  fits: ["ok", "check", "goes on"],
  changed: ["warn", "triangle", "would go on, and mean something else"],
  refused: ["bad", "cross", "does not go on"],
  gone: ["idle", "square", "is gone; its checkpoint stays"],
};

const Tried = ({ queries }: { queries: readonly TriedQuery[] }) => (
  <Table
    caption="Queries beside their checkpoints"
    rows={queries}
    rowKey={(one) => one.query}
    columns={[
      { key: "query", label: "query", head: "Query", cell: (one) => <strong className="anywhere">{one.query}</strong> },
      { key: "line", label: "line", head: "Line", number: true, cell: (one) => one.line },
      { key: "result", label: "result", head: "Result", cell: (one) => <Result of={one.result} /> },
      { key: "why", label: "why", head: "Why", cell: (one) => <div className="told small">{one.why.join(" ")}</div> },
    ]}
  />
);

function Result({ of }: { of: TriedQuery["result"] }) {
  const [tone, shape, words] = LOOKS[of];
  return (
    <Badge tone={tone} shape={shape}>
      {words}
    </Badge>
  );
}
