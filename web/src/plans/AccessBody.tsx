import type { Schemas } from "../api/client";
import { decimal } from "../format/numbers";
import { Badge } from "../parts/Badge";
import { MoreRows } from "../parts/MoreRows";
import { Reasons } from "../parts/Reasons";
import { Table } from "../parts/Table";

type Wave = Schemas["WaveAccess"];

/** Access rules and quotas that would be made, changed and deleted on the target, and what a person should look at. */
export const AccessBody = ({ plan }: { plan: Schemas["AccessPlan"] }) => (
  <div className="stack-wide">
    {plan.waves.every(isDone) ? <p className="strong">Nothing is to do on {plan.target}.</p> : null}
    {plan.waves.filter((wave) => !isDone(wave)).map((wave) => (
      <WaveAccess key={wave.wave} wave={wave} target={plan.target} />
    ))}
    {plan.reasons.length ? <Reasons reasons={plan.reasons} /> : null}
  </div>
);

/** Whether a wave has what it is to have. */
const isDone = ({ changes }: Wave): boolean =>
  [changes.create, changes.delete, changes.adopt, changes.forget, changes.quotas, changes.quotas_adopted, changes.quotas_forgotten].every((one) => one.length === 0);

function WaveAccess({ wave: { wave, changes, is_proposed: isProposed }, target }: { wave: Wave; target: string }) {
  const rules = [
    ...changes.create.map((rule) => ({ rule, what: isProposed ? "is proposed" : "is made", isNew: true })),
    ...changes.delete.map((rule) => ({ rule, what: "is deleted", isNew: false })),
  ];
  return (
    <section className="stack" aria-label={`Wave ${wave}`}>
      <h3>Wave {wave}</h3>
      {isProposed ? <p className="dim">The source keeps no rules: these are what the principals that the wave names need.</p> : null}
      {rules.length ? (
        <MoreRows rows={rules} what="rules">
          {(shown) => (
            <Table
              caption={`Access rules of wave ${wave} on ${target}`}
              rows={shown}
              rowKey={(_, at) => String(at)}
              columns={[
                {
                  key: "what",
                  label: "what becomes of it",
                  head: <span className="hidden">What becomes of it</span>,
                  cell: ({ what, isNew }) => (
                    <Badge tone={isNew ? "busy" : "warn"} shape={isNew ? "check" : "cross"}>
                      {what}
                    </Badge>
                  ),
                },
                { key: "rule", label: "rule", head: "Rule", cell: ({ rule }) => `${rule.permission.toLowerCase()} ${rule.operation.toLowerCase().replaceAll("_", " ")}` },
                { key: "on", label: "on", head: "On", cell: ({ rule }) => <span className="anywhere">{`${rule.resource_type.toLowerCase()} ${rule.resource_name}${rule.pattern === "PREFIXED" ? "*" : ""}`}</span> },
                { key: "who", label: "for", head: "For", cell: ({ rule }) => <span className="anywhere">{rule.host === "*" ? rule.principal : `${rule.principal} from ${rule.host}`}</span> },
              ]}
            />
          )}
        </MoreRows>
      ) : null}
      {changes.quotas.length ? (
        <Table
          caption={`Quotas of wave ${wave} on ${target}`}
          rows={changes.quotas}
          rowKey={(_, at) => String(at)}
          columns={[
            { key: "quota", label: "quota", head: "Quota", cell: (one) => one.name },
            { key: "of", label: "of", head: "Of", cell: (one) => one.entity.map(([kind, name]) => `${kind} ${name ?? "default"}`).join(", ") },
            { key: "now", label: "now", head: "Now", number: true, cell: (one) => limit(one.before) },
            { key: "then", label: "then", head: "Then", number: true, cell: (one) => <span className="change-new">{limit(one.value)}</span> },
          ]}
        />
      ) : null}
      {changes.adopt.length + changes.forget.length + changes.quotas_adopted.length + changes.quotas_forgotten.length ? (
        <p className="dim">What was made for other waves, and is this one&apos;s, too, or is not any more, is noted; nothing changes for applications.</p>
      ) : null}
    </section>
  );
}

const limit = (value: number | null): string => (value === null ? "none" : decimal(value));
