import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { clustersQuery } from "../../api/queries";
import { ActionDialog } from "../../plans/ActionDialog";
import { FormFields, initialOf } from "../../plans/FormFields";
import { linesOf, type FieldSpec, type Values } from "../../plans/specs";
import { useWhyNotPlan } from "../../session/me";
import { Submit } from "../checkpoints/Submit";
import { Wrong } from "../../parts/Wrong";

/** Topics as they were typed: `NAME=COPY`, or a name whose copy has the source's name before it. */
function topicsOf(lines: readonly string[], source: string): { topics: Record<string, string>; wrong: string | null } {
  const topics: Record<string, string> = {};
  for (const line of lines) {
    const [name = "", copy, more] = line.split("=");
    if (name === "" || copy === "" || more !== undefined || name in topics) {
      return { topics, wrong: `${line}: not TOPIC or TOPIC=COPY, each topic once` };
    }
    topics[name] = copy ?? `${source}.${name}`;
  }
  return { topics, wrong: null };
}

function useFields(): FieldSpec[] {
  const clusters = useQuery(clustersQuery).data?.clusters ?? [];
  const names = [["", "choose a cluster"], ...clusters.map((cluster) => [cluster.name, cluster.name] as const)] as const;
  return [
    { name: "source", label: "Source", kind: "choice", required: true, initial: "", choices: names },
    { name: "target", label: "Target", kind: "choice", required: true, initial: "", choices: names, hint: "Which holds the copies." },
    {
      name: "topics",
      label: "Topics",
      kind: "lines",
      required: true,
      hint: "TOPIC=COPY, one a line; TOPIC alone for a copy that is called SOURCE.TOPIC.",
    },
    { name: "link", label: "Id of the link that will adopt the maps", kind: "text", hint: "Empty for SOURCE-TARGET." },
    { name: "timestamps", label: "The other tool has changed timestamps", kind: "check" },
    { name: "headers", label: "The other tool has changed headers", kind: "check" },
  ];
}

/** Maps of topics that another tool copied, from the records alone; a link can adopt them. */
export function Rebuild() {
  const fields = useFields();
  const [values, setValues] = useState<Values>(() => initialOf(fields));
  const [wrong, setWrong] = useState<string | null>(null);
  const [asked, setAsked] = useState<Record<string, unknown> | null>(null);
  const why = useWhyNotPlan();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (why !== null) return;
    const text = (name: string) => (values[name] ?? "").trim();
    const { topics, wrong: unclear } = topicsOf(linesOf(text("topics")), text("source"));
    setWrong(unclear);
    if (unclear !== null) return;
    const ignore = ["timestamps", "headers"].filter((part) => values[part] === "yes");
    setAsked({
      source: text("source"),
      target: text("target"),
      link: text("link") || `${text("source")}-${text("target")}`,
      topics,
      ...(ignore.length ? { ignore } : {}),
    });
  };
  return (
    <section className="panel" aria-label="Make maps from records">
      <h2>Make maps from the records</h2>
      <p className="dim">
        A Spark job aligns the records of both clusters and says which offset is which; what is unclear is never guessed. A
        link that adopts the maps goes on where the other tool&#8217;s copies end.
      </p>
      <form className="stack wide-form" onSubmit={submit}>
        <FormFields fields={fields} values={values} change={(name, value) => setValues((before) => ({ ...before, [name]: value }))} />
        <Wrong what={wrong} />
        <Submit label="Plan the maps" why={why} />
      </form>
      {asked === null ? null : (
        <ActionDialog verb="offsets.rebuild" title="Make maps from records" body={asked} fields={[]} close={() => setAsked(null)} />
      )}
    </section>
  );
}
