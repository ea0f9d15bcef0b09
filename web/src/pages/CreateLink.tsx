import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { useSearchParams } from "wouter";
import { clustersQuery } from "../api/queries";
import { Button } from "../parts/Button";
import { Field } from "../parts/Field";
import { Fetched } from "../parts/Fetched";
import { Page } from "../parts/Page";
import { ActionDialog } from "../plans/ActionDialog";
import { FormFields, initialOf } from "../plans/FormFields";
import type { FieldSpec, Values } from "../plans/specs";
import { useWhyNotPlan } from "../session/me";
import { NoCluster } from "./NoCluster";
import { ADOPTING, CONFIGS, COPYING, GROUPS, linkOf, NAMES, TOPICS } from "./linkForm";

const EVERY = [...NAMES, ...TOPICS, ...COPYING, ...CONFIGS, ...GROUPS, ...ADOPTING];

/** The fields of a link file; the plan says what would be copied, and what speaks against it. */
export function CreateLink() {
  const clusters = useQuery(clustersQuery);
  const [search] = useSearchParams();
  // What leads here may know some of it: an address has the fields by their names.
  const [values, setValues] = useState<Values>(() => ({ ...initialOf(EVERY), ...Object.fromEntries(search) }));
  const [asked, setAsked] = useState<Record<string, unknown> | null>(null);
  const why = useWhyNotPlan();
  const change = (name: string, value: string) => setValues((before) => ({ ...before, [name]: value }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const adopt = (values["adopt"] ?? "").trim();
    if (why === null) setAsked({ link: linkOf(values), ...(adopt ? { adopt } : {}) });
  };
  const naming = values["naming"];
  const topics = TOPICS.filter(
    (field) =>
      (field.name !== "separator" || naming === "prefix") && (field.name !== "template" || naming === "template"),
  );
  const part = (title: string, fields: readonly FieldSpec[]) => (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      <FormFields fields={fields} values={values} change={change} />
    </section>
  );
  return (
    <Page
      title="Create a link"
      crumbs={[["Links", "/"]]}
      under={<p className="dim">Fields of a link file. Nothing changes before the plan is applied, and nothing is copied before the link is run.</p>}
    >
      <Fetched query={clusters} what="the clusters">
        {(data) =>
          data.clusters.length === 0 ? (
            <div className="panel">
              <NoCluster />
            </div>
          ) : (
            <form className="stack-wide" onSubmit={submit}>
              <div className="masonry">
                <section className="panel" aria-label="Clusters">
                  <h2>Clusters</h2>
                  {(["source", "target"] as const).map((side) => (
                    <Field
                      key={side}
                      label={side === "source" ? "Source" : "Target"}
                      hint={side === "source" ? "The cluster that is read." : "The cluster that is written to; it stores the link."}
                    >
                      {(attributes) => (
                        <select
                          {...attributes}
                          className="input"
                          required
                          value={values[side] ?? ""}
                          onChange={(event) => change(side, event.target.value)}
                        >
                          <option value="">choose a context</option>
                          {data.clusters.map((cluster) => (
                            <option key={cluster.name} value={cluster.name}>
                              {cluster.name}
                              {cluster.problem ? " (cannot be read)" : ""}
                            </option>
                          ))}
                        </select>
                      )}
                    </Field>
                  ))}
                  <FormFields fields={NAMES} values={values} change={change} />
                </section>
                {part("Topics", topics)}
                {part("Copying", COPYING)}
                {part("Topic configs", CONFIGS)}
                {part("Groups", GROUPS)}
                {part("Take over from another tool", ADOPTING)}
              </div>
              <div>
                {why === null ? (
                  <button type="submit" className="button main">
                    Plan the link
                  </button>
                ) : (
                  <Button why={why} act={() => undefined}>
                    Plan the link
                  </Button>
                )}
              </div>
            </form>
          )
        }
      </Fetched>
      {asked === null ? null : (
        <ActionDialog verb="links.create" title="Create a link" body={asked} fields={[]} close={() => setAsked(null)} />
      )}
    </Page>
  );
}
