import { Link } from "wouter";
import { perSecond, seconds, whole } from "../../format/numbers";
import { Age } from "../../parts/Age";
import { Table } from "../../parts/Table";
import { streamPath, type Stream, type StreamQuery } from "../../streams/stream";
import { Watermark } from "../../streams/Watermark";

const shown = (value: number | null, words: (value: number) => string = whole) =>
  value === null ? <span className="dim">none</span> : words(value);

/** Each query as it was told last. */
export const QueriesTable = ({ stream }: { stream: Stream }) => (
  <Table
    caption="Queries"
    rows={stream.queries}
    rowKey={(one) => one.query}
    columns={[
      { key: "query", label: "query", head: "Query", cell: (one) => <Name stream={stream} query={one} /> },
      { key: "rate", label: "rows", head: "Rows", number: true, cell: (one) => shown(one.rows_per_second, perSecond) },
      { key: "lag", label: "lag", head: "Lag", number: true, cell: (one) => shown(one.lag) },
      { key: "watermark", label: "watermark", head: "Watermark", number: true, cell: (one) => <Watermark at={one.watermark} /> },
      { key: "batch", label: "batch", head: "Batch", number: true, cell: (one) => shown(one.batch) },
      { key: "took", label: "took", head: "Took", number: true, cell: (one) => shown(one.batch_ms, (ms) => seconds(ms / 1000)) },
      { key: "in", label: "rows in", head: "Rows in", number: true, cell: (one) => shown(one.rows_in) },
      { key: "out", label: "rows out", head: "Rows out", number: true, cell: (one) => shown(one.rows_out) },
      { key: "state", label: "state rows", head: "State rows", number: true, cell: (one) => shown(one.state_rows) },
      { key: "retries", label: "retries, errors of its sink", head: "Retries", number: true, cell: (one) => <OfSink query={one} /> },
      { key: "told", label: "told", head: "Told", number: true, cell: (one) => <Told query={one} /> },
    ]}
  />
);

const Name = ({ stream: { name, running_version: runs }, query }: { stream: Stream; query: StreamQuery }) => (
  <div className="told">
    <Link href={`${streamPath(name, "script")}?${runs === null ? "" : `version=${runs}&`}line=${query.line}`} className="strong">
      {query.query}
    </Link>
    <div className="small dim">
      {query.connector}
      {query.table === query.query ? "" : `, table ${query.table}`}, line {query.line}
    </div>
  </div>
);

function Told({ query }: { query: StreamQuery }) {
  const ms = Date.parse(query.told_at);
  return Number.isNaN(ms) ? <span className="dim">not yet</span> : <Age ms={ms} />;
}

const OfSink = ({ query: { retries, errors } }: { query: StreamQuery }) =>
  retries === null ? <span className="dim">unknown</span> : <>{errors ? `${whole(retries)}, ${whole(errors)} failed` : whole(retries)}</>;
