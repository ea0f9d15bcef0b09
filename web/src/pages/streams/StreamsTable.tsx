import type { ReactNode } from "react";
import { Link } from "wouter";
import { perSecond, seconds, whole } from "../../format/numbers";
import { Age } from "../../parts/Age";
import { Sort } from "../../parts/Sort";
import { StreamBadge } from "../../parts/states";
import { Table, type Column } from "../../parts/Table";
import { linkPath } from "../link/path";
import { streamPath, totalsOf, type Stream, type StreamTotals } from "../../streams/stream";
import { Watermark } from "../../streams/Watermark";
import type { Order, StreamsAsked } from "./useStreamsAsked";

interface Props {
  streams: readonly Stream[];
  asked: StreamsAsked;
  change: (change: Partial<StreamsAsked>) => void;
}

const none = <span className="dim">none</span>;

/** A stream a row; its figures are those of its queries together. */
export function StreamsTable({ streams, asked: { order, descending }, change }: Props) {
  const choose = (next: Order) =>
    change({ order: next, descending: next === order ? !descending : !["name", "kind", "state"].includes(next) });
  const column = (key: Order, label: string, cell: (row: Stream) => ReactNode, number = true): Column<Stream> => ({
    key,
    label: label.toLowerCase(),
    head: <Sort label={label} active={order === key} descending={descending} choose={() => choose(key)} />,
    cell,
    number,
    sorted: order === key ? (descending ? "descending" : "ascending") : undefined,
  });
  return (
    <Table
      caption="Streams"
      rows={streams}
      rowKey={(one) => `${one.kind === "link" ? one.target : ""} ${one.name}`}
      columns={[
        column("name", "Stream", (one) => <Name stream={one} />, false),
        column("kind", "Kind", (one) => one.kind, false),
        column("state", "State", (one) => <State stream={one} />, false),
        column("version", "Version", (one) => <Version stream={one} />, false),
        column("rate", "Rows", (one) => told(one, ({ rate }) => shown(rate, perSecond))),
        column("lag", "Lag", (one) => told(one, ({ lag }) => shown(lag, whole))),
        column("batch", "Batch", (one) => told(one, ({ batchMs }) => shown(batchMs, (ms) => seconds(ms / 1000)))),
        column("watermark", "Watermark", (one) => told(one, ({ watermark }) => <Watermark at={watermark} />)),
        column("starts", "Starts", (one) => (one.kind === "link" ? null : whole(one.starts))),
      ]}
    />
  );
}

/** Nothing of a stream that tells of no query. */
const told = (stream: Stream, words: (totals: StreamTotals) => ReactNode): ReactNode =>
  stream.queries.length ? words(totalsOf(stream.queries)) : null;

const shown = (value: number | null, words: (value: number) => string): ReactNode => (value === null ? none : words(value));

/** A link leads to its own page. */
const Name = ({ stream: { name, kind, target, description, owner } }: { stream: Stream }) => (
  <div className="told">
    <Link href={kind === "link" ? linkPath(target, name) : streamPath(name)} className="strong">
      {name}
    </Link>
    <div className="small dim">{[description, owner].filter(Boolean).join("; ")}</div>
  </div>
);

const State = ({ stream: { state, why, since_ms: since } }: { stream: Stream }) => (
  <div className="told">
    <StreamBadge state={state} /> {since === null ? null : <span className="small dim nowrap"><Age ms={since} /></span>}
    {why ? <div className="small clipped">{why}</div> : null}
  </div>
);

/** The version that runs, and the one that the next start runs where it is another. */
const Version = ({ stream: { kind, running_version: runs, published } }: { stream: Stream }) =>
  kind === "link" ? null : runs === null ? (
    <span className="dim">{published}</span>
  ) : runs === published ? (
    <>{runs}</>
  ) : (
    <>
      {runs}, <span className="old">next {published}</span>
    </>
  );
