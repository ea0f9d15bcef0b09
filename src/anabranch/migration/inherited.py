"""What a run is told by those before it of its wave, as results that it begins with.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, WaveRunState, key_of
from anabranch.migration.spec import FenceKind, Wave
from anabranch.migration.standing import WaveVerb
from anabranch.migration.steps import StepKind

ABSENT, DENIED, MADE, LANES = "absent", "denied", "made", "lanes"
Results = dict[str, Mapping[str, Any]]


def inherited(leg: Leg, verb: WaveVerb, runs: Iterable[WaveRun], *, purge: bool) -> Results:
    """The results that a run of a verb on a leg begins with; ``runs`` are all of its wave, the oldest first.

    A purge is told which topics were made, and a reconcile where copies ended as the source was lost.  A switch to
    where applications were before is told which rules of the fence were made there when they left, and which were not.
    """
    done = [run for run in runs if run.state is WaveRunState.DONE]
    if purge:
        return _made(leg.wave, done)
    if verb is WaveVerb.RECONCILE:
        return _lost(leg.wave, done)
    if verb in (WaveVerb.SWITCH, WaveVerb.REVERSE) and FenceKind.ACL in leg.wave.fences:
        return _denied(leg, done)
    return {}


def _made(wave: Wave, done: Iterable[WaveRun]) -> Results:
    """The topics that the wave's starts made, by what each wrote down before; those before a purge are gone."""
    made: set[str] = set()
    for run in done:
        if run.what == WaveVerb.START.value:
            made |= set(run.result(StepKind.LOOK, wave.name).get(ABSENT, ()))
        elif any(step.kind is StepKind.PURGE for step in run.steps):
            made.clear()
    return {key_of(StepKind.LOOK, wave.name): {ABSENT: sorted(made)}} if made else {}


def _lost(wave: Wave, done: Iterable[WaveRun]) -> Results:
    """Where copies ended, by the last switch without the source; what it doubted is not this run's to tell."""
    key = key_of(StepKind.LOST_TAIL, wave.name)
    lost = [run.results[key][LANES] for run in done if run.what == WaveVerb.SWITCH.value and key in run.results]
    return {key: {LANES: lost[-1]}} if lost else {}


def _denied(leg: Leg, done: Iterable[WaveRun]) -> Results:
    """What the fence has denied where a leg leads to, and what was denied before it.

    Of a source that was lost that is what the first reconcile found: later ones find the fence itself.
    """
    found: Results = {}
    for run in done:
        if run.what == WaveVerb.CANCEL.value:
            found = {}
        fenced = any((step.kind, step.subject) == (StepKind.FENCE, FenceKind.ACL) for step in run.steps)
        if fenced and run.leg == leg.number - 1 and not found:
            looks = (run.result(kind, leg.wave.name) for kind in (StepKind.PREFLIGHT, StepKind.PROVE_FOUND))
            denied = [rule for look in looks for rule in look.get(DENIED, ())]
            made = run.result(StepKind.FENCE, FenceKind.ACL.value)
            told = {DENIED: denied, **({MADE: list(made[MADE])} if MADE in made else {})}
            found = {key_of(StepKind.LIFT_FENCE, leg.wave.name): told}
    return found
