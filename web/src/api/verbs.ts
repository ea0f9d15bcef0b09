import { client, told, type Schemas } from "./client";
import type { paths } from "./schema";

type PlanPath = Extract<keyof paths, `/api/v1/${string}/plan`>;

/** Ask for the plan of a verb such as `links.pause`; throws ProblemError. */
export function planOf(verb: string, body: Readonly<Record<string, unknown>>): Promise<Schemas["PlanAnswer"]> {
  const path = `/api/v1/${verb.replace(".", "/")}/plan` as PlanPath;
  return told(client.POST(path, { body: body as never }));
}

export function applyPlan(id: string, hash: string): Promise<Schemas["Work"]> {
  return told(client.POST("/api/v1/plans/{plan_id}/apply", { params: { path: { plan_id: id } }, body: { hash } }));
}
