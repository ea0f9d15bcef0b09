import { bytes, counted, seconds, whole } from "../format/numbers";
import { isOver, type Trial, type TriedQuery } from "./trial";

/** Where a look at a script stands, and which limit has ended it, in a sentence. */
export function trialWords(trial: Trial, rows: number): string {
  const { state, kind, ahead, limits } = trial;
  const most = `${whole(limits.rows)} rows, ${bytes(limits.bytes)} or ${seconds(limits.seconds)} at most`;
  switch (state) {
    case "waiting":
      return ahead === 0 ? "It waits for a place, and is the next one." : `It waits for a place: ${counted(ahead, "other is", "others are")} before it.`;
    case "starting":
      return "Spark starts, in a process of its own: that takes some seconds.";
    case "running":
      return kind === "preview" ? `It reads: ${counted(rows, "row")} so far, ${most}.` : "Spark looks at the script.";
    case "failed":
      return trial.why || "It has failed.";
    case "stopped":
      return trial.why ? `It was stopped: ${trial.why}.` : "It was stopped.";
    default:
      if (kind === "checkpoints") return triedWords(trial.tried ?? []);
      return kind === "preview" ? previewEnd(trial, rows) : "Spark finds nothing wrong with it.";
  }
}

/** Whether a start of what was tried goes on. */
export function triedWords(tried: readonly Pick<TriedQuery, "result">[]): string {
  const stands = tried.filter(({ result }) => result === "changed" || result === "refused").length;
  if (stands === 0) return "A start goes on with the checkpoints that there are.";
  return `A start is refused: ${counted(stands, "query does not go on as it is", "queries do not go on as they are")}.`;
}

function previewEnd({ limit, limits, why }: Trial, rows: number): string {
  switch (limit) {
    case "rows":
      return `${counted(rows, "row")}: the limit. There may be more.`;
    case "bytes":
      return `${counted(rows, "row")} of ${bytes(limits.bytes)} together: the limit. There may be more.`;
    case "seconds":
      return rows ? `${counted(rows, "row")} within ${seconds(limits.seconds)}. More may come later.` : `No row came within ${seconds(limits.seconds)}. Read from earlier, or give it longer.`;
    default:
      return why || `${counted(rows, "row")}: all that there is.`;
  }
}

/** How old an earlier answer is, in ms; null of one that was made for this question. */
export const cachedAge = (trial: Trial): number | null =>
  trial.is_cached && isOver(trial) && trial.ended_at_ms !== null ? Math.max(0, trial.now_ms - trial.ended_at_ms) : null;
