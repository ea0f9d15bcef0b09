import { useId, type ReactNode } from "react";

interface Props {
  children: ReactNode;
  act: () => void;
  kind?: "main" | "danger" | "quiet" | "plain";
  little?: boolean;
  /** Why it cannot be pressed; it stays reachable, so that the reason can be read. */
  why?: string | null;
}

export function Button({ children, act, kind = "plain", little = false, why = null }: Props) {
  const id = useId();
  return (
    <>
      <button
        type="button"
        className={`button ${kind}${little ? " little" : ""}`}
        aria-disabled={why !== null}
        {...(why === null ? {} : { title: why, "aria-describedby": id })}
        onClick={() => {
          if (why === null) act();
        }}
      >
        {children}
      </button>
      {why === null ? null : (
        <span id={id} className="hidden">
          {why}
        </span>
      )}
    </>
  );
}
