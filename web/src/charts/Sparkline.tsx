import type { Schemas } from "../api/client";
import { perSecond } from "../format/numbers";

/** A link's records a second in the last hour; nothing is drawn where nothing was known. */
export function Sparkline({ trend }: { trend: Schemas["Trend"] }) {
  const steps = trend.records_per_s.flatMap((rate, at) => (rate === null ? [] : [{ at, rate }]));
  if (steps.length < 2) return <span className="dim small">no past yet</span>;
  const hour = 3_600_000 / trend.step_ms;
  const before = hour - trend.records_per_s.length;
  const most = Math.max(...steps.map((step) => step.rate), 1e-9);
  const points = steps.map(({ at, rate }) => [
    ((Math.max(0, before + at) / (hour - 1)) * 120).toFixed(1),
    (23 - (rate / most) * 21).toFixed(1),
  ]);
  const line = points.map(([x, y], index) => `${index ? "L" : "M"}${x} ${y}`).join("");
  const first = points[0]?.[0] ?? "0";
  return (
    <svg className="spark" viewBox="0 0 120 24" preserveAspectRatio="none" role="img" aria-label={`${perSecond(most)} at most in the last hour`}>
      <path className="under" d={`${line}L120 24L${first} 24Z`} />
      <path d={line} />
    </svg>
  );
}
