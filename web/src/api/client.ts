import createClient from "openapi-fetch";
import { noteServerTime } from "../format/clock";
import { ProblemError, problemOf, unreachable } from "./problem";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

export const client = createClient<paths>({
  // Asked for as it is called: tests may replace it.
  fetch: (request) => globalThis.fetch(request),
});

interface Answer {
  data?: unknown;
  error?: unknown;
  response: Response;
}

/** What was asked for; throws ProblemError. */
export async function told<R extends Answer>(asked: Promise<R>): Promise<NonNullable<R["data"]>> {
  const askedMs = Date.now();
  let answer: R;
  try {
    answer = await asked;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ProblemError(unreachable());
  }
  noteServerTime(answer.response.headers.get("date"), askedMs);
  if (!answer.response.ok) throw new ProblemError(problemOf(answer.error, answer.response.status));
  return answer.data as NonNullable<R["data"]>;
}
