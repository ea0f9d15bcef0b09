"""The steps of a switch without its source, and of what is done once that is back.

Nothing is asked of the source before the point of no return, nor after it; what cannot be known without it is chosen
by a person, and stands in the steps.
"""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.migration.jobs import job_move
from anabranch.migration.legs import Leg
from anabranch.migration.options import TailChoice, UnknownGroups
from anabranch.migration.spec import FenceKind, WaveOrder
from anabranch.migration.steps import (
    MigrationStep,
    Part,
    StepKind,
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
from anabranch.migration.words import counted

LOOK_LOST_S = 5.0
"""For how long a source must not answer at any of its servers."""


def told_by(leg: Leg, part: Part) -> Leg:
    """The leg whose link tells where readers go on without the source: it is stored on the target.

    Consumers that went back before their producers, and are led to the target again, read there what producers wrote
    there: the link of their own leg is not made yet, and the one before it knows what came from the source.
    """
    went_back = part is Part.CONSUMERS and leg.wave.order is WaveOrder.CONSUMERS_FIRST
    return leg.at(leg.number - 2) if went_back else leg


def lost_switch_steps(leg: Leg, part: Part, groups: UnknownGroups) -> tuple[MigrationStep, ...]:
    """What a switch does whose source does not answer (M3)."""
    moves_readers, moves_writers = part is not Part.PRODUCERS, part is not Part.CONSUMERS
    wave = leg.wave.name
    gone = f"ask each bootstrap server of {leg.here} for {LOOK_LOST_S:g} s: one that answers forbids this"
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
    """What can be done without the source so that nothing is written by halves."""
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
            UnknownGroups.LATEST: "one that is not known goes on behind what was copied",
        }[groups]
        what = f"see where {counted(len(wave.groups), 'group')} were without asking {leg.here}: {then}"
        yield MigrationStep(StepKind.LOST_GROUPS, groups.value, what)
    for job in wave.jobs:
        what = f"rewrite {job_move(leg, job).at}: what was read and not copied ends where the copies end"
        yield MigrationStep(StepKind.LOST_CHECKPOINTS, job.name, what)


def regain_steps(leg: Leg) -> tuple[MigrationStep, ...]:
    """What is done once the source is back where ``leg`` leads, which lost nothing with it: its link copies on (M3)."""
    wave, link = leg.wave.name, leg.link
    return (
        MigrationStep(StepKind.PROVE_FOUND, wave, f"see that {leg.there} answers, and is the cluster that was left"),
        MigrationStep(StepKind.JOURNAL, wave, f"write down that {leg.there} keeps up from here on"),
        MigrationStep(StepKind.RESUME_LINK, link, f"let link {link} copy on"),
        MigrationStep(StepKind.RUN_LINK, link, f"run link {link}: {leg.there} keeps up, and going back is exact"),
    )


def reconcile_steps(leg: Leg, tail: TailChoice) -> tuple[MigrationStep, ...]:
    """What is done once the source of ``leg`` is back, which had been left without it (M3)."""
    wave, topics = leg.wave.name, counted(len(leg.wave.topics), "topic")
    back = f"see that {leg.here} answers, and is the cluster that was left"
    found = {
        TailChoice.REFUSE: "anything that was not copied forbids this",
        TailChoice.KEEP: f"it stays on {leg.here}",
        TailChoice.APPEND: f"it is appended to {leg.there}, behind what was written there since",
    }[tail]
    return (
        MigrationStep(StepKind.PROVE_FOUND, wave, back),
        *(
            MigrationStep(StepKind.FENCE, fence.value, fence_text(fence, leg, Part.ALL))
            for fence in leg.wave.fences
            if fence is FenceKind.ACL
        ),
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


def lost_complete_steps(leg: Leg, back: str = "") -> tuple[MigrationStep, ...]:
    """What is done where a wave stays without a way back; nothing is asked of the source of ``leg``.

    Links that are stored there stay there; ``back`` is one that was made as its producers went ahead.
    """
    kept = [leg.at(number).link for number in range(leg.number) if leg.at(number).leads_back]
    kept += [back] if back else []
    told = f"; {', '.join(kept)}: stored on {leg.here}, where it stays" if kept else ""
    gives_up = f"write down that {leg.there} is where it stays: there is no way back from here{told}"
    links = [leg.at(number) for number in range(leg.number, -1, -1) if not leg.at(number).leads_back]
    return (
        MigrationStep(StepKind.JOURNAL, leg.wave.name, gives_up),
        stop_link(leg),
        *(
            MigrationStep(StepKind.DELETE_LINK, one.link, f"delete link {one.link}: what it copied stays, its map goes")
            for one in links
        ),
    )
