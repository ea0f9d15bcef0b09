import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link } from "wouter";
import type { Schemas } from "../api/client";
import { clustersQuery, linksQuery } from "../api/queries";
import { Sparkline } from "../charts/Sparkline";
import { bytes, counted, perSecond, rate, seconds, UNKNOWN, whole } from "../format/numbers";
import { ReadAge } from "../parts/Age";
import { Badge } from "../parts/Badge";
import { Button } from "../parts/Button";
import { Empty } from "../parts/Empty";
import { Fetched } from "../parts/Fetched";
import { Figures } from "../parts/Figures";
import { Page } from "../parts/Page";
import { Share } from "../parts/Share";
import { Sort } from "../parts/Sort";
import { LinkBadge, linkState } from "../parts/states";
import { Table, type Column } from "../parts/Table";
import { mayAs, useMe } from "../session/me";
import { NoCluster } from "./NoCluster";
import { Unread } from "./Unread";

type Row = Schemas["LinkSummary"];
type Order = "link" | "state" | "lag" | "behind" | "rate" | "done";

const TONES = ["bad", "warn", "busy", "idle", "ok"];
const KEYS: Record<Order, (row: Row) => number | string> = {
  link: (row) => `${row.id} ${row.target}`,
  state: (row) => TONES.indexOf(linkState(row).tone),
  lag: (row) => row.totals.lag_records ?? Infinity,
  behind: (row) => row.totals.lag_seconds ?? Infinity,
  rate: (row) => row.totals.records_per_s,
  done: (row) => row.totals.done ?? -1,
};

export function Links() {
  const query = useQuery(linksQuery);
  const me = useMe();
  return (
    <Page
      title="Links"
      actions={
        mayAs(me, "operator") ? (
          <Link href="/links/create" className="button main">
            Create a link
          </Link>
        ) : (
          <button
            type="button"
            className="button main"
            aria-disabled
            title={`${me.account} has the role ${me.role}; plans need the role operator`}
          >
            Create a link
          </button>
        )
      }
    >
      <Fetched query={query} what="the links">
        {(data) => <Shown data={data} />}
      </Fetched>
    </Page>
  );
}

function Shown({ data }: { data: Schemas["LinksAnswer"] }) {
  const [text, setText] = useState("");
  const [order, setOrder] = useState<Order>("link");
  const [descending, setDescending] = useState(false);
  const rows = useMemo(() => {
    const found = data.links.filter((row) => `${row.id} ${row.source} ${row.target}`.includes(text.trim()));
    const key = KEYS[order];
    found.sort((a, b) => compare(key(a), key(b)) || a.id.localeCompare(b.id));
    return descending ? found.reverse() : found;
  }, [data, text, order, descending]);
  const choose = (next: Order) => {
    setDescending(next === order ? !descending : next !== "link" && next !== "state");
    setOrder(next);
  };
  const head = (next: Order, label: string) => (
    <Sort label={label} active={order === next} descending={descending} choose={() => choose(next)} />
  );
  const column = (key: Order, label: string, cell: (row: Row) => React.ReactNode, number = true): Column<Row> => ({
    key,
    label: label.toLowerCase(),
    head: head(key, label),
    cell,
    number,
    sorted: order === key ? (descending ? "descending" : "ascending") : undefined,
  });
  const columns: Column<Row>[] = [
    column(
      "link",
      "Link",
      (row) => (
        <>
          <Link href={`/links/${encodeURIComponent(row.target)}/${row.id}`} className="strong">
            {row.id}
          </Link>{" "}
          <span className="dim small nowrap">
            {row.source} → {row.target}
          </span>
        </>
      ),
      false,
    ),
    column("state", "State", (row) => <LinkBadge link={row} />, false),
    column("lag", "Lag", (row) => whole(row.totals.lag_records)),
    column("behind", "Behind", (row) => seconds(row.totals.lag_seconds)),
    column("rate", "Records", (row) => perSecond(row.totals.records_per_s)),
    { key: "bytes", label: "bytes", head: "Bytes", cell: (row) => rate(row.totals.bytes_per_s), number: true },
    column("done", "Copied", (row) => <Share done={row.totals.done} />),
    { key: "lanes", label: "lanes", head: "Lanes", cell: (row) => whole(row.totals.lanes), number: true },
    {
      key: "hour",
      label: "last hour",
      head: "Last hour",
      cell: (row) => <Sparkline trend={row.trend} />,
    },
    {
      key: "read",
      label: "read",
      head: "Read",
      cell: (row) => <ReadAge ms={row.read_at_ms} problem={row.problem} />,
    },
  ];
  return (
    <>
      <Sums links={data.links} />
      <Unread clusters={data.unread} />
      <section className="panel" aria-label="All links">
        {data.links.length ? (
          <>
            <div className="filters">
              <input
                className="input"
                type="search"
                aria-label="Filter links by name or cluster"
                placeholder="Filter by name or cluster"
                value={text}
                onChange={(event) => setText(event.target.value)}
              />
              <span className="dim small" role="status">
                {rows.length === data.links.length
                  ? counted(rows.length, "link")
                  : `${whole(rows.length)} of ${counted(data.links.length, "link")}`}
              </span>
            </div>
            <div className="flush">
              {rows.length ? (
                <Table caption="Links" columns={columns} rows={rows} rowKey={(row) => `${row.target} ${row.id}`} />
              ) : (
                <Empty title={`No link has "${text}" in its name or clusters`}>
                  <Button act={() => setText("")}>Show all links</Button>
                </Empty>
              )}
            </div>
          </>
        ) : (
          <NoLink />
        )}
      </section>
    </>
  );
}

/** Without a cluster there is nothing to create a link of: that comes first. */
function NoLink() {
  const clusters = useQuery(clustersQuery);
  if (clusters.isPending) return null;
  if (clusters.data?.clusters.length === 0) return <NoCluster />;
  return (
    <Empty title="No cluster that could be read stores a link">
      <p className="dim">
        A link says what is copied from one cluster to another. Create one here, or by{" "}
        <code>anabranch link create</code>; this page shows it within seconds.
      </p>
      <p className="row">
        <Link href="/links/create" className="button">
          Create the first one
        </Link>
        <Link href="/clusters">The clusters that are known</Link>
      </p>
    </Empty>
  );
}

const compare = (a: number | string, b: number | string): number =>
  typeof a === "string" ? a.localeCompare(String(b)) : a === b ? 0 : a < Number(b) ? -1 : 1;

function Sums({ links }: { links: readonly Row[] }) {
  if (links.length === 0) return null;
  const known = links.filter((row) => row.problem === null);
  const lag = known.map((row) => row.totals.lag_records);
  const stopped = links.reduce((sum, row) => sum + row.stopped, 0);
  const lagSum = lag.reduce<number>((sum, one) => sum + (one ?? 0), 0);
  const unknown = lag.filter((one) => one === null).length + links.length - known.length;
  return (
    <Figures
      figures={[
        { label: "Links that run", value: `${whole(links.filter((row) => row.running).length)} of ${whole(links.length)}` },
        {
          label: "Lag",
          value: lag.length === unknown && unknown > 0 ? UNKNOWN : whole(lagSum),
          note: unknown ? `records; of ${counted(unknown, "link")} not known` : "records",
        },
        {
          label: "Copied now",
          value: perSecond(known.reduce((sum, row) => sum + row.totals.records_per_s, 0)),
          note: rate(known.reduce((sum, row) => sum + row.totals.bytes_per_s, 0)),
        },
        {
          label: "Copied in all",
          value: bytes(links.reduce((sum, row) => sum + row.totals.bytes, 0)),
          note: `${whole(links.reduce((sum, row) => sum + row.totals.records, 0))} records`,
        },
        {
          label: "Stopped lanes",
          value: stopped ? (
            <Badge tone="bad" shape="square">
              {whole(stopped)}
            </Badge>
          ) : (
            "0"
          ),
          note: `of ${counted(
            links.reduce((sum, row) => sum + row.totals.lanes, 0),
            "lane",
          )}`,
        },
      ]}
    />
  );
}
