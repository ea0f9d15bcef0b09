import type { Schemas } from "../api/client";
import { perSecond } from "../format/numbers";

/** A link's records a second in the last hour; nothing is drawn where nothing was known. */
export function Sparkline({ samples }: { samples: readonly Schemas["Sample"][] }) {
  if (samples.length < 2) return <span className="dim small">no past yet</span>;
  const last = samples[samples.length - 1] as Schemas["Sample"];
  const begin = last.at_ms - 3_600_000;
  const most = Math.max(...samples.map((sample) => sample.records_per_s), 1e-9);
  const points = samples.map((one) => [
    Math.max(0, ((one.at_ms - begin) / 3_600_000) * 120).toFixed(1),
    (23 - (one.records_per_s / most) * 21).toFixed(1),
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
