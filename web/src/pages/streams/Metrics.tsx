import { lazy, Suspense } from "react";
import { Waiting } from "../../parts/Waiting";
import type { TabProps } from "./StreamPage";

/** What draws charts is asked for when somebody looks at them. */
const Charts = lazy(() => import("./Charts"));

const METRICS: readonly (readonly [string, string])[] = [
  ["anabranch_stream_state", "1 for the state that it is in"],
  ["anabranch_stream_starts_total", "its starts"],
  ["anabranch_stream_batch_rows_in", "rows that the last micro-batch read"],
  ["anabranch_stream_rows_per_second", "rows that a query processes in a second"],
  ["anabranch_stream_batch_milliseconds", "how long the last micro-batch took"],
  ["anabranch_stream_lag_records", "records of Kafka behind it"],
  ["anabranch_stream_state_rows", "rows in its state"],
  ["anabranch_stream_source_records_total", "records that were read, by source"],
  ["anabranch_stream_source_lag_records", "records of Kafka behind it, by source"],
  ["anabranch_stream_sink_records_total", "records that its sinks have taken"],
  ["anabranch_stream_sink_bytes_total", "bytes that its sinks have taken, where they are known"],
  ["anabranch_stream_sink_errors_total", "batches that a sink has not taken"],
  ["anabranch_stream_sink_retries_total", "how often a request to a sink was tried again"],
  ["anabranch_stream_failures_total", "its runs that failed"],
];

/** Figures over time since this page was opened, and where their whole past is. */
export const Metrics = ({ answer: { stream } }: TabProps) => (
  <>
    <Suspense fallback={<Waiting what="the charts" />}>
      <Charts name={stream.name} />
    </Suspense>
    <section className="panel" aria-label="For Prometheus">
      <h2>For Prometheus</h2>
      <p className="dim">
        The service keeps no past of a stream. It tells these at <code>/metrics</code>, each with the label <code>stream=&quot;{stream.name}&quot;</code>:
      </p>
      <ul className="stack">
        {METRICS.map(([name, what]) => (
          <li key={name}>
            <code className="anywhere">{name}</code> <span className="dim">{what}</span>
          </li>
        ))}
      </ul>
    </section>
  </>
);
