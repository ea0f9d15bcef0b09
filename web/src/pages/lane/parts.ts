import type { Schemas } from "../../api/client";

export interface MapPart {
  kind: "range" | "gap";
  source: number;
  length: number;
  target: number | null;
}

/** A lane's map as ranges and the gaps between them, in the order of the source's log. */
export function mapParts(map: Schemas["LaneRanges"]): MapPart[] {
  const parts: MapPart[] = [];
  let at = map.source_start;
  for (const range of map.ranges) {
    if (range.source > at) parts.push({ kind: "gap", source: at, length: range.source - at, target: null });
    parts.push({ kind: "range", source: range.source, length: range.length, target: range.target });
    at = range.source + range.length;
  }
  if (map.source_end > at) parts.push({ kind: "gap", source: at, length: map.source_end - at, target: null });
  return parts;
}

const MOST = 400;

/** As many parts as can be told apart in a drawing: the smallest are drawn with what is beside them. */
export function drawable(parts: readonly MapPart[]): readonly MapPart[] {
  if (parts.length <= MOST) return parts;
  const lengths = parts.map((part) => part.length).sort((a, b) => b - a);
  const least = lengths[MOST] ?? 0;
  return parts.filter((part) => part.length > least);
}
