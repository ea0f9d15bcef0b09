import { share } from "../format/numbers";

/** The share that was copied, as a bar and in words. */
export function Share({ done }: { done: number | null }) {
  return (
    <span className="share">
      <span className={`bar${done === 1 ? " done" : ""}`} aria-hidden="true">
        <i style={{ width: `${(done ?? 0) * 100}%` }} />
      </span>
      <span>{share(done)}</span>
    </span>
  );
}
