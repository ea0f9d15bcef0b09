import { useState, type FormEvent } from "react";
import { ActionDialog } from "../../plans/ActionDialog";
import { FormFields, initialOf } from "../../plans/FormFields";
import { bodyOf, type FieldSpec } from "../../plans/specs";
import { useWhyNotPlan } from "../../session/me";
import { Submit } from "../checkpoints/Submit";

const FIELDS: readonly FieldSpec[] = [
  { name: "cluster", label: "Cluster code", kind: "text", required: true, hint: "As the route table has it." },
  { name: "topics", label: "Topics", kind: "lines", required: true, hint: "One a line, 50 at most." },
  { name: "database", label: "Database", kind: "text", initial: "default", required: true, hint: "Where the tables come." },
  { name: "samples", label: "Samples", kind: "number", initial: "200", hint: "How many of the newest records of each topic are looked at, 1 to 10,000." },
];

/** Topics that are there become tables: columns are inferred from samples, and looked at before anything is kept. */
export function ImportTopics() {
  const [values, setValues] = useState(() => initialOf(FIELDS));
  const [asked, setAsked] = useState<Readonly<Record<string, unknown>> | null>(null);
  const why = useWhyNotPlan();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (why === null) setAsked(bodyOf(FIELDS, values));
  };
  return (
    <form className="panel" aria-label="Import topics" onSubmit={submit}>
      <p className="dim">
        The newest records of each topic are read without a consumer group, and give the columns. Nothing is kept before the plan is applied.
      </p>
      <div className="wide-form">
        <FormFields fields={FIELDS} values={values} change={(name, value) => setValues((before) => ({ ...before, [name]: value }))} />
      </div>
      <Submit label="Look at the topics" why={why} />
      {asked === null ? null : (
        <ActionDialog verb="catalog.import" title="Import topics" body={asked} fields={[]} close={() => setAsked(null)} />
      )}
    </form>
  );
}
