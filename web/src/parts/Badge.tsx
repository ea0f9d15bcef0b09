import type { ReactNode } from "react";
import { Shape, type ShapeName } from "./Shape";

export type Tone = "idle" | "ok" | "busy" | "warn" | "bad";

export function Badge({ tone, shape, children }: { tone: Tone; shape: ShapeName; children: ReactNode }) {
  return (
    <span className={`badge ${tone}`}>
      <Shape name={shape} />
      {children}
    </span>
  );
}
