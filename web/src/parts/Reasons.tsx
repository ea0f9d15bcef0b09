import type { Schemas } from "../api/client";
import { Badge } from "./Badge";
import { SeverityBadge } from "./states";

type Reason = Schemas["Reason"];

/** Findings and refusals, each with its fix. */
export const Reasons = ({ reasons }: { reasons: readonly Reason[] }) => (
  <ul className="stack">
    {reasons.map((reason, index) => (
      <li key={index} className={`notice ${tone(reason)}`}>
        <div className="reason">
          {reason.severity ? (
            <SeverityBadge severity={reason.severity} />
          ) : (
            <Badge tone="bad" shape="cross">
              {reason.why ?? "refused"}
            </Badge>
          )}
          <p>
            {reason.what}
            {reason.location ? <code className="small dim anywhere"> {reason.location}</code> : null}
          </p>
        </div>
        {reason.fix ? <p className="dim">What to do: {reason.fix}</p> : null}
      </li>
    ))}
  </ul>
);

const tone = (reason: Reason): string =>
  reason.severity === "warning" ? "warn" : reason.severity === "info" ? "" : "bad";
