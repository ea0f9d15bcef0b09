"""The steps of a migration as data: what is done in which order, and where the point of no return is.

Whoever carries them out, or only tells of them, goes by the same list.

Invariants
    M3  in each switch exactly one step is the point of no return (``JOURNAL``); what comes before it can be put back,
        and what comes after it is done by whoever comes next.
    M4  nothing before it changes what an application reads or writes for longer than it is held up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from anabranch.migration.jobs import job_move
from anabranch.migration.legs import Leg
from anabranch.migration.spec import FenceKind, Wave, WaveOrder
from anabranch.migration.words import named
from anabranch.model.counted import counted


class Part(StrEnum):
    """Who is switched: all of a wave at once, or its consumers and its producers one after the other."""

    ALL = "all"
    CONSUMERS = "consumers"
    PRODUCERS = "producers"


class StepKind(StrEnum):
    """What a step does."""

    # Before any application hears of it.
    LOOK = "look"
    CREATE_LINK = "create link"
    RUN_LINK = "run link"
    ACCESS = "carry over access rules"  # and again as a switch begins
    CATCH_UP = "catch up"
    VERIFY = "verify"

    # A switch.
    PREFLIGHT = "preflight"
    FENCE = "fence producers"
    HOLD = "hold consumers"  # where they are switched before or after producers
    QUIET = "prove that nobody writes"
    PIN = "pin ends"
    DRAIN = "drain"
    PAUSE_LINK = "pause link"
    FENCE_GROUPS = "fence groups"
    GROUPS_EMPTY = "groups empty"
    STAGE_GROUPS = "translate groups"
    STAGE_CHECKPOINTS = "translate checkpoints"
    VERIFY_END = "verify what is new"
    PREPARE_REVERSE = "prepare reverse link"
    JOURNAL = "point of no return"
    PUBLISH_GROUPS = "publish groups"
    PUBLISH_CHECKPOINTS = "publish checkpoints"
    LIFT_FENCE = "lift fence"
    LIFT_GROUPS = "lift fence of groups"
    ROUTES = "publish routes"
    RELEASE = "release"
    RUN_REVERSE = "run reverse link"
    STOP_LINK = "stop link"

    # A switch without the cluster that is left, and what is done once that is back.
    PROVE_LOST = "prove that the cluster is gone"
    LOST_TAIL = "find the lost tail"
    LOST_GROUPS = "find groups without the cluster"
    LOST_CHECKPOINTS = "translate checkpoints without the cluster"
    PROVE_FOUND = "prove that the cluster is back"
    FIND_TAIL = "find what was not copied"
    RESUME_LINK = "resume link"
    PUT_BACK = "put back what was left"

    # Once it is over.
    DELETE_LINK = "delete link"
    PURGE = "purge"


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """One step: ``subject`` is what it is done to, ``text`` says in a sentence what it does."""

    kind: StepKind
    subject: str
    text: str


def holds_clients(steps: Iterable[MigrationStep]) -> bool:
    """Whether clients of the SDK pause in a run of these steps."""
    routes = FenceKind.ROUTES.value
    return any(step.kind is StepKind.HOLD or (step.kind, step.subject) == (StepKind.FENCE, routes) for step in steps)


def parts(wave: Wave) -> tuple[Part, ...]:
    """Who is switched, in order."""
    if wave.order is WaveOrder.TOGETHER or not (wave.groups or wave.jobs):
        return (Part.ALL,)
    both = (Part.CONSUMERS, Part.PRODUCERS)
    return both if wave.order is WaveOrder.CONSUMERS_FIRST else both[::-1]


def start_steps(leg: Leg) -> tuple[MigrationStep, ...]:
    """What is done before a wave can be switched; no application is held up by it."""
    link, topics = leg.link, counted(len(leg.wave.topics), "topic")
    look = f"see that {leg.here} and {leg.there} are the clusters of the plan, and which of {topics} {leg.there} has"
    return (
        MigrationStep(StepKind.LOOK, leg.wave.name, look),
        MigrationStep(StepKind.CREATE_LINK, link, f"create link {link} from {leg.here} to {leg.there}: {topics}"),
        MigrationStep(StepKind.RUN_LINK, link, f"run link {link}"),
        *_access(leg),
        MigrationStep(StepKind.CATCH_UP, link, f"wait until {link} has copied what {leg.here} holds"),
    )


def verify_steps(leg: Leg) -> tuple[MigrationStep, ...]:
    """A comparison of what the leg's link has copied, in between; and of all that the one before it had.

    That can be compared to its end only once the wave was switched, and only until its links are deleted.
    """
    topics = counted(len(leg.wave.topics), "topic")
    now = MigrationStep(StepKind.VERIFY, leg.link, f"compare {topics} on both clusters")
    if not leg.number:
        return (now,)
    before = leg.at(leg.number - 1)
    text = f"compare all that {before.link} had copied from {before.here} to {before.there}"
    return now, MigrationStep(StepKind.VERIFY, before.link, text)


def complete_steps(leg: Leg) -> tuple[MigrationStep, ...]:
    """What is done once nobody needs the way back: ``leg`` is that way, and its applications stay where it begins."""
    gives_up = f"write down that {leg.here} is where it stays: there is no way back from here"
    return (MigrationStep(StepKind.JOURNAL, leg.wave.name, gives_up), *_ended(leg))


def cancel_steps(leg: Leg, *, purge: bool) -> tuple[MigrationStep, ...]:
    """What is done where a wave stays on the source: ``leg`` leads from there; it can be started over then.

    What a fence has denied on the target, when its applications were led back, would hold them up there then.
    """
    wave = leg.wave.name
    gives_up = f"write down that {leg.here} is where it stays: its links are deleted from here on"
    purged = f"delete the topics of {leg.there} that the migration made, and its copies in others"
    return (
        MigrationStep(StepKind.JOURNAL, wave, gives_up),
        *_ended(leg),
        *_opened(leg),
        *_let_in(leg),
        *((MigrationStep(StepKind.PURGE, wave, purged),) if purge else ()),
    )


def _ended(leg: Leg) -> Iterator[MigrationStep]:
    """Of the links that were made for a wave the last one runs; each is the way back of the one before."""
    yield stop_link(leg)
    for number in range(leg.number, -1, -1):
        one = leg.at(number)
        text = f"delete link {one.link}: what it copied stays, its offset map goes"
        yield MigrationStep(StepKind.DELETE_LINK, one.link, text)


def switch_steps(leg: Leg, part: Part) -> tuple[MigrationStep, ...]:
    """What a switch of a wave, or of a part of it, does (M3)."""
    moves_readers, moves_writers = part is not Part.PRODUCERS, part is not Part.CONSUMERS
    wave = leg.wave.name
    return (
        MigrationStep(StepKind.PREFLIGHT, wave, f"look at wave {wave} again, and give every reason against it"),
        *_access(leg),
        *(_fenced(leg, part) if moves_writers else readers_held(leg)),
        *(_staged(leg) if moves_readers else ()),
        *_last_look(leg, part),
        *((prepare_reverse(leg),) if moves_writers else ()),
        MigrationStep(StepKind.JOURNAL, wave, "write down that it goes on: until here all is put back"),
        *(published(leg) if moves_readers else ()),
        *released(leg, part),
        *(_turned(leg) if moves_writers else ()),
    )


def _access(leg: Leg) -> Iterator[MigrationStep]:
    """On the way back the source's rules are still there."""
    access, wave = leg.migration.access, leg.wave.name
    if access.sync and not leg.leads_back:
        what = "access rules and quotas" if access.quotas else "access rules"
        yield MigrationStep(StepKind.ACCESS, wave, f"carry over {what} of wave {wave} from {leg.here} to {leg.there}")


def translated_by(leg: Leg, part: Part) -> Leg:
    """The leg whose link tells where readers go on.

    Readers whose producers went ahead read what the way back brings, so it is that link's map, backwards; in each other
    case it is that of the leg's own link.
    """
    went_ahead = part is Part.CONSUMERS and leg.wave.order is WaveOrder.PRODUCERS_FIRST
    return leg.next if went_ahead else leg


def readers_held(leg: Leg) -> Iterator[MigrationStep]:
    """Readers that use the SDK pause, so that their groups are empty; others are waited for."""
    if FenceKind.ROUTES in leg.wave.fences:
        text = f"have the SDK's consumers of {_codes(leg.wave)} pause between two records"
        yield MigrationStep(StepKind.HOLD, leg.wave.name, text)


def _fenced(leg: Leg, part: Part) -> Iterator[MigrationStep]:
    for fence in leg.wave.fences:
        if fence is not FenceKind.OBSERVE:
            yield MigrationStep(StepKind.FENCE, fence.value, fence_text(fence, leg, part))
    yield from pinned(leg)
    yield MigrationStep(StepKind.DRAIN, leg.link, f"wait until {leg.link} has copied up to them")
    yield pause_link(leg)


def pinned(leg: Leg) -> Iterator[MigrationStep]:
    """It is proved that nobody writes, and written down where the logs end."""
    quiet = f"{leg.migration.limits.quiet_ms / 1000:g} s"
    look = f"see for {quiet} that no log of the wave grows and no transaction is open"
    yield MigrationStep(StepKind.QUIET, leg.wave.name, look)
    ends = f"pin the ends of {counted(len(leg.wave.topics), 'topic')} on {leg.here}"
    yield MigrationStep(StepKind.PIN, leg.wave.name, ends)


def pause_link(leg: Leg) -> MigrationStep:
    """The leg's link stands still."""
    pause = f"pause link {leg.link}, so that nothing but applications writes to {leg.there}"
    return MigrationStep(StepKind.PAUSE_LINK, leg.link, pause)


def stop_link(leg: Leg) -> MigrationStep:
    """The leg's link runs no more."""
    return MigrationStep(StepKind.STOP_LINK, leg.link, f"end the run of link {leg.link}")


def prepare_reverse(leg: Leg) -> MigrationStep:
    """The way back is stored."""
    back = leg.next.link
    begins = f"create link {back} from {leg.there} to {leg.here}, which goes on where the copies end"
    return MigrationStep(StepKind.PREPARE_REVERSE, back, begins)


def run_reverse(leg: Leg) -> MigrationStep:
    """The way back runs."""
    back = leg.next.link
    text = f"once {leg.link} runs no more run link {back}: {leg.here} keeps up, and going back is exact"
    return MigrationStep(StepKind.RUN_REVERSE, back, text)


def fence_text(fence: FenceKind, leg: Leg, part: Part) -> str:
    """What a fence does, in a sentence."""
    if fence is FenceKind.ROUTES:
        whom = "clients" if part is Part.ALL else "producers"
        return f"have the SDK's {whom} of {_codes(leg.wave)} pause between two records"
    if fence is FenceKind.ACL:
        return f"deny writing to {counted(len(leg.wave.topics), 'topic')} on {leg.here}"
    return f"run {leg.wave.hooks.fence}"


def _staged(leg: Leg) -> Iterator[MigrationStep]:
    wave = leg.wave
    if wave.groups:
        groups = counted(len(wave.groups), "group")
        if wave.denies_readers:
            yield fence_groups(leg)
        yield MigrationStep(StepKind.GROUPS_EMPTY, wave.name, f"wait until nobody reads in {groups} on {leg.here}")
        yield MigrationStep(StepKind.STAGE_GROUPS, wave.name, f"translate what is committed for {groups}, and keep it")
    for job in wave.jobs:
        what = f"rewrite {job_move(leg, job).at} beside where it will be"
        yield MigrationStep(StepKind.STAGE_CHECKPOINTS, job.name, what)


def fence_groups(leg: Leg) -> MigrationStep:
    """Reading in the wave's groups is denied."""
    text = f"deny reading in {named(leg.wave.groups, 'group')} on {leg.here}"
    return MigrationStep(StepKind.FENCE_GROUPS, FenceKind.ACL.value, text)


def _last_look(leg: Leg, part: Part) -> Iterator[MigrationStep]:
    """What was pinned and translated is still so: nothing may have kept others from writing, or from reading on."""
    seen = [] if part is Part.CONSUMERS else ["both clusters' logs still end where they did"]
    if leg.wave.groups and part is not Part.PRODUCERS:
        seen.append(f"nobody has read on in {counted(len(leg.wave.groups), 'group')}")
    if seen:
        yield MigrationStep(StepKind.VERIFY_END, leg.wave.name, f"see that {', and that '.join(seen)}")


def published(leg: Leg) -> Iterator[MigrationStep]:
    """What was translated is put where applications look for it."""
    wave = leg.wave
    if wave.groups:
        groups = counted(len(wave.groups), "group")
        yield MigrationStep(StepKind.PUBLISH_GROUPS, wave.name, f"commit for {groups} on {leg.there}")
    for job in wave.jobs:
        what = f"put the rewritten checkpoint to {job_move(leg, job).place}"
        yield MigrationStep(StepKind.PUBLISH_CHECKPOINTS, job.name, what)


def released(leg: Leg, part: Part) -> Iterator[MigrationStep]:
    """Applications are led, or let go, on the other cluster."""
    wave = leg.wave
    if part is not Part.CONSUMERS:
        yield from _opened(leg)
    if part is not Part.PRODUCERS:
        yield from _let_in(leg)
    if wave.codes:
        whom = "applications" if part is Part.ALL else part.value
        yield MigrationStep(StepKind.ROUTES, wave.name, f"lead {whom} of {_codes(wave)} to {leg.there}")
    if wave.hooks.release:
        yield MigrationStep(StepKind.RELEASE, wave.name, f"run {wave.hooks.release}")


def _opened(leg: Leg) -> Iterator[MigrationStep]:
    """The fence goes that was left where a leg leads; on the first one there is none."""
    if leg.number and FenceKind.ACL in leg.wave.fences:
        topics = counted(len(leg.wave.topics), "topic")
        yield MigrationStep(StepKind.LIFT_FENCE, leg.wave.name, f"allow writing to {topics} on {leg.there} again")


def _let_in(leg: Leg) -> Iterator[MigrationStep]:
    """So does that of groups."""
    if leg.number and leg.wave.denies_readers:
        groups = named(leg.wave.groups, "group")
        yield MigrationStep(StepKind.LIFT_GROUPS, leg.wave.name, f"allow reading in {groups} on {leg.there} again")


def _turned(leg: Leg) -> Iterator[MigrationStep]:
    """Applications go on by now: nothing of this holds them up."""
    yield run_reverse(leg)
    yield stop_link(leg)


def _codes(wave: Wave) -> str:
    return f"code{'' if len(wave.codes) == 1 else 's'} {', '.join(wave.codes)}"
