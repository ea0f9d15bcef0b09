import { useMemo } from "react";
import { Chart } from "../../charts/Chart";
import { compact, compactSeconds, perSecond, seconds, whole } from "../../format/numbers";
import { moment } from "../../format/times";
import { Empty } from "../../parts/Empty";
import { Folded } from "../../parts/Folded";
import { MoreRows } from "../../parts/MoreRows";
import { Table } from "../../parts/Table";
import { usePastOf, type StreamPoint } from "../../streams/past";

type Shown = (value: number | null) => string;

interface Spec {
  title: string;
  hint: string;
  name: "rate" | "lag" | "batchMs" | "state";
  shown: Shown;
  short: Shown;
}

const took = (words: Shown): Shown => (ms) => words(ms === null ? null : ms / 1000);

const SERIES: readonly Spec[] = [
  { title: "Rows a second", hint: "That all queries together process.", name: "rate", shown: perSecond, short: compact },
  { title: "Lag in records", hint: "Of Kafka, behind the last micro-batches of all queries together.", name: "lag", shown: whole, short: compact },
  {
    title: "Duration of a micro-batch",
    hint: "The longest of the last ones. One that takes longer than the trigger holds up the next.",
    name: "batchMs",
    shown: took(seconds),
    short: took(compactSeconds),
  },
  { title: "Rows of state", hint: "That all queries together keep for windows, joins and aggregations.", name: "state", shown: whole, short: compact },
];

/** Of their own file, with what draws them. */
export default function Charts({ name }: { name: string }) {
  const past = usePastOf(name);
  const drawn = useMemo(() => {
    const times = past.map((one) => one.at_ms / 1000);
    return SERIES.map(({ title, hint, name: field, shown, short }) => {
      const values = past.map((one) => one[field]);
      const known = values.filter((value): value is number => value !== null);
      const summary = known.length ? `now ${shown(values.at(-1) ?? null)}, at most ${shown(Math.max(...known))}` : "not told";
      return { title, hint, times, summary, series: { label: title, values, shown, short } };
    });
  }, [past]);
  if (past.length < 2) {
    return (
      <div className="panel">
        <Empty title="There is nothing to draw yet">
          <p className="dim">Charts begin when a page of this stream is opened while it runs.</p>
        </Empty>
      </div>
    );
  }
  return (
    <>
      <div className="columns">
        {drawn.map((one) => (
          <Chart key={one.title} {...one} />
        ))}
      </div>
      <div className="panel">
        <Folded summary="The same as a table, in UTC">{() => <Rows past={past} />}</Folded>
      </div>
    </>
  );
}

const Rows = ({ past }: { past: readonly StreamPoint[] }) => (
  <MoreRows rows={[...past].reverse()} what="points">
    {(rows) => (
      <Table
        caption="Since this page was opened"
        rows={rows}
        rowKey={(one) => String(one.at_ms)}
        columns={[
          { key: "at", label: "UTC", head: "UTC", cell: (one) => moment(one.at_ms) },
          ...SERIES.map(({ title, name, shown }) => ({
            key: name,
            label: title.toLowerCase(),
            head: title,
            number: true,
            cell: (one: StreamPoint) => shown(one[name]),
          })),
        ]}
      />
    )}
  </MoreRows>
);
