import { useState, type FormEvent } from "react";
import { ActionDialog } from "../../plans/ActionDialog";
import { FormFields, initialOf } from "../../plans/FormFields";
import { bodyOf, type FieldSpec, type Values } from "../../plans/specs";
import { useWhyNotPlan } from "../../session/me";
import { spelledOut, withoutUsual } from "./rewriteBody";
import { useRewriteFields } from "./rewriteFields";
import { Submit } from "./Submit";
import { Wrong } from "../../parts/Wrong";

const OWN: readonly FieldSpec[] = [
  { name: "to", label: "Write to", kind: "text", hint: "A new path; empty rewrites in place, with a backup." },
  { name: "stopped", label: "The job is stopped", kind: "check", hint: "Though it has written lately." },
];

export function Rewrite({ roots }: { roots: readonly string[] }) {
  const fields: FieldSpec[] = [...useRewriteFields(roots), ...OWN];
  const [values, setValues] = useState<Values>(() => initialOf(fields));
  const [asked, setAsked] = useState<Record<string, unknown> | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  const why = useWhyNotPlan();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (why !== null) return;
    const body = bodyOf(fields, values);
    const unclear = spelledOut(body);
    setWrong(unclear);
    if (unclear !== null) return;
    setAsked(withoutUsual(body));
  };
  return (
    <section className="panel" aria-label="Plan a rewrite">
      <h2>Plan a rewrite</h2>
      <form className="stack wide-form" onSubmit={submit}>
        <FormFields
          fields={fields}
          values={values}
          change={(name, value) => setValues((before) => ({ ...before, [name]: value }))}
        />
        <Wrong what={wrong} />
        <Submit label="Plan the rewrite" why={why} />
      </form>
      {asked === null ? null : (
        <ActionDialog
          verb="checkpoints.rewrite"
          title="Rewrite a checkpoint"
          body={asked}
          fields={[]}
          close={() => setAsked(null)}
        />
      )}
    </section>
  );
}
