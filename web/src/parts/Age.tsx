import { ago, moment, until } from "../format/times";
import { useNow } from "../live/ticker";

/** How long ago something was; the moment itself in UTC is its title. */
export function Age({ ms, absolute = false }: { ms: number | null | undefined; absolute?: boolean }) {
  const now = useNow();
  if (ms == null) return <span className="dim">never</span>;
  const words = ms > now + 2_000 ? until(ms, now) : ago(ms, now);
  return (
    <time dateTime={new Date(ms).toISOString()} title={moment(ms)} className="nowrap">
      {absolute ? `${moment(ms)}, ${words}` : words}
    </time>
  );
}

const OLD_MS = 15_000;

/** When something was read, which stands out where that is long ago or nothing newer can be known. */
export function ReadAge({ ms, problem }: { ms: number | null | undefined; problem?: { detail: string } | null }) {
  const now = useNow();
  if (ms == null) return <span className="small dim nowrap">not read yet</span>;
  const old = problem != null || now - ms > OLD_MS;
  return (
    <span className={`small nowrap ${old ? "old strong" : "dim"}`} title={problem?.detail ?? moment(ms)}>
      {old ? "stale: " : ""}read {ago(ms, now)}
    </span>
  );
}
