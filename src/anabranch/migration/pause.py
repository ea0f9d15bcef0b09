"""For how long a switch holds the applications of a wave up, from its journal alone.

It counts until the applications are led, or let go, on the other cluster, or until all of it was put back.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.migration.run import WaveRun
from anabranch.migration.steps import StepKind

_FREES = {
    StepKind.JOURNAL,
    StepKind.PUBLISH_GROUPS,
    StepKind.PUBLISH_CHECKPOINTS,
    StepKind.LIFT_FENCE,
    StepKind.ROUTES,
    StepKind.RELEASE,
}


@dataclass(frozen=True, slots=True)
class HeldUp:
    """From when to when, in ms; ``until_ms`` is None while it lasts."""

    since_ms: int
    until_ms: int | None

    def length_ms(self, now_ms: int) -> int:
        """How long it was, or has been until now."""
        return max(0, (now_ms if self.until_ms is None else self.until_ms) - self.since_ms)


def pause_of(run: WaveRun) -> HeldUp | None:
    """The pause of a switch; None where it has not begun, or the run holds nobody up."""
    since = run.held_since_ms
    if since is None:
        return None
    last = max(at for at, step in enumerate(run.steps) if step.kind in _FREES)
    if last < len(run.times) and not run.why:
        return HeldUp(since, run.times[last])
    return HeldUp(since, run.over_ms)
