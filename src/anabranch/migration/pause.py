"""For how long a switch holds the applications of a wave up, from its journal alone.

It counts until the applications are led, or let go, on the other cluster, or until all of it was put back.

Of a topic it is known from when its last record was written on the cluster that is left, by the record's own time.  The
first one on the other cluster comes after the applications are let go there: so a topic's pause was at least that long.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.migration.run import WaveRun
from anabranch.migration.steps import StepKind

LAST = "last_ms"
"""Under this a run wrote down when each topic was written to for the last time."""
_FREES = {
    StepKind.JOURNAL,
    StepKind.PUBLISH_GROUPS,
    StepKind.PUBLISH_CHECKPOINTS,
    StepKind.LIFT_FENCE,
    StepKind.LIFT_GROUPS,
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


def topic_pauses(run: WaveRun) -> dict[str, int]:
    """For how many ms at least each topic was not written to, by its name on the cluster that was left.

    A topic of which the last record is older than the run is left out, for nobody says that somebody wrote there, and
    so is one whose records have times of later.
    """
    held = pause_of(run)
    if held is None or held.until_ms is None or run.why:
        return {}
    stops = (step for step in run.steps if step.kind is StepKind.STOP_LINK)
    last: dict[str, int] = {}
    for step in stops:
        last |= run.result(step.kind, step.subject).get(LAST, {})
    return {topic: held.until_ms - ms for topic, ms in sorted(last.items()) if run.began_ms <= ms <= held.until_ms}
