import { useQuery } from "@tanstack/react-query";
import { streamsQuery } from "../../api/queries";
import { counted, either, perSecond, whole } from "../../format/numbers";
import { Button } from "../../parts/Button";
import { CommandLine } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { Figures } from "../../parts/Figures";
import { Filter } from "../../parts/Filter";
import { MoreRows } from "../../parts/MoreRows";
import { Page } from "../../parts/Page";
import { STATES, totalsOf, type Stream } from "../../streams/stream";
import { CreateLink } from "./CreateLink";
import { StreamsTable } from "./StreamsTable";
import { EVERY_STREAM, isAsked, sortedStreams, useStreamsAsked } from "./useStreamsAsked";

/** Every stream: what state it is in and why, and how its queries go. */
export function Streams() {
  const query = useQuery(streamsQuery);
  return (
    <Page
      title="Streams"
      actions={<CreateLink main />}
      under={<p className="dim">Jobs of SQL and PySpark that the service starts, watches, and starts again; and links, which copy clusters.</p>}
    >
      <Fetched query={query} what="the streams">
        {(found) => (found.length === 0 ? <NoStreams /> : <Shown streams={found} />)}
      </Fetched>
    </Page>
  );
}

const NoStreams = () => (
  <div className="panel">
    <Empty title="No stream has been saved yet">
      <p className="dim">A stream is a script of SQL, or a file of PySpark, under a name. Write one here, or save a file; nothing runs before it is started.</p>
      <CreateLink />
      <CommandLine text="anabranch stream create NAME job.sql" />
      <CommandLine text="anabranch stream start NAME" />
    </Empty>
  </div>
);

function Shown({ streams }: { streams: readonly Stream[] }) {
  const [asked, change] = useStreamsAsked();
  const rows = sortedStreams(streams, asked);
  return (
    <>
      <Sums streams={streams} />
      <section className="panel" aria-label="All streams">
        <div className="filters">
          <Filter label="Filter by name, kind, owner or description" value={asked.text} change={(text) => change({ text })} />
          <select
            className="input"
            aria-label="State"
            value={asked.state}
            onChange={(event) => change({ state: event.target.value as typeof asked.state })}
          >
            <option value="">every state</option>
            {STATES.map((state) => (
              <option key={state} value={state}>
                {state}
              </option>
            ))}
          </select>
          <span className="dim small" role="status">
            {rows.length === streams.length ? counted(rows.length, "stream") : `${whole(rows.length)} of ${counted(streams.length, "stream")}`}
          </span>
        </div>
        {rows.length === 0 ? (
          <Empty title="No stream is as the filter wants it">
            <Button act={() => change(EVERY_STREAM)}>Show every stream</Button>
          </Empty>
        ) : (
          <MoreRows rows={rows} what="streams">
            {(shown) => (
              <div className="flush">
                <StreamsTable streams={shown} asked={asked} change={change} />
              </div>
            )}
          </MoreRows>
        )}
        {isAsked(asked) ? null : <CommandLine text="anabranch stream list" />}
      </section>
    </>
  );
}

function Sums({ streams }: { streams: readonly Stream[] }) {
  const of = (...states: Stream["state"][]) => streams.filter((one) => states.includes(one.state)).length;
  const totals = totalsOf(streams.flatMap((one) => one.queries));
  const queries = streams.reduce((sum, one) => sum + one.queries.length, 0);
  const bad = of("failed", "lost", "degraded");
  return (
    <Figures
      figures={[
        { label: "Running", value: whole(of("running")), note: `of ${counted(streams.length, "stream")}` },
        { label: "Failed, lost or degraded", value: whole(bad), note: bad ? `${either(bad, "it has", "each has")} its reason below` : "nothing to look at" },
        { label: "Rows", value: totals.rate === null ? "none" : perSecond(totals.rate), note: `of ${counted(queries, "query", "queries")}` },
        { label: "Lag", value: totals.lag === null ? "none" : whole(totals.lag), note: "records of Kafka" },
      ]}
    />
  );
}
