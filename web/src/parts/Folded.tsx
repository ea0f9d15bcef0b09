import { useState, type ReactNode } from "react";

interface Props {
  summary: ReactNode;
  children: () => ReactNode;
  open?: boolean;
}

/** What is drawn once it is unfolded: a page of many of them is not slow. */
export function Folded({ summary, children, open = false }: Props) {
  const [isOpen, setOpen] = useState(open);
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen ? children() : null}
    </details>
  );
}
