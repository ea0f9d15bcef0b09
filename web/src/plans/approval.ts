import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "../api/client";
import { migrationQuery } from "../api/queries";
import { useMe } from "../session/me";

const APPROVED = new Set(["migrations.switch", "migrations.reverse", "migrations.complete"]);

/** Whether a plan leads applications, or does what cannot be taken back, or lets others approve. */
export function isApproved({ verb, request, plan }: Schemas["PlanAnswer"]): boolean {
  if (verb === "migrations.cancel") return request["purge"] === true;
  if (verb === "migrations.reconcile") return request["tail"] === "append";
  if (verb === "migrations.set") return approversOf(plan["before"]) !== approversOf(plan["after"]);
  return APPROVED.has(verb);
}

const approversOf = (file: unknown) => [...((file as { approvers?: string[] } | undefined)?.approvers ?? [])].sort().join(" ");

/** Why this account may not approve a switch that named people have to approve; null where it may, or nobody has to. */
export function useWhyNotApproved(plan: Schemas["PlanAnswer"] | undefined): string | null {
  const me = useMe();
  const isAsked = plan !== undefined && isApproved(plan);
  const name = isAsked ? nameOf(plan.request["migration"]) : "";
  const approvers = useQuery({ ...migrationQuery(name), enabled: isAsked }).data?.migration.approvers ?? [];
  if (!isAsked || approvers.length === 0) return null;
  return whyNotApproved(me.account, plan.account, name, approvers);
}

const nameOf = (migration: unknown) =>
  typeof migration === "object" && migration !== null ? String((migration as { name?: unknown }).name) : String(migration);

export function whyNotApproved(account: string, author: string, migration: string, approvers: readonly string[]): string | null {
  const whom = approvers.join(", ");
  if (account === author) return `${account} asked for this, and somebody else of ${whom} has to approve it`;
  return approvers.includes(account) ? null : `${account} is no approver of migration ${migration}: ${whom} ${approvers.length === 1 ? "is" : "are"}`;
}
