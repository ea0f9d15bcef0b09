import { useState, type ReactNode } from "react";
import type { Schemas } from "../api/client";
import { Field } from "../parts/Field";

/** Where a plan deletes records: a field in which to type of what, and why it is not applied before that. */
export function useTyped(plan: Schemas["PlanAnswer"] | undefined): { field: ReactNode; why: string | null } {
  const [typed, setTyped] = useState("");
  if (plan === undefined || plan.verb !== "migrations.cancel" || plan.request["purge"] !== true) return { field: null, why: null };
  const wave = String(plan.request["wave"]);
  const field = (
    <Field label={`Type the wave's name, ${wave}`} hint="Its topics on the target are deleted with all that is in them.">
      {(attributes) => (
        <input
          {...attributes}
          className="input"
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      )}
    </Field>
  );
  return { field, why: typed === wave ? null : `type ${wave}, the wave's name, to have its topics deleted` };
}
