import { useState, type FormEvent } from "react";
import { Button } from "../../parts/Button";
import { Field } from "../../parts/Field";
import { Wrong } from "../../parts/Wrong";
import { ActionDialog } from "../../plans/ActionDialog";
import { migrationOf } from "../../migrations/file";
import { useWhyNotPlan } from "../../session/me";
import { Submit } from "../checkpoints/Submit";
import { fileText } from "../../format/filetext";

interface Props {
  verb: "migrations.start" | "migrations.set";
  title: string;
  label: string;
  /** The text that it begins with. */
  text: string;
}

/** The text of a migration file, whose plan is looked at before anything is done. */
export default function Editor({ verb, title, label, text: first }: Props) {
  const [text, setText] = useState(first);
  const [wrong, setWrong] = useState<string | null>(null);
  const [asked, setAsked] = useState<Record<string, unknown> | null>(null);
  const why = useWhyNotPlan();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (why !== null) return;
    const read = migrationOf(text);
    setWrong(read.wrong);
    if (read.migration !== null) setAsked({ migration: read.migration });
  };
  const upload = async (file: File | undefined) => {
    if (file === undefined) return;
    const found = await fileText(file);
    setWrong(found.wrong);
    if (found.text !== null) setText(found.text);
  };
  return (
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
      <Field label="Migration file" hint="YAML or JSON, with name, source, target and waves.">
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
      <Wrong what={wrong} />
      <div className="row">
        <Submit label={label} why={why} />
        {text === first ? null : (
          <Button
            act={() => {
              setText(first);
              setWrong(null);
            }}
          >
            Take my changes back
          </Button>
        )}
      </div>
      {asked === null ? null : <ActionDialog verb={verb} title={title} body={asked} fields={[]} close={() => setAsked(null)} />}
    </form>
  );
}
