import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { Link } from "wouter";
import { problemFrom, type Problem } from "../api/problem";
import type { Schemas } from "../api/client";
import { applyPlan, planOf } from "../api/verbs";
import { useMe, useVerb, whyNotApply } from "../session/me";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { ProblemNotice } from "../parts/ProblemNotice";
import { Waiting } from "../parts/Waiting";
import { useWhyNotApproved } from "./approval";
import { FormFields, initialOf } from "./FormFields";
import { OperationView } from "./OperationView";
import { PlanBody } from "./PlanBody";
import { PlanHead } from "./PlanHead";
import { whyNothing } from "./refused";
import { useTyped } from "./useTyped";
import { bodyOf, isDanger, type FieldSpec, type Values } from "./specs";

interface Props {
  verb: string;
  title: string;
  /** What is given already: the target and the link, mostly. */
  body: Readonly<Record<string, unknown>>;
  fields: readonly FieldSpec[];
  close: () => void;
  /** Told why a plan is refused: whoever shows it elsewhere closes this. */
  refused?: (problem: Problem) => void;
  /** Told as soon as the plan is being applied. */
  applied?: () => void;
}

/** Ask, look at the plan, apply it, see what came of it. */
export function ActionDialog({ verb, title, body, fields, close, refused, applied }: Props) {
  const queries = useQueryClient();
  const [values, setValues] = useState<Values>(() => initialOf(fields));
  const summary = useVerb(verb)?.summary;
  const plan = useMutation({
    mutationFn: () => planOf(verb, { ...body, ...bodyOf(fields, values) }),
    onError: (error) => refused?.(problemFrom(error)),
  });
  const apply = useMutation({
    mutationFn: (shown: Schemas["PlanAnswer"]) => applyPlan(shown.id, shown.hash),
    onSuccess: () => {
      applied?.();
      void queries.invalidateQueries({ queryKey: ["operations"] });
      for (const changed of ["migrations", "streams", "saved-checkpoints", "catalog", "artifacts"]) void queries.invalidateQueries({ queryKey: [changed] });
    },
  });
  const again = () => {
    apply.reset();
    plan.mutate();
  };
  const [asked, setAsked] = useState(fields.length > 0);
  const begun = useRef(asked);
  useEffect(() => {
    if (begun.current) return;
    begun.current = true;
    plan.mutate();
  });

  const leave = () => {
    for (const changed of ["live", "positions", "routes", "switches", "clients", "migrations", "streams", "saved-checkpoints", "catalog", "artifacts"]) {
      void queries.invalidateQueries({ queryKey: [changed] });
    }
    close();
  };
  const back = () => {
    plan.reset();
    apply.reset();
    setAsked(true);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setAsked(false);
    plan.mutate();
  };
  const problem = plan.isError ? problemFrom(plan.error) : null;
  const shown = plan.data;
  const typed = useTyped(shown);

  if (asked || (problem !== null && fields.length > 0)) {
    const wrong = problem?.field ? { field: problem.field, why: problem.detail } : null;
    return (
      <Dialog
        title={title}
        close={leave}
        foot={
          <>
            <Button act={leave}>Cancel</Button>
            <button type="submit" form="ask" className="button main">
              Plan
            </button>
          </>
        }
      >
        {summary ? <p className="dim">{summary}. Nothing changes before the plan is applied.</p> : null}
        {problem !== null ? <ProblemNotice error={plan.error} title="Not planned" /> : null}
        <form id="ask" onSubmit={submit}>
          <FormFields
            fields={fields}
            values={values}
            wrong={wrong}
            change={(name, value) => setValues((before) => ({ ...before, [name]: value }))}
          />
        </form>
      </Dialog>
    );
  }
  return (
    <Dialog
      title={title}
      close={leave}
      foot={
        <Foot
          plan={shown}
          whyNotTyped={typed.why}
          work={apply.data}
          applying={apply.isPending}
          back={fields.length > 0 ? back : null}
          apply={() => shown && apply.mutate(shown)}
          close={leave}
        />
      }
    >
      {problem !== null ? (
        <ProblemNotice error={plan.error} title="Not planned" again={again} />
      ) : shown === undefined ? (
        <Waiting what="the plan" />
      ) : (
        <>
          {apply.data ? (
            <OperationView
              id={apply.data.id}
              again={
                <Button little act={again}>
                  Plan again
                </Button>
              }
            />
          ) : null}
          {apply.isError ? (
            <ProblemNotice error={apply.error} title="Not applied">
              <Button little act={again}>
                Plan again
              </Button>
            </ProblemNotice>
          ) : null}
          {apply.data ? null : (
            <>
              <PlanHead plan={shown} />
              <PlanBody plan={shown} />
              {typed.field}
            </>
          )}
        </>
      )}
    </Dialog>
  );
}

interface FootProps {
  plan: Schemas["PlanAnswer"] | undefined;
  /** Why what it would delete was not confirmed. */
  whyNotTyped: string | null;
  work: Schemas["Work"] | undefined;
  applying: boolean;
  /** Asks again, with what was filled in. */
  back: (() => void) | null;
  apply: () => void;
  close: () => void;
}

function Foot({ plan, whyNotTyped, work, applying, back, apply, close }: FootProps) {
  const me = useMe();
  const unapproved = useWhyNotApproved(plan);
  if (work !== undefined) {
    return (
      <>
        <Link className="note" href={`/operations/${work.id}`}>
          Open the operation
        </Link>
        <Button kind="main" act={close}>
          Close
        </Button>
      </>
    );
  }
  const why = plan === undefined ? "the plan is not there yet" : (whyNothing(plan) ?? whyNotApply(me, plan.role) ?? unapproved ?? whyNotTyped);
  return (
    <>
      {plan === undefined ? null : (
        <span className="note">
          {why ? `${why.charAt(0).toUpperCase()}${why.slice(1)}. ` : ""}
          <Link href={`/plans/${plan.id}`}>Open as a page</Link>, which somebody else may apply.
        </span>
      )}
      {back === null || plan === undefined ? null : (
        <Button why={applying ? "it is being applied" : null} act={back}>
          Back
        </Button>
      )}
      <Button act={close}>Cancel</Button>
      <Button
        kind={plan !== undefined && isDanger(plan.verb) ? "danger" : "main"}
        why={applying ? "it is being applied" : why}
        act={apply}
      >
        Apply this plan
      </Button>
    </>
  );
}
