import { Field } from "../parts/Field";
import { askedOf, type FieldSpec, type Values } from "./specs";

interface Props {
  fields: readonly FieldSpec[];
  values: Values;
  change: (name: string, value: string) => void;
  /** The field that the service refused, and why. */
  wrong?: { field: string; why: string } | null;
}

export const FormFields = ({ fields, values, change, wrong = null }: Props) => (
  <div className="stack">
    {askedOf(fields, values).map((field) => {
      if (field.given !== undefined) return null;
      const value = values[field.name] ?? "";
      if (field.kind === "check") {
        return (
          <label key={field.name} className="check">
            <input
              type="checkbox"
              checked={value === "yes"}
              onChange={(event) => change(field.name, event.target.checked ? "yes" : "")}
            />
            <span>
              {field.label}
              {field.hint ? <span className="dim small"> – {field.hint}</span> : null}
            </span>
          </label>
        );
      }
      const why = wrong !== null && wrong.field.split(".")[0] === field.name ? wrong.why : null;
      return (
        <Field key={field.name} label={field.label} hint={field.hint} wrong={why}>
          {(attributes) => {
            const common = { ...attributes, className: "input", value, required: field.required ?? false };
            if (field.kind === "lines") {
              return (
                <textarea
                  {...common}
                  rows={2}
                  spellCheck={false}
                  onChange={(event) => change(field.name, event.target.value)}
                />
              );
            }
            if (field.kind === "choice" || field.kind === "truth") {
              return (
                <select {...common} onChange={(event) => change(field.name, event.target.value)}>
                  {field.choices?.map(([word, told]) => (
                    <option key={word} value={word}>
                      {told}
                    </option>
                  ))}
                </select>
              );
            }
            return (
              <input
                {...common}
                type={field.kind === "number" ? "number" : "text"}
                autoComplete="off"
                spellCheck={false}
                onChange={(event) => change(field.name, event.target.value)}
              />
            );
          }}
        </Field>
      );
    })}
  </div>
);

export const initialOf = (fields: readonly FieldSpec[]): Values =>
  Object.fromEntries(fields.map((field) => [field.name, field.initial ?? ""]));
