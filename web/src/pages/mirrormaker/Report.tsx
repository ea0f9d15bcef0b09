import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, told, type Schemas } from "../../api/client";
import { linksQuery } from "../../api/queries";
import { command } from "../../format/command";
import { counted, seconds, whole } from "../../format/numbers";
import { Badge } from "../../parts/Badge";
import { CommandLine } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";
import { Figures } from "../../parts/Figures";
import { ProblemNotice } from "../../parts/ProblemNotice";
import { Table, type Column } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";
import { useAsk } from "../checkpoints/useAsk";
import { flowOptions, useFlowFields } from "./flowFields";

type Row = Schemas["JudgedPosition"];

/** MirrorMaker 2's answer for each group and partition, and how far it is off. */
export function Report() {
  const links = useQuery(linksQuery).data?.links ?? [];
  const [asked, setAsked] = useState<Readonly<Record<string, unknown>>>({});
  const ask = useMutation({
    mutationFn: (body: Record<string, unknown>) =>
      told(client.POST("/api/v1/mirrormaker/report", { body: body as Schemas["FlowReport"] })),
  });
  const fields = useFlowFields();
  const { form } = useAsk(
    [
      ...fields,
      {
        name: "link",
        label: "A link beside it",
        kind: "choice",
        initial: "",
        choices: [["", "none"], ...[...new Set(links.map((link) => link.id))].map((id) => [id, id] as const)],
        hint: "Its exact positions are shown beside MirrorMaker's.",
      },
    ],
    "Compare",
    (body) => {
      setAsked(body);
      ask.mutate(body);
    },
  );
  return (
    <div className="stack-wide">
      <section className="panel" aria-label="Compare its answers">
        <h2>Compare its answers with the exact ones</h2>
        <p className="dim">Nothing is changed. Positions that its syncs do not tell are looked up in the records of both clusters.</p>
        {form}
      </section>
      {ask.isPending ? <Waiting what="both clusters" /> : null}
      {ask.isError ? <ProblemNotice error={ask.error} /> : null}
      {ask.data ? (
        <section className="panel" aria-label="Report">
          <Shown found={ask.data as Schemas["MirrorReport"]} />
          <CommandLine text={command(["mm2", "report"], [...flowOptions(asked), ["--link", asked["link"] as string | undefined]])} />
        </section>
      ) : null}
    </div>
  );
}

const isAnswered = (row: Row): boolean => row.downstream !== null;

/** Positions without an answer come first, then those that read most again. */
const worst = (a: Row, b: Row): number =>
  Number(isAnswered(a)) - Number(isAnswered(b)) ||
  (b.most ?? 0) - (a.most ?? 0) ||
  a.group.localeCompare(b.group) ||
  a.source.localeCompare(b.source);

function Shown({ found }: { found: Schemas["MirrorReport"] }) {
  const rows = [...found.rows].sort(worst);
  const answered = rows.filter(isAnswered);
  const unbounded = answered.filter((row) => row.most === null).length;
  const withLink = rows.some((row) => row.ours !== null);
  const number = (key: "committed" | "upstream" | "downstream" | "stored" | "exact", label: string): Column<Row> => ({
    key,
    label: label.toLowerCase(),
    head: label,
    number: true,
    cell: (row) => (row[key] === null ? <span className="dim">none</span> : whole(row[key])),
  });
  return (
    <>
      <h2>
        {found.source_alias} → {found.target_alias}
      </h2>
      <Figures
        figures={[
          { label: "Positions with an answer", value: `${whole(answered.length)} of ${whole(rows.length)}` },
          { label: "Exact", value: whole(answered.filter((row) => row.least === 0 && row.most === 0).length) },
          {
            label: "Read again at most",
            value: whole(answered.reduce((sum, row) => sum + Math.max(0, row.most ?? 0), 0)),
            note: unbounded ? `records; of ${counted(unbounded, "position")} not known` : "records, if all groups moved now",
          },
          { label: "Offset syncs", value: whole(found.syncs) },
          { label: "Last heartbeat", value: found.heartbeat_ms === null ? "none" : `${seconds(found.heartbeat_ms / 1000)} ago` },
        ]}
      />
      {found.notes.map((note) => (
        <p key={note} className="old">
          {note}
        </p>
      ))}
      {rows.length === 0 ? (
        <Empty title="No group has committed on a topic of this flow">
          <p className="dim">Groups appear here once their consumers commit on the source.</p>
        </Empty>
      ) : (
        <div className="flush">
          <Table
            caption="Positions, the worst first"
            rows={rows}
            rowKey={(row) => `${row.group} ${row.source}`}
            columns={[
              { key: "group", label: "group", head: "Group", cell: (row) => <strong className="anywhere">{row.group}</strong> },
              { key: "source", label: "partition", head: "Partition", cell: (row) => row.source },
              number("committed", "Committed"),
              number("upstream", "Seen"),
              number("downstream", "Answer"),
              number("stored", "Next"),
              number("exact", "Exact"),
              { key: "again", label: "read again", head: "Read again", number: true, cell: (row) => <Again row={row} /> },
              { key: "by", label: "by", head: "By", cell: (row) => (row.evidence === "none" ? "" : row.evidence) },
              ...(withLink
                ? [
                    {
                      key: "ours",
                      label: "the link",
                      head: "The link",
                      cell: (row: Row) => (row.ours === null ? "" : <span className="nowrap">{`${row.ours[0]}: ${whole(row.ours[1])}`}</span>),
                    },
                  ]
                : []),
              { key: "note", label: "note", head: "Note", cell: (row) => <span className="small anywhere">{row.note}</span> },
            ]}
          />
        </div>
      )}
    </>
  );
}

function Again({ row }: { row: Row }) {
  if (!isAnswered(row)) {
    return (
      <Badge tone="bad" shape="cross">
        no answer
      </Badge>
    );
  }
  if (row.most === null || row.least === null) return <span className="old">not known</span>;
  if (row.least !== row.most) return <>at most {whole(row.most)}</>;
  if (row.most < 0) {
    return (
      <Badge tone="bad" shape="cross">
        skips {whole(-row.most)}
      </Badge>
    );
  }
  return row.most === 0 ? (
    <Badge tone="ok" shape="check">
      exact
    </Badge>
  ) : (
    <>{whole(row.most)}</>
  );
}
