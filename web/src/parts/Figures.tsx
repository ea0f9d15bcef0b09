import type { ReactNode } from "react";

export interface Figure {
  label: string;
  value: ReactNode;
  note?: ReactNode;
}

export const Figures = ({ figures }: { figures: readonly Figure[] }) => (
  <dl className="figures">
    {figures.map(({ label, value, note }) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd>
          {value}
          {note ? <small>{note}</small> : null}
        </dd>
      </div>
    ))}
  </dl>
);
