"""What a run leaves out once a person has said that one of the migration's clusters is gone: what only that hears of.

It is named, step by step, so that whoever finds the cluster again knows what is still there, and what of it a reconcile
puts back then.  Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from anabranch.migration.ends import End
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import FenceKind
from anabranch.migration.steps import MigrationStep, StepKind

LEFT_OUT = {"left out": True}
"""What a step writes down that was not done."""
_LANDS_THERE = {
    StepKind.CREATE_LINK,
    StepKind.ACCESS,
    StepKind.PUBLISH_GROUPS,
    StepKind.LIFT_FENCE,
    StepKind.LIFT_GROUPS,
    StepKind.RELEASE,
    StepKind.PAUSE_LINK,
    StepKind.RESUME_LINK,
    StepKind.RUN_LINK,
    StepKind.PURGE,
}
"""Steps that change something on the cluster where a leg ends: its link is stored there, too."""
_FENCES = (FenceKind.ACL.value, FenceKind.HOOK.value)
_STAYS = {
    StepKind.FENCE,
    StepKind.FENCE_GROUPS,
    StepKind.PAUSE_LINK,
    StepKind.PREPARE_REVERSE,
    StepKind.CREATE_LINK,
}
"""What leaves something behind on a cluster where it is not put back."""
_PUT_BACK_LATER = {StepKind.FENCE, StepKind.FENCE_GROUPS, StepKind.PREPARE_REVERSE}
_MADE_UP_FOR = {*_PUT_BACK_LATER, StepKind.PAUSE_LINK}
"""What a reconcile sees to once the cluster is back."""
LEADS_FROM: Mapping[End, tuple[str, str]] = {
    End.SOURCE: ("switch", "--source-lost"),
    End.TARGET: ("reverse", "--target-lost"),
}
"""What leads applications away from a cluster that is lost: the verb, and what is said beside it."""


def is_left_out(leg: Leg, step: MigrationStep, lost: End) -> bool:
    """Whether a step, or putting it back, would ask the cluster that is lost, or lead somebody to it."""
    is_there = leg.ends_at is lost
    match step.kind:
        case StepKind.RUN_REVERSE:
            return True  # it copies between both
        case StepKind.FENCE:
            return not is_there and step.subject in _FENCES
        case StepKind.FENCE_GROUPS | StepKind.PREPARE_REVERSE:
            return not is_there
        case StepKind.PUT_BACK:
            return is_left_out(leg, put_back_of(step), lost)
        case StepKind.DELETE_LINK | StepKind.STOP_LINK:
            made = leg.of_link(step.subject)
            return made is not None and made.ends_at is lost
        case _:
            return is_there and step.kind in _LANDS_THERE


def left_out_words(leg: Leg, run: WaveRun) -> tuple[str, ...]:
    """What a run that has ended left out, in sentences, the next command last; empty where it asked both clusters."""
    return tuple(_words(leg, run)) if run.lost and not run.state.is_open else ()


def _words(leg: Leg, run: WaveRun) -> Iterator[str]:
    gone = leg.migration.at(run.lost_end)
    command = f"anabranch migrate {{}} {leg.migration.name} --wave {leg.wave.name}"
    if run.state is WaveRunState.CANCELLED:
        stay = [step for step in reversed(run.begun_steps) if stays_there(leg, step, run.lost_end)]
        yield from (f"not put back on {gone}: {step.text}" for step in stay)
        if any(step.kind in _MADE_UP_FOR for step in stay):
            yield f"once {gone} answers `{command.format('reconcile')}` puts it back"
        if any(step.kind is StepKind.CREATE_LINK for step in stay):
            delete = f"`anabranch link delete {leg.link} --target {gone}`"
            yield f"once {gone} answers: {delete}, and delete topics and access rules that the start made there"
    else:
        yield from (f"left out, for {gone} is gone: {step.text}" for step in _left_out(run))
    if _is_on_lost(run):
        verb, flag = LEADS_FROM[run.lost_end]
        yield f"its applications belong on {gone}: `{command.format(verb)} {flag}` leads them from there"


def stays_there(leg: Leg, step: MigrationStep, lost: End) -> bool:
    """Whether what a step has done to the cluster that is lost is not put back."""
    return step.kind in _STAYS and is_left_out(leg, step, lost)


def left_behind(leg: Leg, run: WaveRun) -> tuple[MigrationStep, ...]:
    """What a run of a leg that was taken back without a cluster has left where that begins, the last step first."""
    if run.leg != leg.number or not run.lost or run.state is not WaveRunState.CANCELLED:
        return ()
    begun = reversed(run.begun_steps)
    return tuple(one for one in begun if one.kind in _PUT_BACK_LATER and stays_there(leg, one, run.lost_end))


def _left_out(run: WaveRun) -> Iterator[MigrationStep]:
    return (step for step in run.steps if run.result(step.kind, step.subject) == LEFT_OUT)


def leaves_out(run: WaveRun) -> frozenset[StepKind]:
    """The kinds of steps that a run has left out."""
    return frozenset(step.kind for step in _left_out(run))


def leaves_behind(leg: Leg, run: WaveRun) -> bool:
    """Whether a cancel went without a cluster, where what it would have taken away is still."""
    first = leg.at(0).link
    asks_both = any((step.kind, step.subject) == (StepKind.DELETE_LINK, first) for step in run.steps)
    return not asks_both or bool(leaves_out(run))


def put_back_steps(cluster: str, steps: Iterable[MigrationStep]) -> Iterator[MigrationStep]:
    """Steps that put back, once a cluster is back, what was left behind there."""
    for step in steps:
        yield MigrationStep(
            StepKind.PUT_BACK, f"{step.kind.value}: {step.subject}", f"put back on {cluster}: {step.text}"
        )


def put_back_of(step: MigrationStep) -> MigrationStep:
    """The step that such a step puts back."""
    kind, _, subject = step.subject.partition(": ")
    return MigrationStep(StepKind(kind), subject, step.text)


def _is_on_lost(run: WaveRun) -> bool:
    """Whether those that a run was to lead are on the lost cluster once it has ended, by its journal."""
    leads = any(step.kind is StepKind.PREFLIGHT for step in run.steps)
    return leads and run.leads_to_lost is (run.state is WaveRunState.DONE)
