import type { Problem } from "../api/problem";

/** Where in a script something is wrong, from 1; the column is 0 where only the line is known. */
export interface Place {
  line: number;
  column: number;
}

/** The place that a problem names; null where it is of no place. */
export function placeOf(problem: Problem): Place | null {
  const told = (problem as { place?: { line?: number | null; column?: number | null } | null }).place;
  if (told?.line) return { line: told.line, column: told.column ?? 0 };
  const found = problem.detail.match(/^(?:statement \d+|script), line (\d+), column (\d+): /);
  return found === null ? null : { line: Number(found[1]), column: Number(found[2]) };
}
