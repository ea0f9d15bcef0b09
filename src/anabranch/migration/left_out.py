"""What a run leaves out once a person has said that the migration's source is gone: all that only the source hears of.

It is named, step by step, so that whoever finds the source again knows what is still there.  Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import FenceKind
from anabranch.migration.steps import MigrationStep, StepKind

LEFT_OUT = {"left out": True}
"""What a step writes down that was not done."""
_LANDS_THERE = {
    StepKind.PUBLISH_GROUPS,
    StepKind.LIFT_FENCE,
    StepKind.RELEASE,
    StepKind.PAUSE_LINK,
    StepKind.RESUME_LINK,
    StepKind.RUN_LINK,
    StepKind.STOP_LINK,
}
"""Steps that change something on the cluster where a leg ends: its link is stored there, too."""
_FENCES = (FenceKind.ACL.value, FenceKind.HOOK.value)


def is_left_out(leg: Leg, step: MigrationStep) -> bool:
    """Whether a step, or putting it back, would ask the source, or lead somebody to it."""
    match step.kind:
        case StepKind.RUN_REVERSE:
            return True  # it copies between both
        case StepKind.FENCE:
            return not leg.leads_back and step.subject in _FENCES
        case StepKind.PREPARE_REVERSE:
            return not leg.leads_back
        case StepKind.DELETE_LINK:
            return any(leg.at(number).link == step.subject for number in range(1, leg.number + 1, 2))
        case _:
            return leg.leads_back and step.kind in _LANDS_THERE


def left_out_words(leg: Leg, run: WaveRun) -> tuple[str, ...]:
    """What a run that has ended left out, in sentences, the next command last; empty where it asked both clusters."""
    return tuple(_words(leg, run)) if run.lost and not run.state.is_open else ()


def _words(leg: Leg, run: WaveRun) -> Iterator[str]:
    source = leg.migration.source
    if run.state is WaveRunState.CANCELLED:
        begun = run.steps[: len(run.times) + 1]
        yield from (f"not put back on {source}: {step.text}" for step in reversed(begun) if stays_there(leg, step))
    else:
        left = [step for step in run.steps if run.result(step.kind, step.subject) == LEFT_OUT]
        yield from (f"left out, for {source} is gone: {step.text}" for step in left)
    command = f"anabranch migrate {{}} {leg.migration.name} --wave {leg.wave.name}"
    if _is_on_source(leg, run):
        yield f"its applications belong on {source}: `{command.format('switch')} --source-lost` leads them from there"


def stays_there(leg: Leg, step: MigrationStep) -> bool:
    """Whether what a step has done to the source is not put back."""
    undone = {StepKind.FENCE, StepKind.PAUSE_LINK, StepKind.PREPARE_REVERSE}
    return step.kind in undone and is_left_out(leg, step)


def _is_on_source(leg: Leg, run: WaveRun) -> bool:
    """Whether those that a run was to lead are on the source once it has ended, by its journal."""
    leads = any(step.kind is StepKind.PREFLIGHT for step in run.steps)
    return leads and leg.leads_back is (run.state is WaveRunState.DONE)
