import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState, type FormEvent } from "react";
import type { Problem } from "../../api/problem";
import { catalogNames } from "../../catalog/names";
import { faultsOf, placeOf } from "../../editor/place";
import { ProblemOf } from "../../parts/ProblemNotice";
import { Waiting } from "../../parts/Waiting";
import { ActionDialog } from "../../plans/ActionDialog";
import { FormFields, initialOf } from "../../plans/FormFields";
import { bodyOf, type FieldSpec } from "../../plans/specs";
import { useWhyNotPlan } from "../../session/me";
import { Submit } from "../checkpoints/Submit";

const SqlEditor = lazy(() => import("../../editor/SqlEditor"));

const FIRST = `CREATE TABLE shop.orders (
  id BIGINT NOT NULL,
  amount DECIMAL(10, 2) COMMENT 'euros'
) USING kafka OPTIONS (cluster 'CODE', topic 'orders', format 'json') COMMENT 'each order, as it is made';
`;

const FIELDS: readonly FieldSpec[] = [
  { name: "accept_breaking", label: "Accept what breaks readers", kind: "check", hint: "The plan tells each reason." },
  { name: "create_topics", label: "Make the Kafka topics that are not there", kind: "check" },
];
const TOPICS: readonly FieldSpec[] = [
  { name: "partitions", label: "Partitions", kind: "number", initial: "1" },
  { name: "replication_factor", label: "Replication factor", kind: "number", initial: "1" },
  { name: "retention", label: "Retention", kind: "text", hint: "Such as 168h; empty for the cluster's own." },
];

/** Statements that define entries: what becomes of each is looked at first. */
export function Define() {
  const [sql, setSql] = useState(FIRST);
  const [values, setValues] = useState(() => initialOf([...FIELDS, ...TOPICS]));
  const [asked, setAsked] = useState<Readonly<Record<string, unknown>> | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const why = useWhyNotPlan();
  const queries = useQueryClient();
  const catalog = useMemo(() => catalogNames(queries), [queries]);
  const faults = useMemo(() => faultsOf(problem), [problem]);
  const fields = values["create_topics"] === "yes" ? [...FIELDS, ...TOPICS] : FIELDS;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (why !== null) return;
    setProblem(null);
    setAsked({ definitions: { sql }, ...bodyOf(fields, values) });
  };
  const refused = (found: Problem) => {
    if (placeOf(found) === null) return;
    setAsked(null);
    setProblem(found);
  };
  return (
    <form className="panel" id="define" aria-label="Define" onSubmit={submit}>
      <p className="dim">
        CREATE DATABASE, TABLE, VIEW and FUNCTION, separated by semicolons. OR REPLACE changes what is there, IF NOT EXISTS leaves it.
      </p>
      <Suspense fallback={<Waiting what="the editor" />}>
        <SqlEditor
          label="Definitions"
          text={FIRST}
          change={(text) => {
            setSql(text);
            setProblem(null);
          }}
          faults={faults}
          catalog={catalog}
          submit={() => (document.getElementById("define") as HTMLFormElement | null)?.requestSubmit()}
        />
      </Suspense>
      {problem === null ? null : <ProblemOf problem={problem} title={`It is refused at line ${placeOf(problem)?.line ?? 1}`} />}
      <div className="wide-form">
        <FormFields fields={fields} values={values} change={(name, value) => setValues((before) => ({ ...before, [name]: value }))} />
      </div>
      <Submit label="Plan the definitions" why={why} />
      {asked === null ? null : (
        <ActionDialog verb="catalog.create" title="Define entries of the catalog" body={asked} fields={[]} close={() => setAsked(null)} refused={refused} />
      )}
    </form>
  );
}
