import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useMemo, useRef, useState, type FormEvent } from "react";
import type { Problem } from "../../api/problem";
import { catalogNames } from "../../catalog/names";
import type { TextKind } from "../../editor/language";
import { faultsOf, placeOf } from "../../editor/place";
import { Age } from "../../parts/Age";
import { Button } from "../../parts/Button";
import { useShowDialog } from "../../parts/DialogHost";
import { ProblemOf } from "../../parts/ProblemNotice";
import { Waiting } from "../../parts/Waiting";
import { Wrong } from "../../parts/Wrong";
import { ActionDialog } from "../../plans/ActionDialog";
import { FormFields } from "../../plans/FormFields";
import { bodyOf, type FieldSpec, type Values } from "../../plans/specs";
import { TryPanel } from "../../streams/TryPanel";
import { mayAs, useMe, useWhyNotPlan } from "../../session/me";
import { draftOf, keepDraft } from "../../streams/draft";
import { Submit } from "../checkpoints/Submit";
import { fileText } from "../../format/filetext";

/** CodeMirror is asked for when somebody writes. */
const SqlEditor = lazy(() => import("../../editor/SqlEditor"));

interface Props {
  verb: "streams.create" | "streams.edit";
  title: string;
  label: string;
  fields: readonly FieldSpec[];
  /** What the fields and the editor begin with. */
  values: Values;
  script: string;
  kind: TextKind;
  /** What the request has beside the fields. */
  given: Readonly<Record<string, unknown>>;
}

/** The script of a stream with its settings: saved by a plan that is looked at first; what is refused is shown at its line. */
export function StreamForm({ verb, title, label, fields, values: first, script: firstScript, kind, given }: Props) {
  const me = useMe();
  const { account } = me;
  const isFile = kind === "pyspark";
  const what = verb === "streams.edit" ? `edit ${String(given["stream"])}` : isFile ? "create pyspark" : "create";
  const [draft, setDraft] = useState(() => draftOf(account, what));
  const [values, setValues] = useState<Values>({ ...first, ...draft?.values });
  const [script, setScript] = useState(draft?.script ?? firstScript);
  const [isKept, setKept] = useState(true);
  /** Another text in place of the whole: the editor begins anew with it. */
  const [loaded, setLoaded] = useState({ text: script, times: 0 });
  const show = useShowDialog();
  const [problem, setProblem] = useState<Problem | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  const mayPlan = useWhyNotPlan();
  const why = mayPlan ?? (isFile && !mayAs(me, "admin") ? `${account} has the role ${me.role}; a PySpark file is saved by an admin alone` : null);
  const queries = useQueryClient();
  const catalog = useMemo(() => catalogNames(queries), [queries]);
  const faults = useMemo(() => faultsOf(problem), [problem]);
  const form = `${verb}-form`;
  const isNew = script !== firstScript || Object.entries(values).some(([name, value]) => value !== first[name]);
  const isSaved = useRef(false);
  useEffect(() => {
    if (isSaved.current) return;
    setKept(keepDraft(account, what, isNew ? { script, values, base: draft?.base ?? firstScript, at: Date.now() } : null));
  }, [account, what, isNew, script, values, draft, firstScript]);
  useEffect(() => {
    if (isKept || !isNew) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [isKept, isNew]);
  const saved = () => {
    isSaved.current = true;
    keepDraft(account, what, null);
  };
  const takeBack = () => {
    setDraft(null);
    setValues(first);
    load(firstScript);
  };
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (why !== null) return;
    setProblem(null);
    const body = { ...given, ...bodyOf(fields, values), script };
    // Beside the pages: this form begins anew once there is another version, and what came of it is still to be seen.
    show(<ActionDialog verb={verb} title={title} body={body} fields={[]} close={() => show(null)} refused={refused} applied={saved} />);
  };
  const refused = (found: Problem) => {
    if (placeOf(found) === null && !isOfScript(found)) return;
    show(null);
    setProblem(found);
  };
  const load = (text: string) => {
    setScript(text);
    setLoaded({ text, times: loaded.times + 1 });
    setProblem(null);
  };
  const upload = async (file: File | undefined) => {
    if (file === undefined) return;
    const found = await fileText(file);
    setWrong(found.wrong);
    if (found.text !== null) load(found.text);
  };
  return (
    <>
      {draft === null ? null : (
        <div className="notice warn" role="status">
          <p>
            This is what you wrote here <Age ms={draft.at} absolute /> and did not save; this browser has kept it.
            {draft.base === firstScript ? "" : " The script that it began with is another one than what is saved now."}
          </p>
        </div>
      )}
      {isKept || !isNew ? null : (
        <div className="notice warn" role="status">
          <p>This browser does not keep what you write: it is lost where the page is left before it is saved.</p>
        </div>
      )}
      {isFile ? (
        <div className="notice warn">
          <p>
            A PySpark file runs any code with the rights of the service&apos;s user. Python compiles it when it is planned, and nothing of it is run before the
            stream is started; it has no preview, and no grant of the catalog judges it.
          </p>
        </div>
      ) : null}
      <form className="panel" id={form} aria-label={title} onSubmit={submit}>
        <div className="wide-form">
          <FormFields fields={fields} values={values} change={(name, value) => setValues((before) => ({ ...before, [name]: value }))} />
        </div>
        <div className="stack">
          <div className="row">
            <h2>{isFile ? "PySpark file" : "Script"}</h2>
            <span className="dim small">{isFile ? "" : "Ctrl-Space completes, "}Ctrl-Enter plans, Tab leaves the editor.</span>
            <span className="row end">
              <label className="button little file">
                Read a file
                <input
                  type="file"
                  className="hidden"
                  accept={isFile ? ".py,text/x-python" : ".sql,text/plain"}
                  onChange={(event) => {
                    void upload(event.target.files?.[0]);
                    event.target.value = "";
                  }}
                />
              </label>
              {isNew ? (
                <Button little act={takeBack}>
                  Take my changes back
                </Button>
              ) : null}
            </span>
          </div>
          <Suspense fallback={<Waiting what="the editor" />}>
            <SqlEditor
              key={loaded.times}
              label="Script"
              text={loaded.text}
              change={(text) => {
                isSaved.current = false;
                setScript(text);
                setProblem(null);
              }}
              faults={faults}
              catalog={catalog}
              kind={kind}
              submit={() => (document.getElementById(form) as HTMLFormElement | null)?.requestSubmit()}
            />
          </Suspense>
          <Wrong what={wrong} />
          {problem === null ? null : <ProblemOf problem={problem} title={titleOf(problem)} />}
        </div>
        <Submit label={label} why={why} />
      </form>
      {isFile ? null : <TryPanel of={{ script, ...(verb === "streams.edit" ? { stream: String(given["stream"]) } : {}) }} refused={setProblem} />}
    </>
  );
}

const isOfScript = (problem: Problem): boolean => problem.field === "script" || /(script|no-select)$/.test(problem.type);

function titleOf(problem: Problem): string {
  const place = placeOf(problem);
  return place === null ? "The script is refused" : `The script is refused at line ${place.line}`;
}
