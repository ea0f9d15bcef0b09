import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../api/client";
import { streamQuery, streamVersionQuery } from "../api/queries";
import { counted, whole } from "../format/numbers";
import { moment } from "../format/times";
import { Fetched } from "../parts/Fetched";
import { Table } from "../parts/Table";
import { StreamBadge } from "../parts/states";
import { ruleWords } from "../streams/alerts";
import { Queries } from "../streams/AnalysedTables";
import { ScriptDiff, type Side } from "../streams/ScriptDiff";

interface SaveProps {
  plan: Schemas["SaveStreamPlan"];
  request: Readonly<Record<string, unknown>>;
}

/** A version that would be saved: its statements, and what it has otherwise than the one before. */
export const SaveStreamBody = ({ plan, request }: SaveProps) => (
  <div className="stack">
    <p className="strong">
      {plan.base === 0
        ? `Stream ${plan.stream} would be saved, and its version 1 published. Nothing runs before it is started.`
        : `Version ${plan.version} of stream ${plan.stream} would be saved. What runs goes on as it is.`}
    </p>
    {plan.base === 0 ? null : (
      <section className="stack">
        <h3>What differs from version {plan.base}</h3>
        {plan.diff.length ? <Differs plan={plan} request={request} /> : <p className="dim">Nothing.</p>}
      </section>
    )}
    {plan.queries.length ? <Queries queries={plan.queries} /> : null}
    {plan.artifacts.length ? <p>It runs with {plan.artifacts.map(withFunctions).join(", ")}.</p> : null}
    {plan.kind === "pyspark" ? (
      <p>It is a PySpark file: it runs any code with the rights of the service&apos;s user. Python has compiled it, and nothing of it was run.</p>
    ) : (
      <Statements plan={plan} />
    )}
  </div>
);

/** A version of an artifact, with the functions of the catalog that it brings. */
function withFunctions(pin: Schemas["ArtifactPin"]): string {
  const names = pin.functions.map((one) => one.name).join(", ");
  return `${pin.artifact}@${pin.number}${names ? ` (${names})` : ""}`;
}

const Statements = ({ plan }: Pick<SaveProps, "plan">) => (
  <details>
    <summary>{counted(plan.statements.length, "statement")}</summary>
    <Table
      caption="Statements"
      rows={plan.statements}
      rowKey={(one) => String(one.number)}
      columns={[
        { key: "number", label: "statement", head: "No.", number: true, cell: (one) => one.number },
        { key: "line", label: "line", head: "Line", number: true, cell: (one) => one.line },
        { key: "text", label: "begins", head: "Begins", cell: (one) => <code className="anywhere">{one.text}</code> },
      ]}
    />
  </details>
);

/** The version before is asked for: the plan has the lines that differ, and not where they are in the whole. */
function Differs({ plan, request }: SaveProps) {
  const [view, setView] = useState<string | null>(null);
  const stream = useQuery(streamQuery(plan.stream));
  const base = stream.data?.versions.find((one) => one.number === plan.base);
  const query = useQuery({ ...streamVersionQuery(plan.stream, base ?? { number: plan.base, at_ms: 0 }), enabled: base !== undefined });
  if (stream.data !== undefined && base === undefined) return <Lines diff={plan.diff} />;
  return (
    <Fetched query={query} what={`version ${plan.base}`}>
      {(found) => {
        const before: Side = { name: `version ${plan.base}`, script: found.script, settings: found.settings };
        const given = (name: string, was: unknown) => request[name] ?? was;
        const settings = Object.fromEntries(Object.entries(found.settings).map(([name, was]) => [name, given(name, was)]));
        const after: Side = { name: `version ${plan.version}`, script: String(given("script", found.script)), settings };
        return <ScriptDiff before={before} after={after} view={view ?? "unified"} change={setView} />;
      }}
    </Fetched>
  );
}

const Lines = ({ diff }: { diff: readonly string[] }) => (
  <pre className="log" tabIndex={0} aria-label="What differs">
    {diff.join("\n")}
  </pre>
);

export const PublishStreamBody = ({ plan }: { plan: Schemas["PublishStreamPlan"] }) => (
  <div className="stack">
    <p className="strong">
      {plan.before === plan.after
        ? `Version ${plan.after} is published already.`
        : `The next start would run version ${plan.after} in place of version ${plan.before}.`}
    </p>
    <p className="dim">
      {plan.runs === null
        ? "The stream does not run now."
        : plan.runs === plan.after
          ? `Version ${plan.runs} runs now, and goes on.`
          : `Version ${plan.runs} runs now, and goes on until the stream is restarted.`}
    </p>
  </div>
);

const WORDS: Record<Schemas["StreamVerb"], (version: number) => string> = {
  start: (version) => `Version ${version} would be started.`,
  stop: () => "Each of its queries would end after the micro-batch that runs. A start goes on from there.",
  restart: (version) => `Each of its queries would end after the micro-batch that runs, and version ${version} be started.`,
};

const STATES: Record<Schemas["StateChoice"], string> = {
  refuse: "Nothing is started where a query's state does not fit the version, or means something else in it.",
  new: "A query whose state does not fit the version goes on at its records, with an empty state.",
  keep: "A query whose state means something else in the version goes on with it all the same.",
};

/** Where the queries of a start begin. */
function beginWords({ checkpoint, start, choice }: Schemas["RunStreamPlan"]): string {
  if (checkpoint) return `Every query would go back to the saved checkpoint ${checkpoint}: what it has written since is written again.`;
  if (start) return `Every query would begin again at ${start}, with an empty state.`;
  return `It goes on exactly where its checkpoints are; without any it begins where its tables say. ${STATES[choice]}`;
}

const LINK_WORDS: Record<Schemas["StreamVerb"], string> = {
  start: "The link would be started, and go on exactly at its positions.",
  stop: "The runs of the link would be asked to end, wherever they are.",
  restart: "The runs of the link would be asked to end, and it be started at its positions.",
};

export const RunStreamBody = ({ plan }: { plan: Schemas["RunStreamPlan"] }) => (
  <div className="stack">
    <p className="strong">{plan.target ? LINK_WORDS[plan.verb] : WORDS[plan.verb](plan.version)}</p>
    {plan.target || plan.verb === "stop" ? null : <p>{beginWords(plan)}</p>}
    {plan.back.length ? (
      <Table
        caption="Queries that go back"
        rows={plan.back}
        rowKey={(one) => one.query}
        columns={[
          { key: "query", label: "query", head: "Query", cell: (one) => <strong className="anywhere">{one.query}</strong> },
          { key: "batch", label: "micro-batch", head: "To its micro-batch", number: true, cell: (one) => whole(one.batch) },
          {
            key: "records",
            label: "by records",
            head: "By records",
            number: true,
            cell: (one) => (one.records === null ? <span className="dim">not known</span> : whole(one.records)),
          },
        ]}
      />
    ) : null}
    <p>
      Now it is <StreamBadge state={plan.state} />
    </p>
  </div>
);

export const DeleteStreamBody = ({ plan }: { plan: Schemas["DeleteStreamPlan"] }) => (
  <p className="strong">
    {counted(plan.versions, "version")} and {counted(plan.runs, "run")} would be forgotten. The checkpoints stay where they are; a stream that is made again under
    this name begins with none.
  </p>
);

/** A saved checkpoint that would be made, or taken away. */
export const SavedCheckpointBody = ({ plan }: { plan: Schemas["CheckpointPlan"] }) => (
  <div className="stack">
    <p className="strong">
      {plan.verb === "save"
        ? `The checkpoints of stream ${plan.stream} would be saved as ${plan.name}. Version ${plan.version} ran with them.`
        : `The saved checkpoint ${plan.name} of stream ${plan.stream} would be taken away. No start can go back to it then.`}
    </p>
    <SavedQueries queries={plan.queries} />
  </div>
);

/** Where the queries of a saved checkpoint stand. */
export const SavedQueries = ({ queries }: { queries: readonly Schemas["SavedQueryLine"][] }) => (
  <Table
    caption="Queries"
    rows={queries}
    rowKey={(one) => one.query}
    columns={[
      { key: "query", label: "query", head: "Query", cell: (one) => <strong className="anywhere">{one.query}</strong> },
      { key: "batch", label: "micro-batch", head: "Last micro-batch", number: true, cell: (one) => whole(one.batch) },
      {
        key: "records",
        label: "records before",
        head: "Records before",
        number: true,
        cell: (one) => (one.records === null ? <span className="dim">not of Kafka</span> : whole(one.records)),
      },
    ]}
  />
);

/** A run that would be given up, and what may happen. */
export const AbandonStreamBody = ({ plan }: { plan: Schemas["AbandonStreamPlan"] }) => (
  <div className="stack">
    <p className="strong">
      {plan.run} is given up: machine {plan.host} is not heard of since {moment(plan.silent_since)}.{" "}
      {plan.wanted === "running" ? "The stream is started on another machine." : "The stream stays stopped."}
    </p>
    {plan.may.map((line) => (
      <p key={line}>{line}</p>
    ))}
  </div>
);

/** The rules that a stream would have, those that are new marked. */
export const AlertsBody = ({ plan }: { plan: Schemas["AlertsPlan"] }) => (
  <div className="stack">
    <Table
      caption="Rules"
      rows={plan.rules}
      rowKey={(one) => one.kind}
      columns={[
        { key: "alert", label: "alert", head: "Alert", cell: (one) => <strong>{one.kind}</strong> },
        { key: "what", label: "rule", head: "Rule", cell: (one) => <span className={one.is_changed ? "change-new" : "dim"}>{ruleWords(one)}</span> },
        { key: "new", label: "what becomes of it", head: "What becomes of it", cell: (one) => (one.is_changed ? "is changed" : "stays as it is") },
      ]}
    />
    <p className="dim">{plan.receivers.length ? `Told to ${plan.receivers.join(", ")}.` : "Nobody would be told."}</p>
  </div>
);

export const DeleteArtifactBody = ({ plan }: { plan: Schemas["DeleteArtifactPlan"] }) => (
  <div className="stack">
    <p className="strong">
      {plan.is_last ? `Artifact ${plan.artifact} would be forgotten with ` : `Artifact ${plan.artifact} would lose `}
      {plan.versions.length === 1 ? `version ${plan.versions[0]}` : `its versions ${plan.versions.join(", ")}`}.
    </p>
    <p className="dim">No stream was saved with {plan.versions.length === 1 ? "it" : "any of them"}. Files that nothing has any more are taken away a day later.</p>
  </div>
);
