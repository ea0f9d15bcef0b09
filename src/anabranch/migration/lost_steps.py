"""The steps of a switch, or a reverse, without the cluster that is left, and of what is done once that is back.

Nothing is asked of that cluster (``here`` of the leg) before the point of no return, nor after it; what cannot be known
without it is chosen by a person, and stands in the steps.  They are the same whichever way the leg leads: where the
source is lost its link tells up to where the target has all, where the target is lost the way back tells it of the
source, which begins with the offset map of the way there.  So positions are exact there even where it never ran.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch.migration.jobs import job_move
from anabranch.migration.left_out import put_back_steps
from anabranch.migration.legs import Leg
from anabranch.migration.options import TailChoice, UnknownGroups
from anabranch.migration.spec import FenceKind, WaveOrder
from anabranch.migration.steps import (
    MigrationStep,
    Part,
    StepKind,
    fence_groups,
    fence_text,
    pause_link,
    pinned,
    prepare_reverse,
    published,
    readers_held,
    released,
    run_reverse,
    stop_link,
)
from anabranch.model.counted import counted

LOOK_LOST_S = 5.0
"""For how long a cluster must not answer at any of its servers."""


def told_by(leg: Leg, part: Part) -> Leg:
    """The leg whose link tells where readers go on without the cluster that is left: it is stored on the other one.

    Consumers that went before their producers, and are led to these again, read there what producers write there: the
    link of their own leg is not made yet, and the one before it that leads the same way knows what came from there.  On
    their first way there is none: nothing tells but what they had committed before they went.
    """
    went_ahead = part is Part.CONSUMERS and leg.wave.order is WaveOrder.CONSUMERS_FIRST
    return leg.at(leg.number - 2) if went_ahead and leg.number > 1 else leg


def lost_switch_steps(
    leg: Leg, part: Part, groups: UnknownGroups, *, is_halfway: bool = False
) -> tuple[MigrationStep, ...]:
    """What a switch, or a reverse, does where the cluster that is left does not answer (M3).

    One that was lost while the wave was being led there (``is_halfway``) is left also where it answers again.
    """
    moves_readers, moves_writers = part is not Part.PRODUCERS, part is not Part.CONSUMERS
    wave = leg.wave.name
    gone = f"ask each bootstrap server of {leg.here} for {LOOK_LOST_S:g} s: one that answers forbids this"
    if is_halfway:
        gone = f"{leg.here} was lost while it was being led there: it is left also where it answers again"
    return (
        MigrationStep(StepKind.PROVE_LOST, wave, gone),
        *(_cut(leg, part) if moves_writers else readers_held(leg)),
        *(_staged(leg, groups) if moves_readers else ()),
        MigrationStep(StepKind.JOURNAL, wave, "write down that it goes on: until here all is put back"),
        *(published(leg) if moves_readers else ()),
        *released(leg, part),
        *((stop_link(leg),) if moves_writers else ()),
    )


def _cut(leg: Leg, part: Part) -> Iterator[MigrationStep]:
    """What can be done without that cluster so that nothing is written by halves."""
    for fence in leg.wave.fences:
        if fence in (FenceKind.ROUTES, FenceKind.HOOK):
            yield MigrationStep(StepKind.FENCE, fence.value, fence_text(fence, leg, part))
    yield pause_link(leg)
    tail = f"see up to where each log of {leg.here} was copied, and where it was last seen to end"
    yield MigrationStep(StepKind.LOST_TAIL, leg.wave.name, tail)


def _staged(leg: Leg, groups: UnknownGroups) -> Iterator[MigrationStep]:
    wave = leg.wave
    if wave.groups:
        then = {
            UnknownGroups.REFUSE: "one that is not known forbids this",
            UnknownGroups.EARLIEST: "one that is not known reads all again",
            UnknownGroups.LATEST: "one that is not known goes on after what was copied",
        }[groups]
        what = f"see where {counted(len(wave.groups), 'group')} were without asking {leg.here}: {then}"
        yield MigrationStep(StepKind.LOST_GROUPS, groups.value, what)
    for job in wave.jobs:
        what = f"rewrite {job_move(leg, job).at}: what was read and not copied ends where the copies end"
        yield MigrationStep(StepKind.LOST_CHECKPOINTS, job.name, what)


def returned_steps(leg: Leg, gone: str, left: Iterable[MigrationStep], *, is_halted: bool) -> tuple[MigrationStep, ...]:
    """What is done once a cluster, ``gone``, is back that nothing was lost with (M3); ``leg`` is whose link copies.

    ``left`` is what a run left where it begins that was taken back without that, the last step first.  ``is_halted``:
    the link may stand still since.  Both are there where both clusters were gone, one after the other.
    """
    wave = leg.wave.name
    return (
        MigrationStep(StepKind.PROVE_FOUND, wave, f"see that {gone} answers, and is the cluster that was left"),
        MigrationStep(StepKind.JOURNAL, wave, f"write down that {gone} is back"),
        *put_back_steps(leg.here, left),
        *(_copies_on(leg) if is_halted else ()),
    )


def _copies_on(leg: Leg) -> Iterator[MigrationStep]:
    link = leg.link
    yield MigrationStep(StepKind.RESUME_LINK, link, f"let link {link} copy on")
    yield MigrationStep(StepKind.RUN_LINK, link, f"run link {link}: {leg.there} keeps up, and going back is exact")


def reconcile_steps(leg: Leg, tail: TailChoice) -> tuple[MigrationStep, ...]:
    """What is done once the cluster is back where ``leg`` begins, which had been left without it (M3).

    Links may still run that nobody stopped, for the cluster of one was lost: the one that copied there before would
    write behind the ends that are pinned, and the leg's own one copies back what the way there brings.
    """
    wave, topics = leg.wave.name, counted(len(leg.wave.topics), "topic")
    back = f"see that {leg.here} answers, and is the cluster that was left"
    found = {
        TailChoice.REFUSE: "anything that was not copied forbids this",
        TailChoice.KEEP: f"it stays on {leg.here}",
        TailChoice.APPEND: f"it is appended to {leg.there}, after what was written there since",
    }[tail]
    return (
        MigrationStep(StepKind.PROVE_FOUND, wave, back),
        *(stop_link(leg.at(number)) for number in (leg.number - 1, leg.number) if number >= 0),
        *(
            MigrationStep(StepKind.FENCE, fence.value, fence_text(fence, leg, Part.ALL))
            for fence in leg.wave.fences
            if fence is FenceKind.ACL
        ),
        *((fence_groups(leg),) if leg.wave.denies_readers else ()),
        *pinned(leg),
        MigrationStep(StepKind.FIND_TAIL, tail.value, f"see what was not copied of {topics}: {found}"),
        *_reconciled(leg, tail),
    )


def _reconciled(leg: Leg, tail: TailChoice) -> Iterator[MigrationStep]:
    wave, link = leg.wave.name, leg.link
    if tail is TailChoice.REFUSE:
        yield prepare_reverse(leg)
        yield MigrationStep(StepKind.JOURNAL, wave, f"write down that {leg.here} keeps up from here on")
        yield run_reverse(leg)
    elif tail is TailChoice.KEEP:
        yield MigrationStep(StepKind.JOURNAL, wave, f"write down that it stays on {leg.here}")
    else:
        yield MigrationStep(StepKind.JOURNAL, wave, f"write down that it is appended to {leg.there}")
        yield MigrationStep(StepKind.RESUME_LINK, link, f"let link {link} copy on")
        yield MigrationStep(StepKind.RUN_LINK, link, f"run link {link}")
        yield MigrationStep(StepKind.DRAIN, link, f"wait until {link} has copied up to the pinned ends")
        yield pause_link(leg)
        yield stop_link(leg)


def lost_complete_steps(leg: Leg, *, is_made: bool) -> tuple[MigrationStep, ...]:
    """What is done where a wave stays where ``leg`` begins; nothing is asked of the cluster where that ends.

    Links that are stored there stay there, the leg's own among them if it ``is_made``.
    """
    legs = [leg.at(number) for number in range(leg.number + is_made)]
    kept = [one.link for one in legs if one.ends_at is leg.ends_at]
    told = f"; {', '.join(kept)}: stored on {leg.there}, where it stays" if kept else ""
    gives_up = f"write down that {leg.here} is where it stays: there is no way back from here{told}"
    links = [one for one in reversed(legs) if one.ends_at is not leg.ends_at]
    return (
        MigrationStep(StepKind.JOURNAL, leg.wave.name, gives_up),
        *((stop_link(leg.at(leg.number - 1)),) if leg.number else ()),
        *(
            MigrationStep(StepKind.DELETE_LINK, one.link, f"delete link {one.link}: what it copied stays, its map goes")
            for one in links
        ),
    )
