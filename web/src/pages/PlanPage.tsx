import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Schemas } from "../api/client";
import { operationQuery, planQuery } from "../api/queries";
import { applyPlan } from "../api/verbs";
import { Age } from "../parts/Age";
import { Badge } from "../parts/Badge";
import { Button } from "../parts/Button";
import { Fetched } from "../parts/Fetched";
import { Page } from "../parts/Page";
import { ProblemNotice } from "../parts/ProblemNotice";
import { Action } from "../plans/Action";
import { useWhyNotApproved } from "../plans/approval";
import { OperationView } from "../plans/OperationView";
import { PlanBody } from "../plans/PlanBody";
import { PlanHead } from "../plans/PlanHead";
import { whyNothing } from "../plans/refused";
import { isDanger } from "../plans/specs";
import { useTyped } from "../plans/useTyped";
import { useMe, whyNotApply } from "../session/me";

/** A plan at its own address: somebody else looks at it there, and applies it. */
export function PlanPage({ id }: { id: string }) {
  const query = useQuery(planQuery(id));
  return (
    <Page title={query.data ? `Plan: ${query.data.verb}` : "Plan"} crumbs={[["Operations", "/operations"]]}>
      <Fetched query={query} what="the plan">
        {(plan) => <Shown plan={plan} />}
      </Fetched>
    </Page>
  );
}

function Shown({ plan }: { plan: Schemas["PlanAnswer"] }) {
  const me = useMe();
  const queries = useQueryClient();
  const apply = useMutation({
    mutationFn: () => applyPlan(plan.id, plan.hash),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ["plans", plan.id] });
      void queries.invalidateQueries({ queryKey: ["operations"] });
      void queries.invalidateQueries({ queryKey: ["migrations"] });
    },
  });
  const operation = plan.operation ?? apply.data?.id ?? null;
  const typed = useTyped(plan);
  const unapproved = useWhyNotApproved(plan);
  const why = whyNothing(plan) ?? whyNotApply(me, plan.role) ?? unapproved ?? typed.why;
  const again = (
    <Action verb={plan.verb} body={{ ...plan.request }} title={`Plan ${plan.verb} again`} little>
      Plan again
    </Action>
  );
  return (
    <>
      {operation === null ? null : <Applied operation={operation} again={again} />}
      {apply.isError ? (
        <ProblemNotice error={apply.error} title="Not applied">
          {again}
        </ProblemNotice>
      ) : null}
      <section className="panel" aria-label="The plan">
        <PlanHead plan={plan} />
      </section>
      <section className="panel" aria-label="What it changes">
        <h2>What it changes</h2>
        <PlanBody plan={plan} />
        {operation === null ? typed.field : null}
      </section>
      {operation === null ? (
        <div className="row">
          <Button
            kind={isDanger(plan.verb) ? "danger" : "main"}
            why={apply.isPending ? "it is being applied" : why}
            act={() => apply.mutate()}
          >
            Apply this plan
          </Button>
          <span className="dim">
            {why ?? "It is made again first, and refused where it would be another one by now."}
          </span>
        </div>
      ) : null}
    </>
  );
}

function Applied({ operation, again }: { operation: string; again: React.ReactNode }) {
  const work = useQuery(operationQuery(operation)).data;
  return (
    <section className="stack" aria-label="It was applied">
      <p className="row">
        <Badge tone="idle" shape="check">
          applied
        </Badge>
        {work ? (
          <span>
            by <strong>{work.account}</strong>, <Age ms={work.began_at} absolute />:{" "}
            <Link href={`/operations/${operation}`}>the operation</Link>
          </span>
        ) : null}
      </p>
      <OperationView id={operation} again={again} />
    </section>
  );
}
