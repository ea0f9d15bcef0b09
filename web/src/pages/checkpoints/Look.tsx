import { useMutation, useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";
import { client, told, type Schemas } from "../../api/client";
import { clustersQuery } from "../../api/queries";
import { bytes, UNKNOWN, whole } from "../../format/numbers";
import { command } from "../../format/command";
import { Age } from "../../parts/Age";
import { CommandLine } from "../../parts/CopyButton";
import { Facts } from "../../parts/Facts";
import { ProblemNotice } from "../../parts/ProblemNotice";
import { Reasons } from "../../parts/Reasons";
import { Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";
import { offsetText } from "./offsetText";
import { Roots } from "./Roots";
import { useAsk } from "./useAsk";

type Inspection = Schemas["Inspection"];

/** What a checkpoint holds, and how far its job is behind on a cluster. */
export function Look({ roots }: { roots: readonly string[] }) {
  const clusters = useQuery(clustersQuery).data?.clusters ?? [];
  const [search] = useSearchParams();
  const ask = useMutation({
    mutationFn: (body: Record<string, unknown>) =>
      told(client.POST("/api/v1/checkpoints/inspect", { body: body as Schemas["Look"] })),
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
      {
        name: "cluster",
        label: "Lag on",
        kind: "choice",
        initial: "",
        choices: [["", "no cluster"], ...clusters.map((cluster) => [cluster.name, cluster.name] as const)],
        hint: "The cluster that the job reads now.",
      },
    ],
    "Look",
    ask.mutate,
  );
  return (
    <div className="stack-wide">
      <section className="panel" aria-label="Look at a checkpoint">
        <h2>Look at a checkpoint</h2>
        {form}
      </section>
      {ask.isPending ? <Waiting what="the checkpoint" /> : null}
      {ask.isError ? <ProblemNotice error={ask.error} /> : null}
      {ask.data ? (
        <>
          <Shown found={ask.data as Inspection} />
          <CommandLine
            text={command(["checkpoint", "inspect", String(ask.variables["path"])], [["--cluster", ask.variables["cluster"] as string | undefined]])}
          />
        </>
      ) : null}
    </div>
  );
}

function Shown({ found }: { found: Inspection }) {
  const { page } = found;
  return (
    <section className="panel" aria-label="What it holds">
      <h2 className="anywhere">{found.path}</h2>
      <Facts
        facts={[
          ["engine", page.engine],
          ["job", page.job || UNKNOWN],
          ["number", whole(page.number)],
          ["last written", <Age key="age" ms={found.newest_write_ms} absolute />],
          ["not committed", page.uncommitted === null ? "nothing" : `batch ${whole(page.uncommitted)}`],
          ["backups", found.backups.length ? found.backups.join(", ") : "none"],
          ...(found.unfinished ? ([["unfinished", found.unfinished]] as const) : []),
        ]}
      />
      {page.notes.map((note) => (
        <p key={note} className="dim">
          {note}
        </p>
      ))}
      {page.sources.map((source) => (
        <div key={source.source} className="stack">
          <h3>
            {source.name || source.source} <span className="dim small">{source.kind}</span>
          </h3>
          {source.problems.length ? <Reasons reasons={source.problems} /> : null}
          <Table
            caption={`Positions of ${source.name || source.source}`}
            rows={source.positions}
            rowKey={(position, index) => `${position.location}${position.partition}${position.role}${index}`}
            columns={[
              { key: "partition", label: "partition", head: "Partition", cell: (position) => position.partition },
              { key: "role", label: "role", head: "Role", cell: (position) => position.role },
              { key: "offset", label: "offset", head: "Offset", number: true, cell: (position) => offsetText(position.offset) },
              {
                key: "lag",
                label: "lag",
                head: "Lag",
                number: true,
                cell: (position) => {
                  const lag = found.lags.find((one) => one.source === position.source && one.partition === position.partition);
                  return lag === undefined ? "" : lag.records === null ? <span title={lag.why}>{UNKNOWN}</span> : whole(lag.records);
                },
              },
              { key: "where", label: "stored in", head: "Stored in", cell: (position) => <code className="small anywhere">{position.location}</code> },
            ]}
          />
        </div>
      ))}
      {page.operators.length ? (
        <Table
          caption="State"
          rows={page.operators}
          rowKey={(operator, index) => `${operator.operator}${index}`}
          columns={[
            { key: "operator", label: "operator", head: "Operator", cell: (operator) => operator.name || operator.operator },
            { key: "kind", label: "kind", head: "Kind", cell: (operator) => operator.kind },
            { key: "partitions", label: "partitions", head: "Partitions", number: true, cell: (operator) => whole(operator.partitions) },
            { key: "state", label: "state", head: "State", number: true, cell: (operator) => bytes(operator.state_bytes) },
          ]}
        />
      ) : null}
    </section>
  );
}
