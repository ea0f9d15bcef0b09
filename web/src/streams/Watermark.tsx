import { moment } from "../format/times";
import { Age } from "../parts/Age";

/** Up to when a query waits for late rows, and how long ago that is. */
export function Watermark({ at, absolute = false }: { at: string | null; absolute?: boolean }) {
  const ms = at === null ? Number.NaN : Date.parse(at);
  if (at === null) return <span className="dim">none</span>;
  // A query that has seen no row yet has the beginning of time.
  if (Number.isNaN(ms) || ms <= 0) return <span className="dim">no row yet</span>;
  return absolute ? (
    <>
      {moment(ms)}, <Age ms={ms} />
    </>
  ) : (
    <Age ms={ms} />
  );
}
