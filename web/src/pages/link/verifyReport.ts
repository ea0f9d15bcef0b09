/** A comparison's report, as `schemas/verify-report.schema.json` has it; the API hands it on as it was stored. */
export interface ReportSide {
  topic: string;
  partition: number;
  from: number;
  since: number;
  verified_to: number;
  to: number;
  compacts: boolean;
  records: number;
  digest: string;
}

export type Counts = Readonly<Record<string, number>>;

export interface ReportLane {
  lane: string;
  verdict: "equal" | "different" | "unknown";
  source: ReportSide;
  target: ReportSide;
  bytes: number;
  chunks_not_named: number;
  counts: Counts;
}

export interface ReportSample {
  lane: string;
  kind: string;
  source_offset: number | null;
  target_offset: number | null;
  fields: readonly string[];
  contents: Readonly<Record<string, string>> | null;
}

export interface Report {
  verdict: "equal" | "different" | "unknown";
  run: string;
  started_at_ms: number;
  finished_at_ms: number;
  reader: string;
  levels: string;
  records_read: number;
  bytes_read: number;
  records_per_s: number;
  counts: Counts;
  lanes: readonly ReportLane[];
  not_compared: readonly { lane: string; reason: string }[];
  samples: readonly ReportSample[];
}

/** The kinds that were found, with how many records. */
export const foundOf = (counts: Counts): [string, number][] =>
  Object.entries(counts).filter(([, number]) => number > 0).map(([kind, number]) => [kind.replaceAll("_", " "), number]);
