import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { useSearchParams } from "wouter";
import { linksQuery, clustersQuery } from "../api/queries";
import { Button } from "../parts/Button";
import { Empty } from "../parts/Empty";
import { Page } from "../parts/Page";
import { ActionDialog } from "../plans/ActionDialog";
import { FormFields, initialOf } from "../plans/FormFields";
import { bodyOf, type FieldSpec, type Values } from "../plans/specs";
import { useMe, useWhyNotPlan } from "../session/me";

export function Checkpoints() {
  const me = useMe();
  return (
    <Page
      title="Checkpoints"
      under={
        <p>
          A rewrite changes the stored positions in a checkpoint of Spark or a savepoint of Flink for the other cluster,
          and nothing else. It can be undone.
        </p>
      }
    >
      {me.roots.length === 0 ? (
        <div className="panel">
          <Empty title="The service opens no checkpoints">
            <p className="dim">
              Start it with the directories that it may open: <code>anabranch serve --checkpoints /data/checkpoints</code>
            </p>
          </Empty>
        </div>
      ) : (
        <div className="columns">
          <Rewrite roots={me.roots} />
          <Undo />
        </div>
      )}
    </Page>
  );
}

const Roots = ({ roots }: { roots: readonly string[] }) => (
  <>
    Below{" "}
    {roots.map((root, index) => (
      <span key={root}>
        {index ? ", " : ""}
        <code className="anywhere">{root}</code>
      </span>
    ))}
  </>
);

function useRewriteFields(roots: readonly string[]): FieldSpec[] {
  const links = useQuery(linksQuery).data?.links ?? [];
  const clusters = useQuery(clustersQuery).data?.clusters ?? [];
  const [search] = useSearchParams();
  const names = links.map((link) => link.id).join(", ");
  return [
    {
      name: "path",
      label: "Checkpoint",
      kind: "text",
      required: true,
      initial: search.get("path") ?? "",
      hint: <Roots roots={roots} />,
    },
    {
      name: "target",
      label: "Target",
      kind: "choice",
      required: true,
      initial: search.get("target") ?? "",
      choices: [["", "choose a cluster"], ...clusters.map((cluster) => [cluster.name, cluster.name] as const)],
      hint: "The cluster that the job reads from then on.",
    },
    {
      name: "links",
      label: "Route: links",
      kind: "lines",
      initial: search.get("link") ?? "",
      hint: `Whose offset maps lead there, one a line${names ? `; known: ${names}` : ""}.`,
    },
    {
      name: "start",
      label: "Route: start position, instead of links",
      kind: "text",
      hint: "earliest, latest, a time with its zone, or group:NAME.",
    },
    { name: "to", label: "Write to", kind: "text", hint: "A new path; empty rewrites in place, with a backup." },
    { name: "stay", label: "Topics that stay", kind: "lines", hint: "Their positions are kept as they are." },
    {
      name: "uncommitted",
      label: "A batch that is not committed",
      kind: "choice",
      initial: "refuse",
      choices: [
        ["refuse", "refuse"],
        ["translate", "translate: the job repeats it"],
      ],
    },
    {
      name: "transactions",
      label: "Pending transactions of a sink",
      kind: "choice",
      initial: "refuse",
      choices: [
        ["refuse", "refuse"],
        ["discard", "discard"],
        ["keep", "keep"],
      ],
    },
    {
      name: "stop_savepoint",
      label: "A savepoint made by stop",
      kind: "choice",
      initial: "refuse",
      choices: [
        ["refuse", "refuse"],
        ["translate", "translate"],
      ],
    },
    { name: "stopped", label: "The job is stopped", kind: "check", hint: "Though it has written lately." },
  ];
}

function Rewrite({ roots }: { roots: readonly string[] }) {
  const fields = useRewriteFields(roots);
  const [values, setValues] = useState<Values>(() => initialOf(fields));
  const [asked, setAsked] = useState<Record<string, unknown> | null>(null);
  const why = useWhyNotPlan();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (why !== null) return;
    const body = bodyOf(fields, values);
    for (const name of ["uncommitted", "transactions", "stop_savepoint"]) {
      if (body[name] === "refuse") delete body[name];
    }
    setAsked(body);
  };
  return (
    <section className="panel" aria-label="Plan a rewrite">
      <h2>Plan a rewrite</h2>
      <form className="stack" onSubmit={submit}>
        <FormFields
          fields={fields}
          values={values}
          change={(name, value) => setValues((before) => ({ ...before, [name]: value }))}
        />
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

const UNDO: FieldSpec[] = [{ name: "path", label: "Checkpoint", kind: "text", required: true }];

function Undo() {
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

const Submit = ({ label, why }: { label: string; why: string | null }) => (
  <div>
    {why === null ? (
      <button type="submit" className="button main">
        {label}
      </button>
    ) : (
      <Button why={why} act={() => undefined}>
        {label}
      </Button>
    )}
  </div>
);
