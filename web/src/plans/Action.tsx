import type { ReactNode } from "react";
import { useWhyNotPlan } from "../session/me";
import { Button } from "../parts/Button";
import { useShowDialog } from "../parts/DialogHost";
import { ActionDialog } from "./ActionDialog";
import { FIELDS, isDanger, type FieldSpec } from "./specs";

interface Props {
  verb: string;
  body: Readonly<Record<string, unknown>>;
  title: string;
  children: ReactNode;
  main?: boolean;
  little?: boolean;
  /** Why it makes no sense just now. */
  why?: string | null;
  /** Known values of the verb's fields. */
  given?: Readonly<Record<string, string>>;
  /** What is asked in place of the verb's own fields. */
  asks?: readonly FieldSpec[];
}

/** A button that plans a verb; who may not is told why. */
export function Action({ verb, body, title, children, main = false, little = false, why = null, given = {}, asks }: Props) {
  const show = useShowDialog();
  const whyNot = useWhyNotPlan();
  const fields: readonly FieldSpec[] = (asks ?? FIELDS[verb] ?? [])
    .filter((field) => !(field.name in body))
    .map((field) => (field.name in given ? { ...field, initial: given[field.name] ?? "" } : field));
  const open = () =>
    show(<ActionDialog verb={verb} body={body} title={title} fields={fields} close={() => show(null)} />);
  return (
    <Button kind={main ? "main" : isDanger(verb) ? "danger" : "plain"} little={little} why={whyNot ?? why} act={open}>
      {children}
    </Button>
  );
}
