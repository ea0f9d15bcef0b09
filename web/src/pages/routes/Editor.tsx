import { useMemo, useState, type FormEvent } from "react";
import type { Schemas } from "../../api/client";
import { Button } from "../../parts/Button";
import { Field } from "../../parts/Field";
import { Wrong } from "../../parts/Wrong";
import { ActionDialog } from "../../plans/ActionDialog";
import { FormFields, initialOf } from "../../plans/FormFields";
import { bodyOf, FIELDS, type Values } from "../../plans/specs";
import { isSameTable, tableOf } from "../../routes/table";
import { useWhyNotPlan } from "../../session/me";
import { Submit } from "../checkpoints/Submit";
import { fileText } from "../../format/filetext";
import { routesOf } from "./file";

const ASKED = FIELDS["routes.apply"] ?? [];

interface Props {
  newest: Schemas["VersionAnswer"] | null;
  /** The table that applies, as a file. */
  text: string;
}

/** The text of a routes file: what it does not have is gone once it is published. */
export default function Editor({ newest, text: applies }: Props) {
  const [text, setText] = useState(applies);
  const [base, setBase] = useState(newest?.version ?? 0);
  const [values, setValues] = useState<Values>(() => initialOf(ASKED));
  const [wrong, setWrong] = useState<string | null>(null);
  const [asked, setAsked] = useState<Record<string, unknown> | null>(null);
  const why = useWhyNotPlan();
  const version = newest?.version ?? 0;
  const begin = () => {
    setText(applies);
    setBase(version);
    setWrong(null);
  };
  const isOlder = base !== version && asked === null;
  const isSame = useMemo(() => isOlder && isSameTable(tableOf(routesOf(text).table), tableOf(newest?.table)), [isOlder, text, newest]);
  // What was published from here is the newest then, and no surprise.
  if (isOlder && isSame) setBase(version);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (why !== null) return;
    const read = routesOf(text);
    setWrong(read.wrong);
    if (read.table !== null) setAsked({ table: read.table, ...bodyOf(ASKED, values) });
  };
  const upload = async (file: File | undefined) => {
    if (file === undefined) return;
    const found = await fileText(file);
    setWrong(found.wrong);
    if (found.text !== null) setText(found.text);
  };
  return (
    <section className="panel" aria-label="Change the route table">
      <h2>Change the route table</h2>
      <p className="dim">
        The whole table, as a routes file: what the text does not have is gone. Nothing changes before the plan is applied.
      </p>
      {base === version ? null : (
        <div className="notice warn" role="status">
          <p>
            Version {version} was published by {newest?.author} since this text began with version {base}. A plan of this text takes
            that back where it says otherwise.
          </p>
          <div className="row">
            <Button little act={begin}>
              Begin again with version {version}
            </Button>
          </div>
        </div>
      )}
      <form className="stack" onSubmit={submit}>
        <Field label="Read it from a file" hint="YAML or JSON; it takes the place of the text below.">
          {(attributes) => (
            <input
              {...attributes}
              className="input"
              type="file"
              accept=".yaml,.yml,.json,text/plain"
              onChange={(event) => {
                void upload(event.target.files?.[0]);
                event.target.value = "";
              }}
            />
          )}
        </Field>
        <Field label="Routes file" hint="YAML or JSON, with codes, rules and clusters.">
          {(attributes) => (
            <textarea
              {...attributes}
              className="input"
              aria-invalid={wrong !== null}
              rows={20}
              required
              spellCheck={false}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        <FormFields fields={ASKED} values={values} change={(name, value) => setValues((before) => ({ ...before, [name]: value }))} />
        <Wrong what={wrong} />
        <div className="row">
          <Submit label="Plan the change" why={why} />
          {text === applies ? null : <Button act={begin}>Take my changes back</Button>}
        </div>
      </form>
      {asked === null ? null : (
        <ActionDialog verb="routes.apply" title="Change the route table" body={asked} fields={[]} close={() => setAsked(null)} />
      )}
    </section>
  );
}
