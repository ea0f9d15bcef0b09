"""What is changed of a migration as it goes on: whether it may switch, how fast it copies, and its file."""

from __future__ import annotations

from typing import Any

from anabranch.config.units import parse_rate
from anabranch.model.accounts import Role
from anabranch.operations.migrations import change, hold, release, resume, throttle
from anabranch.operations.migrations.change import SetPlan
from anabranch.operations.migrations.hold import ChangedMigration, HoldPlan
from anabranch.operations.migrations.known import migration_in
from anabranch.operations.migrations.throttle import ThrottlePlan
from anabranch.service.reach import Reach
from anabranch.service.verb import Verb
from anabranch.service.verbs.migration_approval import changes_approvers, check_approved
from anabranch.service.verbs.migration_known import FILE, file_subject, files, opened
from anabranch.service.verbs.migration_shapes import (
    FileRequest,
    HoldRequest,
    ReleaseRequest,
    ResumeRequest,
    ThrottleRequest,
)
from anabranch.service.words import command
from anabranch.store.waves import StoredMigrations


def _stored(reach: Reach) -> StoredMigrations:
    return reach.migrating.stored.migrations


async def _hold_plan(reach: Reach, request: HoldRequest) -> HoldPlan:
    return await hold.plan(_stored(reach), request.migration, request.reason, wave=request.wave)


async def _release_plan(reach: Reach, request: ReleaseRequest) -> HoldPlan:
    return await release.plan(_stored(reach), request.migration, wave=request.wave)


async def _throttle_plan(reach: Reach, request: ThrottleRequest) -> ThrottlePlan:
    rate = None if request.rate is None else parse_rate(request.rate, "throttle", "rate")
    clusters = reach.clusters.cluster
    return await throttle.plan(_stored(reach), clusters, request.migration, rate, wave=request.wave)


async def _resume_plan(reach: Reach, request: ResumeRequest) -> ThrottlePlan:
    return await resume.plan(_stored(reach), request.migration, wave=request.wave)


async def _set_plan(reach: Reach, request: FileRequest) -> SetPlan:
    return await change.plan(_stored(reach), opened(reach, request))


async def _set(reach: Reach, request: FileRequest, planned: SetPlan) -> ChangedMigration:
    """Who approves is changed by those who approve now.  Raises NotApprovedError, and what ``change.apply`` raises."""
    before = migration_in(planned.kept.document, planned.migration)
    if changes_approvers(before, request.wanted()):
        check_approved(reach, before)
    return await change.apply(_stored(reach), planned)


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
        lambda reach, _, planned: hold.apply(_stored(reach), planned),
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
        lambda reach, _, planned: release.apply(_stored(reach), planned),
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
        lambda reach, _, planned: throttle.apply(_stored(reach), planned),
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
        lambda reach, _, planned: resume.apply(_stored(reach), planned),
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
