import { Badge } from "../parts/Badge";
import { runState, waveState, type Wave, type WaveRun } from "./waves";

export function WaveBadge({ wave }: { wave: Wave }) {
  const { words, tone, shape } = waveState(wave);
  return (
    <Badge tone={tone} shape={shape}>
      {words}
    </Badge>
  );
}

export function RunBadge({ run }: { run: WaveRun }) {
  const { words, tone, shape } = runState(run);
  return (
    <Badge tone={tone} shape={shape}>
      {words}
    </Badge>
  );
}

export const HeldBadge = () => (
  <Badge tone="warn" shape="pause">
    held
  </Badge>
);
