import { useEffect, useRef } from "react";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useIsDark } from "../session/theme";

export interface Series {
  label: string;
  values: readonly (number | null)[];
  shown: (value: number | null) => string;
  /** The same, short, for the axis. */
  short: (value: number | null) => string;
  /** What the axis may step by; usually powers of ten and their halves. */
  steps?: readonly number[];
  /** The axis goes by powers of ten from this value on, which smaller ones are drawn at. */
  least?: number;
}

interface Props {
  title: string;
  /** What exactly is measured. */
  hint: string;
  times: readonly number[];
  series: Series;
  summary: string;
}

const HEIGHT = 210;

const linear = (): UPlot.Scale => ({ range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] });

const byPowers = (least: number): UPlot.Scale => ({
  distr: 3,
  range: (_, __, most) => [least, 10 ** Math.ceil(Math.log10(Math.max(most, 10 * least)))],
});

const powersOfTen = (from: number, to: number): number[] =>
  Array.from({ length: Math.round(Math.log10(to / from)) + 1 }, (_, at) => from * 10 ** at);

const drawn = ({ values, least }: Series) =>
  least === undefined ? [...values] : values.map((value) => (value === null ? null : Math.max(value, least)));

/** A line over UTC time; what was not known is a gap in it. */
export function Chart({ title, hint, times, series, summary }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const dark = useIsDark();
  const data = useRef<UPlot.AlignedData>([[], []]);
  data.current = [[...times], drawn(series)];
  const values = useRef(series.values);
  values.current = series.values;
  const shown = useRef(series.shown);
  shown.current = series.shown;
  const short = useRef(series.short);
  short.current = series.short;
  const under = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const found = box.current;
    if (found === null) return undefined;
    const colour = (name: string) => resolved(found, name);
    const grid = { stroke: colour("--line"), width: 1 };
    const made = new UPlot(
      {
        width: found.clientWidth,
        height: HEIGHT,
        tzDate: (at) => UPlot.tzDate(new Date(at * 1000), "UTC"),
        cursor: { sync: { key: "hour" }, y: false },
        scales: { y: series.least === undefined ? linear() : byPowers(series.least) },
        legend: { show: false },
        hooks: {
          setCursor: [
            (one) => {
              const at = one.cursor.idx;
              const told = under.current;
              if (told !== null) told.textContent = at == null ? "" : `${clock(one.data[0][at] ?? 0, 19)}Z: ${shown.current(values.current[at] ?? null)}`;
            },
          ],
        },
        series: [
          {},
          {
            label: series.label,
            stroke: colour("--accent"),
            fill: colour("--accent-ground"),
            width: 1.5,
            points: { show: false },
          },
        ],
        axes: [
          {
            stroke: colour("--dim"),
            grid,
            ticks: grid,
            font: "12px system-ui",
            size: 34,
            space: 70,
            // Seconds where the lines of the grid are less than a minute apart.
            values: (_, splits, __, ___, step) => splits.map((at) => clock(at, step < 60 ? 19 : 16)),
          },
          {
            stroke: colour("--dim"),
            grid,
            ticks: grid,
            font: "12px system-ui",
            size: (_, labels) => 20 + 7 * Math.max(4, ...(labels ?? []).map((label) => label.length)),
            values: (_, splits) => splits.map((value) => short.current(value)),
            ...(series.steps ? { incrs: [...series.steps] } : {}),
            ...(series.least === undefined ? {} : { splits: (_, __, from, to) => powersOfTen(from, to) }),
          },
        ],
      },
      data.current,
      found,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: found.clientWidth, height: HEIGHT }));
    observer.observe(found);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [dark, series.label, series.steps, series.least]);
  useEffect(() => {
    plot.current?.setData(data.current);
  }, [times, series.values]);
  return (
    <figure className="panel">
      <figcaption className="row">
        <h2>{title}</h2>
        <span className="dim small">{summary}</span>
        <span className="small strong" ref={under} aria-hidden="true" />
      </figcaption>
      <div className="chart" ref={box} role="img" aria-label={`${title}: ${summary}`} />
      <p className="dim small">{hint}</p>
    </figure>
  );
}

const clock = (at: number, end: number): string => new Date(at * 1000).toISOString().slice(11, end);

/** A custom property as the colour that it is in the present theme. */
function resolved(near: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  near.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
