import { Badge } from "../parts/Badge";
import { stateOf, type SwitchSummary } from "./switches";

export function SwitchBadge({ one }: { one: SwitchSummary }) {
  const { words, tone, shape } = stateOf(one);
  return (
    <Badge tone={tone} shape={shape}>
      {words}
    </Badge>
  );
}
