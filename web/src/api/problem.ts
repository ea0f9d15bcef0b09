import type { components } from "./schema";

export type Problem = components["schemas"]["Problem"];

/** Something that was not done, with what the service says of it. */
export class ProblemError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}

const made = (type: string, title: string, status: number, detail: string, hint: string, retryable: boolean): Problem => ({
  type: `urn:anabranch:problem:${type}`,
  title,
  status,
  detail,
  hint,
  retryable,
  exit_code: 1,
  field: null,
  place: null,
});

/** What an answer that is none says, whoever gave it. */
export function problemOf(body: unknown, status: number): Problem {
  if (typeof body === "object" && body !== null && "detail" in body && "hint" in body) return body as Problem;
  const detail = `something between this browser and the service answered ${status}`;
  return made("no-answer", "no answer", status, detail, "look at the proxy before the service, then try again", true);
}

export const unreachable = (): Problem =>
  made(
    "unreachable",
    "unreachable",
    0,
    "the service does not answer",
    "check that `anabranch serve` runs and that this machine reaches it; this page tries again by itself",
    true,
  );

export function problemFrom(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  const detail = error instanceof Error ? error.message : String(error);
  return made("page", "page", 0, `this page failed: ${detail}`, "load it again; if that does not help, please report it", false);
}
