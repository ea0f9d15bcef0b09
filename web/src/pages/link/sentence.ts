import type { Schemas } from "../../api/client";
import { counted, either, seconds, whole } from "../../format/numbers";

/** A link's state as a person would say it, with the next step where one is due. */
export function stateSentence({ summary, record }: Schemas["LinkAnswer"]): string {
  const { totals } = summary;
  const parts: string[] = [];
  if (summary.ending) parts.push("The run was told to end: its workers give their lanes back.");
  else if (!summary.running) {
    parts.push(
      totals.lanes
        ? "The link does not run: no worker has reported for a minute. Run it, and it goes on exactly at its positions."
        : "The link has never run. Run it, and its lanes appear here.",
    );
  } else if (summary.paused) parts.push("The link is paused: its workers keep their lanes and read nothing.");
  else if (totals.complete) parts.push("The link has caught up: every lane follows the source's end.");
  else if (totals.lag_records !== null) {
    const left = `${whole(totals.lag_records)} records are left to copy`;
    parts.push(totals.eta_seconds === null ? `${left}.` : `${left}, in about ${seconds(totals.eta_seconds)} at the present rate.`);
  } else parts.push(`Of ${counted(totals.unknown, "lane")} the source's end is not known, and so the lag is not.`);
  if (summary.stopped) {
    parts.push(
      `${counted(summary.stopped, "lane")} ${either(summary.stopped, "has", "have")} stopped at an offset that needs a decision; the others go on.`,
    );
  }
  if (totals.missing) parts.push(`${counted(totals.missing, "lane")} ${either(totals.missing, "has", "have")} not begun.`);
  if (summary.runs.length) parts.push(`${summary.runs.join(", ")} ${either(summary.runs.length, "runs", "run")} it.`);
  if (record.wanted.paused && !summary.running) parts.push("It is paused, too.");
  return parts.join(" ");
}
