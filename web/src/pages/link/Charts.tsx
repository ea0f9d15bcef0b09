import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Schemas } from "../../api/client";
import { historyQuery } from "../../api/queries";
import { Chart, type Series } from "../../charts/Chart";
import { brief, compact, compactBrief, compactSeconds, counted, perSecond, rate, seconds, whole } from "../../format/numbers";
import { moment } from "../../format/times";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { Table } from "../../parts/Table";

interface Props {
  target: string;
  link: string;
}

/** Of their own file: what draws them is asked for when somebody looks at them. */
export default function Charts({ target, link }: Props) {
  const query = useQuery(historyQuery(target, link));
  return (
    <section aria-label="Charts" className="stack-wide">
      <Fetched query={query} what="the last hour">
        {(data) =>
          data.samples.length < 2 ? (
            <div className="panel">
              <Empty title="There is nothing to draw yet">
                <p className="dim">The service keeps an hour, a point each ten seconds, from when it started.</p>
              </Empty>
            </div>
          ) : (
            <Drawn samples={data.samples} />
          )
        }
      </Fetched>
    </section>
  );
}

type Sample = Schemas["Sample"];

interface Spec extends Omit<Series, "values"> {
  title: string;
  /** What exactly is measured. */
  hint: string;
  name: "records_per_s" | "bytes_per_s" | "lag_records" | "lag_seconds" | "latency_ms";
}

/** Whole seconds, minutes and hours. */
const TIMES = [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400, 604_800];

const SERIES: readonly Spec[] = [
  {
    title: "Records a second",
    hint: "Copied by all lanes together; each lane's rate is a mean over some seconds.",
    label: "records",
    name: "records_per_s",
    shown: perSecond,
    short: compact,
  },
  {
    title: "Bytes a second",
    hint: "The same records as the source stores them, mostly compressed.",
    label: "bytes",
    name: "bytes_per_s",
    shown: rate,
    short: (value) => `${compact(value)}B`,
  },
  {
    title: "Lag in records",
    hint: "Source offsets that all lanes together have not copied yet; what open transactions hold back does not count.",
    label: "records",
    name: "lag_records",
    shown: whole,
    short: compact,
  },
  {
    title: "Lag in seconds",
    hint:
      "Of the worst lane: the age, by the records' own timestamps, of the oldest batch that is not on the target yet; 0 where " +
      "none waits. Records of last year are a year old until they are copied.",
    label: "behind",
    name: "lag_seconds",
    shown: seconds,
    short: compactSeconds,
    steps: TIMES,
  },
  {
    title: "Latency",
    hint:
      "Of the slowest lane: from a record's own timestamp until the target acknowledged it, the longest of the last second, " +
      "drawn by powers of ten. Not known where nothing was copied; where old records are copied, it is their age.",
    label: "latency",
    name: "latency_ms",
    shown: brief,
    short: compactBrief,
    least: 0.001,
  },
];

/** Of what is measured in milliseconds seconds are drawn. */
function valueOf(sample: Sample, name: Spec["name"]): number | null {
  const value = sample[name];
  return name === "latency_ms" && value !== null ? value / 1000 : value;
}

function Drawn({ samples }: { samples: readonly Sample[] }) {
  const drawn = useMemo(() => {
    const times = samples.map((sample) => sample.at_ms / 1000);
    return SERIES.map(({ title, hint, name, ...series }) => {
      const { shown } = series;
      const values = samples.map((sample) => valueOf(sample, name));
      const known = values.filter((value): value is number => value !== null);
      const last = values[values.length - 1] ?? null;
      const most = known.length ? Math.max(...known) : null;
      const missing = values.length - known.length;
      const summary = `now ${shown(last)}, at most ${shown(most)}${missing ? `, not known for ${counted(missing, "point")}` : ""}`;
      return { title, hint, times, summary, series: { ...series, values } };
    });
  }, [samples]);
  return (
    <>
      <div className="columns">
        {drawn.map((one) => (
          <Chart key={one.title} {...one} />
        ))}
      </div>
      <div className="panel">
        <details>
        <summary>The same as a table, in UTC</summary>
        <Table
          caption="The last hour"
          rows={[...samples].reverse()}
          rowKey={(sample) => String(sample.at_ms)}
          columns={[
            { key: "at", label: "UTC", head: "UTC", cell: (sample) => moment(sample.at_ms) },
            ...SERIES.map(({ title, name, shown }) => ({
              key: name,
              label: title.toLowerCase(),
              head: title,
              number: true,
              cell: (sample: Sample) => shown(valueOf(sample, name)),
            })),
          ]}
        />
        </details>
      </div>
    </>
  );
}
