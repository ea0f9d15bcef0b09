import { useId, type ReactNode } from "react";

interface Around {
  label: string;
  hint?: ReactNode;
  wrong?: string | null | undefined;
  children: (attributes: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ReactNode;
}

/** A label, what it labels, and what is said about it. */
export function Field({ label, hint, wrong, children }: Around) {
  const id = useId();
  const told = hint || wrong ? `${id}-told` : undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, ...(told ? { "aria-describedby": told } : {}), ...(wrong ? { "aria-invalid": true } : {}) })}
      {told ? (
        <div id={told}>
          {wrong ? <div className="wrong">{wrong}</div> : null}
          {hint ? <div className="hint">{hint}</div> : null}
        </div>
      ) : null}
    </div>
  );
}
