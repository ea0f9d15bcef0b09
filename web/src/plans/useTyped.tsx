import { useState, type ReactNode } from "react";
import type { Schemas } from "../api/client";
import { Field } from "../parts/Field";

/** Where a plan deletes records: a field in which to type of what, and why it is not applied before that. */
export function useTyped(plan: Schemas["PlanAnswer"] | undefined): { field: ReactNode; why: string | null } {
  const [typed, setTyped] = useState("");
  const asked = askedOf(plan);
  if (asked === null) return { field: null, why: null };
  const { name, whose, hint, deletes } = asked;
  const field = (
    <Field label={`Type the ${whose} name, ${name}`} hint={hint}>
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
  return { field, why: typed === name ? null : `type ${name}, the ${whose} name, to have ${deletes}` };
}

interface Asked {
  name: string;
  whose: string;
  hint: string;
  deletes: string;
}

function askedOf(plan: Schemas["PlanAnswer"] | undefined): Asked | null {
  if (plan?.verb === "migrations.cancel" && plan.request["purge"] === true) {
    const hint = "Its topics on the target are deleted with all that is in them.";
    return { name: String(plan.request["wave"]), whose: "wave's", hint, deletes: "its topics deleted" };
  }
  if (plan?.verb === "catalog.drop" && plan.request["topic"] === true) {
    const hint = "Its topic is deleted with all that is in it.";
    return { name: String(plan.request["name"]), whose: "table's", hint, deletes: "its topic deleted" };
  }
  return null;
}
