import { useEffect, useState } from "react";
import type { Problem } from "../api/problem";
import { command } from "../format/command";
import { Button } from "../parts/Button";
import { CommandLine } from "../parts/CopyButton";
import { MoreRows } from "../parts/MoreRows";
import { ProblemOf } from "../parts/ProblemNotice";
import { Table } from "../parts/Table";
import { FormFields } from "../plans/FormFields";
import type { FieldSpec, Values } from "../plans/specs";
import { useWhyNotPlan } from "../session/me";
import { AnalysedTables } from "./AnalysedTables";
import { isOver, problemOfTrial, useTrial, type Trial, type TrialAsked } from "./trial";
import { TrialStands } from "./TrialStands";

interface Props {
  /** What is looked at: a script, or a stream's version. */
  of: Pick<TrialAsked, "script" | "stream" | "version">;
  /** Told what is wrong with the script, or null as another look begins; else it is shown here. */
  refused?: (problem: Problem | null) => void;
}

const FIELDS: readonly FieldSpec[] = [
  { name: "select", label: "Statement", kind: "number", hint: "The number of a SELECT or INSERT; 0 for the first." },
  { name: "start", label: "Read from", kind: "text", hint: "earliest, latest, a time, group:NAME, TOPIC-PARTITION:OFFSET; empty for what each table says." },
  { name: "rows", label: "Rows", kind: "number", hint: "At most, 1 to 1,000." },
  { name: "seconds", label: "Seconds", kind: "number", hint: "At most, 1 to 300, from when Spark reads." },
];

const FIRST: Values = { select: "0", start: "", rows: "100", seconds: "60" };

/** Rows of a SELECT as they come, or whether Spark finds something wrong; nothing is written anywhere. */
export function TryPanel({ of, refused }: Props) {
  const { trial, rows, problem, isAsking, ask, stop } = useTrial();
  const [values, setValues] = useState(FIRST);
  const why = useWhyNotPlan();
  const goesOn = isAsking || (trial !== null && !isOver(trial));
  const found = trial === null ? null : problemOfTrial(trial);
  const isElsewhere = refused !== undefined && found?.place?.line != null;
  useEffect(() => {
    if (found !== null) refused?.(found);
    // A trial has one end, and so one problem: what it is made of does not change.
  }, [trial?.id, trial?.state]);
  const begin = (kind: TrialAsked["kind"], fresh = false) => {
    refused?.(null);
    const start = (values["start"] ?? "").trim();
    const preview = {
      select: Number(values["select"]) || 0,
      rows: Number(values["rows"]) || 100,
      seconds: Number(values["seconds"]) || 60,
      ...(start ? { start } : {}),
      fresh,
    };
    ask({ kind, ...of, ...(kind === "preview" ? preview : {}) });
  };
  return (
    <section className="panel" aria-label="Try it">
      <div className="row">
        <h2>Try it</h2>
        <span className="dim small">In a process of its own, on live data. Nothing is written anywhere, and no consumer group is made.</span>
      </div>
      <div className="tries">
        <FormFields fields={FIELDS} values={values} change={(name, value) => setValues((before) => ({ ...before, [name]: value }))} />
      </div>
      <div className="row">
        <Button kind="main" why={why ?? (goesOn ? "one look at a time: stop this one" : null)} act={() => begin("preview")}>
          Show rows
        </Button>
        <Button why={why ?? (goesOn ? "one look at a time: stop this one" : null)} act={() => begin("validation")}>
          Validate
        </Button>
        {goesOn ? <Button act={stop}>Stop</Button> : null}
      </div>
      {problem === null ? null : <ProblemOf problem={problem} title="It was not looked at" />}
      {trial === null ? null : <TrialStands trial={trial} count={rows.length} again={() => begin(trial.kind, true)} />}
      {found === null || isElsewhere ? null : <ProblemOf problem={found} title="It is refused" />}
      {isElsewhere ? <p className="dim">It is shown at its line in the script.</p> : null}
      {trial !== null && trial.columns.length ? <Rows trial={trial} rows={rows} /> : null}
      {trial?.analysed ? <AnalysedTables analysed={trial.analysed} /> : null}
      <CommandLine text={commandOf(of, values)} />
    </section>
  );
}

function commandOf({ stream, version, script }: Props["of"], values: Values): string {
  const name = script == null && stream ? stream : "stream.sql";
  return command(
    ["stream", "preview", name],
    [
      ["--version", script == null ? version : null],
      ["--select", values["select"] === "0" ? null : values["select"]],
      ["--rows", values["rows"]],
      ["--seconds", values["seconds"] === "60" ? null : values["seconds"]],
      ["--from", values["start"]],
    ],
  );
}

const Rows = ({ trial, rows }: { trial: Trial; rows: readonly (readonly unknown[])[] }) => (
  <MoreRows rows={rows} what="rows">
    {(shown) => (
      <div className="flush preview">
        <Table
          caption={`Rows of statement ${trial.selected ?? 1}`}
          cards={false}
          rows={shown}
          rowKey={(_, at) => String(at)}
          columns={trial.columns.map(({ name, type }, at) => ({
            key: `${at} ${name}`,
            label: name,
            head: (
              <>
                {name} <span className="small dim">{type}</span>
              </>
            ),
            number: /^(tinyint|smallint|int|bigint|float|double|decimal.*)$/.test(type),
            cell: (row: readonly unknown[]) => <Value of={row[at]} />,
          }))}
        />
      </div>
    )}
  </MoreRows>
);

const Value = ({ of }: { of: unknown }) =>
  of === null || of === undefined ? <span className="dim">null</span> : <span className="mono">{typeof of === "object" ? JSON.stringify(of) : String(of)}</span>;
