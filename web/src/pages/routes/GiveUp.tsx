import { Action } from "../../plans/Action";
import { hasPublished, isOpen, type SwitchSummary } from "../../routes/switches";

/** A button that plans to give a switch up; whoever looks at the switch sees how it goes on. */
export function GiveUp({ one }: { one: SwitchSummary }) {
  if (!isOpen(one)) return null;
  return (
    <Action verb="routes.cancel" body={{ switch: one.id }} title="Give the switch up" why={whyNot(one)}>
      Give it up
    </Action>
  );
}

function whyNot(one: SwitchSummary): string | null {
  if (hasPublished(one)) return `version ${one.version} is published: it is too late to give the switch up`;
  return one.why === "" ? null : "it was given up already";
}
