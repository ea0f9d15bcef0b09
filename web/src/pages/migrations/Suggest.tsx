import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { client, told, type Schemas } from "../../api/client";
import { clustersQuery } from "../../api/queries";
import { command } from "../../format/command";
import { bytes, counted, whole } from "../../format/numbers";
import { yamlText } from "../../format/yaml/write";
import { CommandLine } from "../../parts/CopyButton";
import { Folded } from "../../parts/Folded";
import { MoreRows } from "../../parts/MoreRows";
import { ProblemNotice } from "../../parts/ProblemNotice";
import { Reasons } from "../../parts/Reasons";
import { Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";
import { FormFields, initialOf } from "../../plans/FormFields";
import type { FieldSpec, Values } from "../../plans/specs";
import { useWhyNotPlan } from "../../session/me";
import { Submit } from "../checkpoints/Submit";

type Suggested = Schemas["SuggestedMigration"];

function useFields(): FieldSpec[] {
  const clusters = useQuery(clustersQuery).data?.clusters ?? [];
  const names = [["", "choose a cluster"], ...clusters.map(({ name }) => [name, name] as const)] as const;
  return [
    { name: "source", label: "Cluster that is left", kind: "choice", required: true, initial: "", choices: names },
    { name: "target", label: "Cluster that is moved to", kind: "choice", required: true, initial: "", choices: names },
    { name: "name", label: "Name of the migration", kind: "text", hint: "Empty for SOURCE-TARGET." },
  ];
}

/** A first file from what the source holds; it takes the place of the text in the editor. */
export function Suggest({ write }: { write: (text: string) => void }) {
  const fields = useFields();
  const [values, setValues] = useState<Values>(() => initialOf(fields));
  const why = useWhyNotPlan();
  const [source, target, name] = ["source", "target", "name"].map((one) => (values[one] ?? "").trim()) as [string, string, string];
  const look = useMutation({
    mutationFn: () =>
      told(client.POST("/api/v1/migrations/discover", { body: { source, target, name, watch_s: 5 } })) as Promise<unknown> as Promise<Suggested>,
    onSuccess: (found) => write(yamlText(found.document)),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (why === null && !look.isPending) look.mutate();
  };
  return (
    <section className="panel" aria-label="Suggest a file">
      <h2>Suggest a file</h2>
      <p className="dim">From what the source holds: topics that share a group or a transaction are one wave. Both clusters are looked at for some seconds, and nothing is changed.</p>
      <form className="stack wide-form" onSubmit={submit}>
        <FormFields fields={fields} values={values} change={(field, value) => setValues((before) => ({ ...before, [field]: value }))} />
        <Submit label="Suggest a file" why={why} />
      </form>
      {look.isPending ? <Waiting what="what the source holds" /> : null}
      {look.isError ? <ProblemNotice error={look.error} title="Not looked at" /> : null}
      {look.data ? <Found found={look.data} /> : null}
      <CommandLine
        text={command(["migrate", "discover"], [["--source", source || "SOURCE"], ["--target", target || "TARGET"], ["--name", name], ["--out", `${name || "move"}.yaml`]])}
      />
    </section>
  );
}

const Found = ({ found: { source, document, reasons } }: { found: Suggested }) => (
  <div className="stack" role="status">
    <p className="strong">
      The file below has {counted((document["waves"] as readonly unknown[]).length, "wave")} of {counted(Object.keys(source.topics).length, "topic")} and{" "}
      {counted(Object.keys(source.groups).length, "group")} of {source.context}. Look at it before you plan it.
    </p>
    {reasons.length ? <Reasons reasons={reasons} /> : null}
    <Folded summary={`What ${source.context} holds`}>{() => <Topics source={source} />}</Folded>
  </div>
);

const Topics = ({ source }: Pick<Suggested, "source">) => (
  <MoreRows rows={Object.entries(source.topics)} what="topics">
    {(rows) => (
      <Table
        caption="Topics"
        rows={rows}
        rowKey={([name]) => name}
        columns={[
          { key: "topic", label: "topic", head: "Topic", cell: ([name]) => <span className="anywhere">{name}</span> },
          { key: "partitions", label: "partitions", head: "Partitions", number: true, cell: ([, one]) => whole(one.partitions) },
          { key: "records", label: "records", head: "Records", number: true, cell: ([, one]) => whole(one.records) },
          { key: "size", label: "size", head: "Size", number: true, cell: ([, one]) => bytes(one.size) },
        ]}
      />
    )}
  </MoreRows>
);
