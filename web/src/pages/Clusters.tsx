import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, told, type Schemas } from "../api/client";
import { clustersQuery } from "../api/queries";
import { command } from "../format/command";
import { counted, whole } from "../format/numbers";
import { ReadAge } from "../parts/Age";
import { Badge } from "../parts/Badge";
import { Button } from "../parts/Button";
import { CommandLine } from "../parts/CopyButton";
import { Dialog } from "../parts/Dialog";
import { Empty } from "../parts/Empty";
import { Facts } from "../parts/Facts";
import { Fetched } from "../parts/Fetched";
import { Page } from "../parts/Page";
import { ProblemNotice, ProblemOf } from "../parts/ProblemNotice";
import { Reasons } from "../parts/Reasons";
import { Table } from "../parts/Table";
import { mayAs, useMe } from "../session/me";

type Cluster = Schemas["ClusterAnswer"];

export function Clusters() {
  const query = useQuery(clustersQuery);
  return (
    <Page title="Clusters" under={query.data ? <p className="dim small">From {query.data.file}</p> : null}>
      <Fetched query={query} what="the clusters">
        {(data) => (
          <>
            {data.problem ? <ProblemOf problem={data.problem} title="The contexts file could not be read again" tone="warn" /> : null}
            <section className="panel" aria-label="Contexts">
              {data.clusters.length ? (
                <div className="flush">
                  <Rows clusters={data.clusters} target={data.target} />
                </div>
              ) : (
                <Empty title="The contexts file names no cluster">
                  <p className="dim">Add one on the service&#8217;s machine; the service reads the file again by itself.</p>
                  <CommandLine text="anabranch context add NAME --bootstrap HOST:9092" />
                </Empty>
              )}
            </section>
          </>
        )}
      </Fetched>
    </Page>
  );
}

function Rows({ clusters, target }: { clusters: readonly Cluster[]; target: string | null }) {
  const me = useMe();
  const [probed, setProbed] = useState<string | null>(null);
  const why = mayAs(me, "operator") ? null : `${me.account} has the role ${me.role}; a probe needs the role operator`;
  return (
    <>
      <Table
        caption="Clusters"
        rows={clusters}
        rowKey={(row) => row.name}
        columns={[
          {
            key: "name",
            label: "context",
            head: "Context",
            cell: (row) => (
              <>
                <strong>{row.name}</strong>
                {row.name === target ? <span className="dim small"> chosen target</span> : null}
              </>
            ),
          },
          { key: "health", label: "health", head: "Health", cell: (row) => <Health cluster={row} /> },
          { key: "links", label: "links", head: "Links", number: true, cell: (row) => whole(row.links) },
          {
            key: "bootstrap",
            label: "addresses",
            head: "Addresses",
            cell: (row) => <span className="anywhere">{row.bootstrap.join(", ")}</span>,
          },
          {
            key: "security",
            label: "security",
            head: "Security",
            cell: (row) => [row.protocol, row.mechanism].filter(Boolean).join(", "),
          },
          {
            key: "read",
            label: "read",
            head: "Read",
            cell: (row) => <ReadAge ms={row.read_at_ms} problem={row.problem} />,
          },
          {
            key: "probe",
            label: "probe",
            head: <span className="hidden">Actions</span>,
            cell: (row) => (
              <Button little why={why} act={() => setProbed(row.name)}>
                Probe <span className="hidden">{row.name}</span>
              </Button>
            ),
          },
        ]}
      />
      {probed === null ? null : <Probe name={probed} close={() => setProbed(null)} />}
    </>
  );
}

const Health = ({ cluster }: { cluster: Cluster }) =>
  cluster.problem !== null ? (
    <div>
      <Badge tone="bad" shape="cross">
        not read
      </Badge>
      <div className="small anywhere">{cluster.problem.detail}</div>
      <div className="small dim anywhere">What to do: {cluster.problem.hint}</div>
    </div>
  ) : cluster.health === null ? (
    <Badge tone="idle" shape="ring">
      not read yet
    </Badge>
  ) : (
    <Whole health={cluster.health} />
  );

function Whole({ health }: { health: Schemas["ClusterHealth"] }) {
  const lacks = [
    health.missing.length ? `${counted(health.missing.length, "broker")} missing: ${health.missing.join(", ")}` : "",
    health.offline ? `${counted(health.offline, "partition")} without a leader` : "",
    health.under_replicated ? `${counted(health.under_replicated, "partition")} under-replicated` : "",
  ].filter(Boolean);
  return (
    <div>
      <Badge tone={health.offline ? "bad" : lacks.length ? "warn" : "ok"} shape={lacks.length ? "cross" : "dot"}>
        {lacks.length ? "impaired" : "healthy"}
      </Badge>
      {lacks.map((one) => (
        <div key={one} className="small anywhere">
          {one}
        </div>
      ))}
      <div className="small dim">
        {counted(health.brokers, "broker")}, {counted(health.topics, "topic")}, {counted(health.partitions, "partition")}
      </div>
    </div>
  );
}

function Probe({ name, close }: { name: string; close: () => void }) {
  const probe = useMutation({
    mutationFn: () => told(client.POST("/api/v1/clusters/{target}/probe", { params: { path: { target: name } } })),
  });
  const begin = () => probe.mutate();
  return (
    <Dialog
      title={`Probe ${name}`}
      close={close}
      foot={
        <>
          <Button act={close}>Close</Button>
          <Button kind="main" why={probe.isPending ? "it runs" : null} act={begin}>
            {probe.isIdle ? "Connect" : "Connect again"}
          </Button>
        </>
      }
    >
      {probe.isIdle ? (
        <p>Connects as a link would: with the context&#8217;s addresses and account. Nothing is changed.</p>
      ) : null}
      {probe.isPending ? <p role="status">Connecting; this takes 30 seconds at most …</p> : null}
      {probe.isError ? <ProblemNotice error={probe.error} again={begin} /> : null}
      {probe.data ? <Probed probe={probe.data} /> : null}
      <CommandLine text={command(["context", "test", name])} />
    </Dialog>
  );
}

function Probed({ probe }: { probe: Schemas["ContextProbe"] }) {
  if (probe.error) {
    return (
      <div className="notice bad" role="alert">
        <div className="notice-title">{probe.error}</div>
        {probe.hint ? <p className="dim">What to do: {probe.hint}</p> : null}
      </div>
    );
  }
  return (
    <div className="stack">
      <Facts
        facts={[
          ["cluster id", <code key="id">{probe.cluster_id}</code>],
          ["Kafka", probe.version],
          ["brokers", whole(probe.brokers)],
          ["principal", probe.principal || "not told"],
        ]}
      />
      <Missing as="source" missing={probe.as_source} />
      <Missing as="target" missing={probe.as_target} />
    </div>
  );
}

const Missing = ({ as, missing }: { as: string; missing: readonly Schemas["Reason"][] }) => (
  <section className="stack">
    <div className="row">
      <h3>As a link&#8217;s {as}</h3>
      {missing.length ? (
        <Badge tone="bad" shape="cross">
          {counted(missing.length, "thing")} missing
        </Badge>
      ) : (
        <Badge tone="ok" shape="check">
          nothing is missing
        </Badge>
      )}
    </div>
    {missing.length ? <Reasons reasons={missing} /> : null}
  </section>
);
