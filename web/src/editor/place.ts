import type { Problem } from "../api/problem";

/** Where in a script something is wrong, from 1; the column is 0 where only the line is known. */
export interface Place {
  line: number;
  column: number;
}

/** The place that a problem names; null where it is of no place. */
export function placeOf(problem: Problem): Place | null {
  if (problem.place?.line) return { line: problem.place.line, column: problem.place.column ?? 0 };
  // Definitions of the catalog name their place in words.
  const found = problem.detail.match(/^(?:statement \d+|script), line (\d+), column (\d+): /);
  return found === null ? null : { line: Number(found[1]), column: Number(found[2]) };
}

/** A place with what is said at it. */
export interface Fault extends Place {
  message: string;
}

/** What an editor shows of a problem, at its line; nothing of one without a place. */
export function faultsOf(problem: Problem | null): readonly Fault[] {
  const place = problem === null ? null : placeOf(problem);
  if (problem === null || place === null) return [];
  return [{ ...place, message: problem.hint ? `${problem.detail}\nWhat to do: ${problem.hint}` : problem.detail }];
}
