import type { ReactNode } from "react";
import type { Tone } from "../parts/Badge";
import { Shape, type ShapeName } from "../parts/Shape";

export interface ShownStep {
  text: string;
  tone: Tone;
  shape: ShapeName;
  /** Its state in a word; empty where there is none to tell. */
  state: string;
  /** How long it took; empty where that is not known. */
  took: string;
  isNow: boolean;
  /** Whether it is the point of no return, which is drawn as a line. */
  isLine: boolean;
  under?: ReactNode;
}

/** Steps one below the other, with the point of no return as a line across. */
export const StepList = ({ steps, label }: { steps: readonly ShownStep[]; label: string }) => (
  <ol className={steps.some((step) => step.took) ? "trail timed" : "trail"} aria-label={label}>
    {steps.map((step, index) => (
      <li key={index} className={`${step.tone}${step.isLine ? " line" : ""}`} {...(step.isNow ? { "aria-current": "step" as const } : {})}>
        <span className="mark">
          <Shape name={step.shape} size={12} />
        </span>
        <div className="what">
          <div>
            {step.isLine ? <strong>Point of no return: </strong> : null}
            {step.text}
          </div>
          {step.under}
        </div>
        <div className="how">
          {step.state ? <span>{step.state}</span> : null}
          <span className="dim">{step.took}</span>
        </div>
      </li>
    ))}
  </ol>
);
