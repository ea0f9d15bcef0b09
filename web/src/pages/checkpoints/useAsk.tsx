import { useState, type FormEvent, type ReactNode } from "react";
import { FormFields, initialOf } from "../../plans/FormFields";
import { bodyOf, type FieldSpec, type Values } from "../../plans/specs";

interface Asked {
  form: ReactNode;
  values: Values;
  /** Fill the form in otherwise. */
  fill: (values: Values) => void;
}

/** A form of these fields; `send` gets what was filled in. */
export function useAsk(fields: readonly FieldSpec[], label: string, send: (body: Record<string, unknown>) => void): Asked {
  const [values, setValues] = useState<Values>(() => initialOf(fields));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send(bodyOf(fields, values));
  };
  const form = (
    <form className="stack wide-form" onSubmit={submit}>
      <FormFields
        fields={fields}
        values={values}
        change={(name, value) => setValues((before) => ({ ...before, [name]: value }))}
      />
      <div>
        <button type="submit" className="button main">
          {label}
        </button>
      </div>
    </form>
  );
  return { form, values, fill: setValues };
}
