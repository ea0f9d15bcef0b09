"""What is changed of a migration as it goes on: whether it may switch, how fast it copies, and its file."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from anabranch.config.migration_file import migration_fields
from anabranch.config.units import parse_rate
from anabranch.errors import AnabranchError
from anabranch.migration.fences import asked_of
from anabranch.migration.spec import Migration, Wave
from anabranch.migration.standing import WaveStanding, WaveState, WaveVerb
from anabranch.migration.throttle import OperatorThrottle, longest_pause
from anabranch.model.accounts import Role
from anabranch.model.clock import now_ms
from anabranch.model.plans import plan_hash
from anabranch.operations.migrations import plan as migration_plan
from anabranch.operations.migrations.inventory import topic_retentions
from anabranch.service.migrating import migration_in
from anabranch.service.migration_answers import standings
from anabranch.service.reach import Reach
from anabranch.service.throttling import copying_links, operator_in, wish_of
from anabranch.service.verb import Verb
from anabranch.service.verbs.migration_approval import changes_approvers, check_approved
from anabranch.service.verbs.migration_known import (
    FILE,
    file_subject,
    files,
    opened,
    read_migration,
)
from anabranch.service.verbs.migration_shapes import (
    ChangedMigration,
    FenceStaysError,
    FileRequest,
    GoesByError,
    HoldPlan,
    HoldRequest,
    MovedWaveError,
    ReleaseRequest,
    ResumeRequest,
    SetPlan,
    ThrottlePlan,
    ThrottleRequest,
)
from anabranch.service.words import command

_LOOK_S = 5.0
"""For so long a source is asked before a pause: it may have too much to do, which is why copying is paused."""


async def _hold_plan(reach: Reach, request: HoldRequest) -> HoldPlan:
    return await _holds(reach, request.migration, request.wave, request.reason)


async def _release_plan(reach: Reach, request: ReleaseRequest) -> HoldPlan:
    return await _holds(reach, request.migration, request.wave, None)


async def _holds(reach: Reach, name: str, wave: str | None, reason: str | None) -> HoldPlan:
    known = await read_migration(reach, name)
    if wave is not None:
        known.stands(wave)
    after = {one: why for one, why in known.kept.holds.items() if one != (wave or "")}
    if reason is not None:
        after[wave or ""] = reason
    return HoldPlan(name, known.kept.holds, after, plan_hash(name, known.kept.revision, after), known.kept)


async def _held(reach: Reach, planned: HoldPlan) -> ChangedMigration:
    stored = reach.migrating.stored
    await stored.ask(lambda: stored.migrations.change(replace(planned.kept, holds=planned.after)))
    return ChangedMigration(planned.migration)


async def _throttle_plan(reach: Reach, request: ThrottleRequest) -> ThrottlePlan:
    rate = None if request.rate is None else parse_rate(request.rate)
    longest = await _longest_pause(reach, request.migration, request.wave) if request.pause else None
    wish = OperatorThrottle(rate, request.pause, longest_ms=longest)
    return await _wishes(reach, request.migration, request.wave, wish)


async def _resume_plan(reach: Reach, request: ResumeRequest) -> ThrottlePlan:
    return await _wishes(reach, request.migration, request.wave, OperatorThrottle())


async def _longest_pause(reach: Reach, name: str, wave: str | None) -> int | None:
    """For how long copying may stand still, by what the source keeps; a source that does not answer is paused, too."""
    known = await read_migration(reach, name)
    copied = {one for one in copying_links(known.migration, known.runs).values() if wave in (None, one)}
    topics = sorted({topic for one in known.migration.waves if one.name in copied for topic in one.topics})
    try:
        async with asyncio.timeout(_LOOK_S):
            kept = await topic_retentions(reach.clusters.cluster(known.migration.source), topics)
    except (AnabranchError, TimeoutError):
        return None
    return longest_pause(kept.values())


async def _wishes(reach: Reach, name: str, wave: str | None, after: OperatorThrottle) -> ThrottlePlan:
    """What is wanted from now on; all of it that is resumed, is so of its waves, too.  Raises NoWaveError."""
    known = await read_migration(reach, name)
    if wave is not None:
        known.stands(wave)
    throttle = known.kept.throttle
    before = operator_in(throttle, wave)
    resumes = wave is None and after == OperatorThrottle()
    ended = tuple(one.name for one in known.migration.waves if resumes and throttle.get(wish_of(one.name)))
    fields = [before.rate, before.is_paused, after.rate, after.is_paused, after.longest_ms, wave, ended]
    return ThrottlePlan(name, wave, before, after, ended, plan_hash("migrations.throttle", name, fields))


async def _throttled(reach: Reach, planned: ThrottlePlan) -> ChangedMigration:
    """Keep it: links obey within one round of throttling."""
    stored, wish = reach.migrating.stored, planned.after
    since = now_ms() if wish.is_paused else None
    fields = {"rate": wish.rate, "is_paused": wish.is_paused, "since_ms": since, "longest_ms": wish.longest_ms}
    parts = {wish_of(planned.wave): fields, **{wish_of(wave): {} for wave in planned.ended}}

    def keep() -> None:
        for part, value in parts.items():
            stored.migrations.slow_down(planned.migration, part, value)

    await stored.ask(keep)
    return ChangedMigration(planned.migration)


async def _set_plan(reach: Reach, request: FileRequest) -> SetPlan:
    wanted = opened(reach, request)
    known = await read_migration(reach, wanted.name)
    for name, stands in standings(known.migration, known.runs).items():
        before, after = stands.wave, wanted.wave(name)
        gone = [fence for fence in asked_of(before) if after is not None and not fence.is_asked(after)]
        if gone and _is_fenced(stands):
            raise FenceStaysError(wanted.name, name, gone[0].called)
        if stands.state is WaveState.PLANNED and stands.open is None:
            continue
        same_clusters = (known.migration.source, known.migration.target, known.migration.copy) == (
            wanted.source,
            wanted.target,
            wanted.copy,
        )
        if after is None or before.topics != after.topics or before.order is not after.order or not same_clusters:
            raise MovedWaveError(wanted.name, name, stands.state.value)
        _check_under_way(wanted, stands, after)
    migration_plan.check_sound(wanted)
    fields = migration_fields(wanted)
    hash_ = plan_hash(known.kept.revision, fields)
    return SetPlan(wanted.name, known.kept.document, fields, hash_, known.kept, len(known.runs))


def _is_fenced(stands: WaveStanding) -> bool:
    """Whether something may be denied where applications of a wave were, or are: it was switched, or was to be."""
    was_led = bool(stands.leg.number or stands.switched)
    return was_led or stands.left is not None or stands.remains is not None


def _check_under_way(wanted: Migration, stands: WaveStanding, after: Wave) -> None:
    """Raise GoesByError where a run has steps for what would be there no more; a start hears of none of it."""
    run, before = stands.open, stands.wave
    if run is None or run.what in (WaveVerb.START.value, WaveVerb.VERIFY.value):
        return
    for what in ("fences", "readers", "principals", "groups", "jobs"):
        if getattr(before, what) != getattr(after, what):
            raise GoesByError(wanted.name, before.name, run.what, what)


async def _set(reach: Reach, request: FileRequest, planned: SetPlan) -> ChangedMigration:
    """The race: what begins meanwhile was planned by the file of before.

    Who approves is changed by those who approve now.  Raises NotApprovedError, MigrationChangedError.
    """
    before = migration_in(planned.kept.document, planned.migration)
    if changes_approvers(before, request.wanted()):
        check_approved(reach, before)
    stored = reach.migrating.stored
    changed = replace(planned.kept, document=planned.after)
    await stored.ask(lambda: stored.migrations.change(changed, planned.seen))
    return ChangedMigration(planned.migration)


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "migrations.hold",
        "Have switches of a migration, or of a wave, wait",
        Role.OPERATOR,
        HoldRequest,
        HoldPlan,
        ChangedMigration,
        lambda request: f"migration {request.migration}",
        lambda request: command(
            "migrate", "hold", request.migration, options=[("--wave", request.wave), ("--reason", request.reason)]
        ),
        _hold_plan,
        lambda reach, _, planned: _held(reach, planned),
        execute="",
    ),
    Verb(
        "migrations.release",
        "Have switches of a migration, or of a wave, wait no more",
        Role.OPERATOR,
        ReleaseRequest,
        HoldPlan,
        ChangedMigration,
        lambda request: f"migration {request.migration}",
        lambda request: command("migrate", "release", request.migration, options=[("--wave", request.wave)]),
        _release_plan,
        lambda reach, _, planned: _held(reach, planned),
        execute="",
    ),
    Verb(
        "migrations.throttle",
        "Have a migration, or a wave, copy more slowly, or not at all, until it is resumed",
        Role.OPERATOR,
        ThrottleRequest,
        ThrottlePlan,
        ChangedMigration,
        lambda request: f"migration {request.migration}",
        lambda request: command(
            "migrate",
            "throttle",
            request.migration,
            options=[("--wave", request.wave), ("--rate", request.rate), ("--pause", request.pause)],
        ),
        _throttle_plan,
        lambda reach, _, planned: _throttled(reach, planned),
        execute="",
    ),
    Verb(
        "migrations.resume",
        "Have a migration, or a wave, copy again as fast as its file and the clusters allow",
        Role.OPERATOR,
        ResumeRequest,
        ThrottlePlan,
        ChangedMigration,
        lambda request: f"migration {request.migration}",
        lambda request: command("migrate", "resume", request.migration, options=[("--wave", request.wave)]),
        _resume_plan,
        lambda reach, _, planned: _throttled(reach, planned),
        execute="",
    ),
    Verb(
        "migrations.set",
        "Change a migration's file, but for what its waves under way consist of",
        Role.APPROVER,
        FileRequest,
        SetPlan,
        ChangedMigration,
        file_subject,
        lambda _: command("migrate", "set", options=[("--file", FILE)]),
        _set_plan,
        _set,
        files=files,
    ),
)
