import { Badge } from "../parts/Badge";
import type { ShapeName } from "../parts/Shape";

const SHAPES: Readonly<Record<string, ShapeName>> = { database: "ring", table: "square", view: "half", function: "play" };

export const KindBadge = ({ kind }: { kind: string }) => (
  <Badge tone={kind === "table" ? "busy" : "idle"} shape={SHAPES[kind] ?? "dot"}>
    {kind}
  </Badge>
);
