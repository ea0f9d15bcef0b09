"""For how long a switch holds the applications of a wave up, from its journal alone.

It counts from when the first fence was begun, or, where nobody is kept from anything, from when it was proved that
nobody writes, or that nobody reads: until the applications are led, or let go, on the other cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.migration.run import WaveRun
from anabranch.migration.steps import StepKind

_PROVES = (StepKind.QUIET, StepKind.GROUPS_EMPTY)
_FREES = {
    StepKind.JOURNAL,
    StepKind.PUBLISH_GROUPS,
    StepKind.PUBLISH_CHECKPOINTS,
    StepKind.LIFT_FENCE,
    StepKind.ROUTES,
    StepKind.RELEASE,
}


@dataclass(frozen=True, slots=True)
class Pause:
    """From when to when, in ms; ``until_ms`` is None while it lasts."""

    since_ms: int
    until_ms: int | None

    def length_ms(self, now_ms: int) -> int:
        """How long it was, or has been until now."""
        return max(0, (now_ms if self.until_ms is None else self.until_ms) - self.since_ms)


def pause_of(run: WaveRun) -> Pause | None:
    """The pause of a switch; None where it has not begun, or the run holds nobody up."""
    kinds = [step.kind for step in run.steps]
    if StepKind.PREFLIGHT not in kinds or StepKind.JOURNAL not in kinds:
        return None
    since = _since(run, kinds)
    if since is None:
        return None
    last = max(at for at, kind in enumerate(kinds) if kind in _FREES)
    if last < len(run.times) and not run.why:
        return Pause(since, run.times[last])
    return Pause(since, run.over_ms)


def _since(run: WaveRun, kinds: list[StepKind]) -> int | None:
    if StepKind.FENCE in kinds:
        before = kinds.index(StepKind.FENCE) - 1
    else:
        before = next((kinds.index(kind) for kind in _PROVES if kind in kinds), kinds.index(StepKind.JOURNAL) - 1)
    return run.times[before] if before < len(run.times) else None
