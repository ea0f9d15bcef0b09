import type { ReactNode } from "react";

export const Empty = ({ title, children }: { title: string; children?: ReactNode }) => (
  <div className="empty">
    <p className="strong">{title}</p>
    {children}
  </div>
);
