import { useState, type FormEvent } from "react";
import { ActionDialog } from "../../plans/ActionDialog";
import { FormFields, initialOf } from "../../plans/FormFields";
import { bodyOf, type FieldSpec, type Values } from "../../plans/specs";
import { useWhyNotPlan } from "../../session/me";
import { Submit } from "./Submit";

const UNDO: FieldSpec[] = [{ name: "path", label: "Checkpoint", kind: "text", required: true }];

export function Undo() {
  const [values, setValues] = useState<Values>(() => initialOf(UNDO));
  const [asked, setAsked] = useState<Record<string, unknown> | null>(null);
  const why = useWhyNotPlan();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (why === null) setAsked(bodyOf(UNDO, values));
  };
  return (
    <section className="panel" aria-label="Undo a rewrite">
      <h2>Undo a rewrite</h2>
      <p className="dim">Takes the newest rewrite in place back, byte for byte, unless the job has written since.</p>
      <form className="stack" onSubmit={submit}>
        <FormFields
          fields={UNDO}
          values={values}
          change={(name, value) => setValues((before) => ({ ...before, [name]: value }))}
        />
        <Submit label="Plan the undo" why={why} />
      </form>
      {asked === null ? null : (
        <ActionDialog
          verb="checkpoints.undo"
          title="Undo a rewrite"
          body={asked}
          fields={[]}
          close={() => setAsked(null)}
        />
      )}
    </section>
  );
}
