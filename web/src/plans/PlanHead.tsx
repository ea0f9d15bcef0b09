import type { Schemas } from "../api/client";
import { useVerb } from "../session/me";
import { Age } from "../parts/Age";
import { CommandLine } from "../parts/CopyButton";
import { Facts } from "../parts/Facts";

/** Whose plan this is, of what, and how to name it. */
export function PlanHead({ plan }: { plan: Schemas["PlanAnswer"] }) {
  const verb = useVerb(plan.verb);
  return (
    <div className="stack">
      <Facts
        facts={[
          ["verb", verb ? `${plan.verb}: ${verb.summary}` : plan.verb],
          ["of", plan.subject],
          ["hash", <span key="hash" className="hash">{plan.hash}</span>],
          [
            "planned",
            <span key="planned">
              <Age ms={plan.planned_at} absolute /> by {plan.account}
            </span>,
          ],
          ["needs the role", plan.role],
        ]}
      />
      <CommandLine text={plan.command} files={plan.files} />
    </div>
  );
}
