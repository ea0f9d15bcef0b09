import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { client, told, type Schemas } from "../../api/client";
import { clustersQuery } from "../../api/queries";
import { command, type Option } from "../../format/command";
import { counted, seconds, UNKNOWN, whole } from "../../format/numbers";
import { Badge, type Tone } from "../../parts/Badge";
import { CommandLine } from "../../parts/CopyButton";
import { ProblemNotice } from "../../parts/ProblemNotice";
import type { ShapeName } from "../../parts/Shape";
import { Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";
import { Wrong } from "../../parts/Wrong";
import { leadingOptions, offsetFiles, spelledOut } from "./rewriteBody";
import { LEADING } from "./rewriteFields";
import { Roots } from "./Roots";
import { useAsk } from "./useAsk";

type Found = Schemas["AdviceAnswer"];
type Way = Schemas["Way"];
type Body = Record<string, unknown>;

const KNOWN = [
  ["", "as the checkpoint tells"],
  ["yes", "yes"],
  ["no", "no"],
] as const;

/** The ways to move a job, the best first. */
export function Advise({ roots }: { roots: readonly string[] }) {
  const clusters = useQuery(clustersQuery).data?.clusters ?? [];
  const [search] = useSearchParams();
  const names = clusters.map((cluster) => [cluster.name, cluster.name] as const);
  const [wrong, setWrong] = useState<string | null>(null);
  const ask = useMutation({
    mutationFn: (body: Body) =>
      told(client.POST("/api/v1/checkpoints/advise", { body: body as Schemas["AdviceRequest"] })),
  });
  const { form } = useAsk(
    [
      {
        name: "path",
        label: "Checkpoint",
        kind: "text",
        required: true,
        initial: search.get("path") ?? "",
        hint: <Roots roots={roots} />,
      },
      { name: "links", label: "Links", kind: "lines", hint: "Whose offset maps lead to the new cluster, one a line; empty where there is none yet." },
      {
        name: "target",
        label: "New cluster",
        kind: "choice",
        initial: "",
        choices: [["", "not known yet"], ...names],
        hint: "Needed with whatever leads there.",
      },
      ...LEADING,
      {
        name: "cluster",
        label: "Old cluster",
        kind: "choice",
        initial: "",
        choices: [["", "as the link has it"], ...names],
      },
      { name: "group", label: "The job's consumer group", kind: "text", hint: "Held against the checkpoint, to tell rates." },
      { name: "downtime_s", label: "Longest downtime, in seconds", kind: "number" },
      { name: "sql", label: "The job is of SQL or the Table API", kind: "truth", initial: "", choices: KNOWN, hint: "Flink." },
      { name: "uids", label: "Every operator has a uid", kind: "truth", initial: "", choices: KNOWN, hint: "Flink; told by Flink 2.0 on." },
      { name: "measure_s", label: "Seconds between two looks, to tell rates", kind: "number", initial: "5", hint: "0 to 30." },
    ],
    "Advise",
    (body) => {
      const unclear = spelledOut(body);
      setWrong(unclear);
      if (unclear === null) ask.mutate(body);
    },
  );
  return (
    <div className="stack-wide">
      <section className="panel" aria-label="Ways to move a job">
        <h2>Ways to move a job</h2>
        {form}
        <Wrong what={wrong} />
      </section>
      {ask.isPending ? <Waiting what="both clusters, twice within some seconds" /> : null}
      {ask.isError ? <ProblemNotice error={ask.error} /> : null}
      {ask.data && wrong === null ? (
        <>
          <Shown found={ask.data as Found} />
          <CommandLine text={command(["checkpoint", "advise", String(ask.variables["path"])], optionsOf(ask.variables))} files={offsetFiles(ask.variables)} />
        </>
      ) : null}
    </div>
  );
}

const flag = (name: string, value: unknown): Option => [value === false ? `--no-${name}` : `--${name}`, value !== undefined];

const optionsOf = (body: Body): Option[] => [
  ...leadingOptions(body),
  ["--cluster", body["cluster"] as string | undefined],
  ["--group", body["group"] as string | undefined],
  ["--downtime", body["downtime_s"] as number | undefined],
  flag("sql", body["sql"]),
  flag("uids", body["uids"]),
  ["--measure", body["measure_s"] === 5 ? undefined : (body["measure_s"] as number | undefined)],
];

const records = (value: number | null): string => (value === null ? UNKNOWN : whole(value));

const fails = (way: Way): boolean => way.conditions.some((one) => one.status === "not met");

function Shown({ found: { advice, resumes, why } }: { found: Found }) {
  const restart = advice.unmodified_restart;
  return (
    <section className="panel" aria-label="Advice">
      <h2 className="anywhere">{advice.path}</h2>
      <ul className="dim">
        <li>
          {advice.engine}
          {advice.job ? `, job ${advice.job}` : ""}
        </li>
        {advice.seen.map((one) => (
          <li key={one}>{one}</li>
        ))}
      </ul>
      <p>
        With only the servers changed, {records(restart.repeated)} records would be read again and {records(restart.lost)} never.
        {restart.why ? <span className="dim"> {restart.why}</span> : null}
      </p>
      <Table
        caption="Ways"
        rows={advice.ways}
        rowKey={(way) => way.kind}
        columns={[
          { key: "way", label: "way", head: "Way", cell: (way) => <span className="strong">{way.kind}</span> },
          { key: "again", label: "read again", head: "Read again", number: true, cell: (way) => records(way.effect.repeated) },
          { key: "never", label: "never read", head: "Never read", number: true, cell: (way) => records(way.effect.lost) },
          { key: "waits", label: "waits", head: "Waits", number: true, cell: (way) => seconds(way.waits_s) },
          {
            key: "is",
            label: "possible",
            head: "Possible",
            cell: (way) =>
              fails(way) ? (
                <Badge tone="bad" shape="cross">
                  no
                </Badge>
              ) : (
                <Badge tone="ok" shape="check">
                  as far as is known
                </Badge>
              ),
          },
        ]}
      />
      {advice.ways.map((way, index) => (
        <details key={way.kind} open={index === 0}>
          <summary>
            {index + 1}. {way.title}
          </summary>
          <div className="stack">
            <ul className="stack">
              {way.conditions.map((one, at) => (
                <li key={at}>
                  <Status status={one.status} /> {one.what}
                  {one.why ? <span className="dim"> ({one.why})</span> : null}
                  {one.fix && one.status !== "met" ? <div className="dim small">What to do: {one.fix}</div> : null}
                </li>
              ))}
            </ul>
            {way.effect.why ? <p>{way.effect.why}</p> : null}
            {way.notes.map((note) => (
              <p key={note} className="dim">
                {note}
              </p>
            ))}
            <ol className="stack steps">
              {way.steps.map((step, at) => (
                <li key={at}>
                  {step.what}
                  {step.command ? <CommandLine text={step.command} /> : null}
                </li>
              ))}
            </ol>
          </div>
        </details>
      ))}
      {why === null ? null : <p className="dim">The offsets at which it resumes are not all exact: {why.what}</p>}
      {resumes === null || Object.keys(resumes.offsets).length === 0 ? null : (
        <p className="dim">It resumes at exact offsets in {counted(Object.keys(resumes.offsets).length, "partition")}.</p>
      )}
    </section>
  );
}

const LOOK: Readonly<Record<Schemas["ConditionStatus"], readonly [Tone, ShapeName]>> = {
  met: ["ok", "check"],
  "not yet": ["warn", "triangle"],
  unknown: ["warn", "ring"],
  "not met": ["bad", "cross"],
};

function Status({ status }: { status: Schemas["ConditionStatus"] }) {
  const [tone, shape] = LOOK[status];
  return (
    <Badge tone={tone} shape={shape}>
      {status}
    </Badge>
  );
}
