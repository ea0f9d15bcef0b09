import { useState, type FormEvent } from "react";
import { Badge } from "../../parts/Badge";
import { useShowDialog } from "../../parts/DialogHost";
import { Field } from "../../parts/Field";
import { Table } from "../../parts/Table";
import { ActionDialog } from "../../plans/ActionDialog";
import { linesOf } from "../../plans/specs";
import { useWhyNotPlan } from "../../session/me";
import { KINDS, settingsOf, written, type AlertRule, type StreamAlerts, type WrittenRule } from "../../streams/alerts";
import { Submit } from "../checkpoints/Submit";

/** The rules, to be written over; what is new becomes a plan. */
export function AlertRulesForm({ found }: { found: StreamAlerts }) {
  const [rules, setRules] = useState<Readonly<Record<string, WrittenRule>>>(() =>
    Object.fromEntries(found.rules.map((rule) => [rule.kind, written(rule)])),
  );
  const [receivers, setReceivers] = useState("");
  const show = useShowDialog();
  const whyNot = useWhyNotPlan();
  const settings = settingsOf(found.rules, rules);
  const told = linesOf(receivers);
  const why = whyNot ?? (settings.length + told.length === 0 ? "nothing was changed" : null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (why !== null) return;
    const body = { stream: found.stream, ...(found.target ? { target: found.target } : {}), settings, ...(told.length ? { receivers: told } : {}) };
    // Beside the pages: this form begins anew once there are other rules, and what came of it is still to be seen.
    show(<ActionDialog verb="streams.alerts" title={`Change the alerts of ${found.stream}`} body={body} fields={[]} close={() => show(null)} />);
  };
  const change = (kind: string, values: Partial<WrittenRule>) =>
    setRules((before) => ({ ...before, [kind]: { ...(before[kind] ?? { limit: "", seconds: "", on: true }), ...values } }));
  const rule = ({ kind }: AlertRule): WrittenRule => rules[kind] ?? { limit: "", seconds: "", on: true };
  return (
    <form className="panel" aria-label="Rules" onSubmit={submit}>
      <h2>Rules</h2>
      <Table
        caption="Rules"
        rows={found.rules}
        rowKey={({ kind }) => kind}
        columns={[
          {
            key: "alert",
            label: "alert",
            head: "Alert",
            cell: (one) => (
              <div className="told">
                <strong>{one.kind}</strong>{" "}
                {one.is_changed ? (
                  <Badge tone="idle" shape="half">
                    changed
                  </Badge>
                ) : null}
                <div className="small dim">{KINDS[one.kind].what}</div>
              </div>
            ),
          },
          {
            key: "on",
            label: "on",
            head: "On",
            cell: (one) => (
              <input type="checkbox" aria-label={`${one.kind} is on`} checked={rule(one).on} onChange={(event) => change(one.kind, { on: event.target.checked })} />
            ),
          },
          {
            key: "limit",
            label: "limit",
            head: "Limit",
            cell: (one) =>
              KINDS[one.kind].limit === null ? (
                <span className="dim">none</span>
              ) : (
                <span className="row">
                  <Number label={`Limit of ${one.kind}, in ${KINDS[one.kind].limit}`} value={rule(one).limit} change={(limit) => change(one.kind, { limit })} />
                  <span className="dim small">{KINDS[one.kind].limit}</span>
                </span>
              ),
          },
          {
            key: "for",
            label: "for",
            head: "For",
            cell: (one) => (
              <span className="row">
                <Number label={`Seconds of ${one.kind}`} value={rule(one).seconds} change={(seconds) => change(one.kind, { seconds })} />
                <span className="dim small">s</span>
              </span>
            ),
          },
        ]}
      />
      <Field label="Tell these instead" hint="Receivers of the service's file, one a line; all for every one of them; empty leaves it.">
        {(attributes) => (
          <textarea {...attributes} className="input" rows={2} spellCheck={false} value={receivers} onChange={(event) => setReceivers(event.target.value)} />
        )}
      </Field>
      <Submit label="Plan the change" why={why} />
    </form>
  );
}

const Number = ({ label, value, change }: { label: string; value: string; change: (text: string) => void }) => (
  <input className="input short" inputMode="decimal" aria-label={label} value={value} onChange={(event) => change(event.target.value)} />
);
