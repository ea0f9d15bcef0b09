import type { Schemas } from "../api/client";

type Row = Readonly<Record<string, unknown>>;

/** Why a plan does nothing if it is applied; null where it does something. */
export function whyNothing(plan: Schemas["PlanAnswer"]): string | null {
  const found = plan.plan as Row;
  const list = (name: string): readonly unknown[] => (Array.isArray(found[name]) ? (found[name] as unknown[]) : []);
  if (list("refusals").length) return "the plan is refused: see the reasons above";
  switch (plan.verb) {
    case "links.create":
      return list("findings").some((one) => (one as Row)["severity"] === "error")
        ? "an error forbids this link: see the reasons above"
        : null;
    case "migrations.start":
      return [found, ...(list("waves") as Row[])].some(hasError) ? "an error forbids to start it: see the reasons above" : null;
    case "migrations.verify":
    case "migrations.switch":
    case "migrations.reverse":
    case "migrations.complete":
    case "migrations.cancel":
      return hasError(found) ? "an error forbids it: see the reasons above" : null;
    case "migrations.hold":
    case "migrations.release":
    case "migrations.set":
    case "migrations.throttle":
    case "migrations.resume":
      return JSON.stringify(found["before"]) === JSON.stringify(found["after"]) ? "it would stay as it is" : null;
    case "migrations.access":
      return accessChanges(found as unknown as Schemas["AccessPlan"]) ? null : "the target has all of it already";
    case "links.accept":
      return list("pending").length ? null : "no lane waits for a decision";
    case "links.abort-transaction":
      return found["abort"] === null ? "no transaction would be ended: plan again with the producer id of one" : null;
    case "links.delete":
      return found["running"] ? "the link runs: stop it first" : null;
    case "groups.sync":
      return list("groups").some((one) => (one as Row)["step"] === "move") ? null : "no group would move";
    case "routes.apply":
    case "routes.rollback":
      return changesRoutes(found as unknown as Schemas["RoutesPlan"]) ? null : "this table is the one that applies";
    case "streams.publish":
    case "streams.rollback":
      return found["before"] === found["after"] ? "that version is published already" : null;
    case "streams.edit":
      return list("diff").length ? null : "script and settings would stay as they are";
    case "catalog.create":
      return list("changes").every((one) => (one as Row)["change"] === "keep") ? "all that it defines is there already" : null;
    case "catalog.grant":
    case "catalog.revoke":
      return found["changes"] ? null : "it is so already";
    case "catalog.group":
      return list("add").length + list("remove").length ? null : "the group would stay as it is";
    case "groups.baseline":
      return list("baselines").length ? null : "no group is selected";
    default:
      return null;
  }
}

const hasError = ({ reasons }: Row): boolean => Array.isArray(reasons) && reasons.some((one) => (one as Row)["severity"] === "error");

/** Beside what a plan finds there, what is to be done for a wave. */
const accessChanges = ({ waves }: Schemas["AccessPlan"]): boolean =>
  waves.some(({ changes: { create, adopt, forget, quotas, quotas_adopted, quotas_forgotten } }) =>
    [create, adopt, forget, quotas, quotas_adopted, quotas_forgotten].some((one) => one.length > 0),
  );

const changesRoutes = ({ codes, rules, clusters }: Schemas["RoutesPlan"]): boolean =>
  [codes, rules, clusters].some(({ added, removed, changed }) => added.length + removed.length + changed.length > 0);
