import type { ReactNode } from "react";
import { problemFrom, type Problem } from "../api/problem";
import { Shape } from "./Shape";

interface Props {
  error: unknown;
  title?: string;
  again?: (() => void) | undefined;
  children?: ReactNode;
}

/** Why something was not done or is not shown, with the next step. */
export function ProblemNotice({ error, title, again, children }: Props) {
  return <ProblemOf problem={problemFrom(error)} {...(title ? { title } : {})} again={again} children={children} />;
}

interface OfProps {
  problem: Problem;
  title?: string;
  tone?: "bad" | "warn";
  again?: (() => void) | undefined;
  children?: ReactNode;
}

export function ProblemOf({ problem, title, tone = "bad", again, children }: OfProps) {
  return (
    <div className={`notice ${tone}`} role="alert">
      <div className="notice-title">
        <Shape name={tone === "bad" ? "cross" : "triangle"} size={12} />
        <span>{title ?? sentence(problem.detail)}</span>
      </div>
      {title ? <p>{sentence(problem.detail)}</p> : null}
      {problem.hint ? <p className="dim">What to do: {problem.hint}</p> : null}
      {again || children ? (
        <div className="row">
          {again ? (
            <button type="button" className="button little" onClick={again}>
              Try again
            </button>
          ) : null}
          {children}
        </div>
      ) : null}
    </div>
  );
}

export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
