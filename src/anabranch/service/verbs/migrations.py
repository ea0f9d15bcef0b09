"""Migrations: they are begun, and rehearsed; what else is done for them stands beside."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from anabranch.config.migration_file import migration_fields
from anabranch.migration.kept import MigrationExistsError, NoMigrationError
from anabranch.migration.spec import Migration
from anabranch.migration.standing import WaveState, WaveVerb
from anabranch.migration.wave_steps import steps_for
from anabranch.model.accounts import Role
from anabranch.model.clock import now_ms
from anabranch.operations.migrations import plan as migration_plan
from anabranch.operations.migrations import rehearse, waves
from anabranch.operations.migrations.known import NoWaveError, standings
from anabranch.operations.migrations.plan import MigrationPlan
from anabranch.operations.migrations.rehearse import RehearsalPlan, RehearsalReport
from anabranch.service.reach import Reach
from anabranch.service.verb import Verb
from anabranch.service.verbs import migration_access, migration_changes, migration_waves
from anabranch.service.verbs.migration_known import (
    FILE,
    both_clusters,
    file_subject,
    files,
    opened,
    read_migration,
    until_ended,
)
from anabranch.service.verbs.migration_shapes import (
    OtherMigrationError,
    RehearseRequest,
    StartReport,
    StartWavesRequest,
)
from anabranch.service.words import command

WATCH_S = 5.0


async def _started(reach: Reach, request: StartWavesRequest) -> tuple[Migration, tuple[str, ...]]:
    """The migration, and its waves that would be started; raises OtherMigrationError, NoWaveError, WaveStateError."""
    wanted = opened(reach, request)
    try:
        known = await read_migration(reach, wanted.name)
    except NoMigrationError:
        stand = dict.fromkeys((wave.name for wave in wanted.waves), WaveState.PLANNED)
    else:
        if migration_fields(known.migration) != migration_fields(wanted):
            raise OtherMigrationError(wanted.name)
        stand = {name: one.state for name, one in standings(wanted, known.runs).items()}
    for name in request.waves:
        if name not in stand:
            raise NoWaveError(wanted.name, name)
    chosen = request.waves or tuple(name for name, state in stand.items() if state is WaveState.PLANNED)
    for name in chosen or stand:
        if stand[name] is not WaveState.PLANNED:
            steps_for(standings(wanted, known.runs)[name], WaveVerb.START)
    return wanted, chosen


async def _start_plan(reach: Reach, request: StartWavesRequest) -> MigrationPlan:
    wanted, chosen = await _started(reach, request)
    planned = await migration_plan.plan(*both_clusters(reach, wanted), wanted, chosen, watch_s=WATCH_S)
    planned = await migration_plan.held_against(planned, reach.migrating.desk)
    return migration_plan.compared(planned, [reach.clusters.context(name) for name in (wanted.source, wanted.target)])


async def _start(reach: Reach, request: StartWavesRequest, planned: MigrationPlan) -> StartReport:
    migration_plan.check_allowed(planned)
    wanted, chosen = await _started(reach, request)
    stored, made = reach.migrating.stored, []
    fields = migration_fields(wanted)
    try:
        await stored.ask(lambda: stored.migrations.add(wanted.name, fields, reach.account, now_ms()))
    except MigrationExistsError:
        await _started(reach, request)  # somebody has made it meanwhile: the same one, or this is refused
    known = await read_migration(reach, wanted.name)
    for name in chosen:
        stands = known.stands(name)
        run = waves.planned_run(stands, WaveVerb.START, uuid.uuid4().hex, now_ms(), {})
        await reach.migrating.begin(run, reach.account, known.ended(name))
        made.append(run)
    return StartReport(wanted.name, tuple([await until_ended(reach, run) for run in made]))


async def _rehearse_plan(reach: Reach, request: RehearseRequest) -> RehearsalPlan:
    """Raises PathNotOpenError for places of checkpoints and of their copies, and what ``rehearse.plan`` raises."""
    made = rehearse.rehearsal(request.wanted(), request.wave)
    for job in made.jobs:
        for place in (job.real.checkpoint, job.real.moved, job.made.checkpoint, job.made.moved):
            if place:
                reach.place(place)
    return await rehearse.plan(*both_clusters(reach, made.migration), made)


async def _rehearse(reach: Reach, _: RehearseRequest, planned: RehearsalPlan) -> RehearsalReport:
    desk = replace(reach.migrating.desk, account=reach.account)

    async def tell(stage: str) -> None:
        await reach.tell({"stage": stage})

    return await rehearse.apply(*both_clusters(reach, planned.made.migration), desk, planned, tell)


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "migrations.start",
        "Begin to copy waves of a migration, where nothing forbids it",
        Role.APPROVER,
        StartWavesRequest,
        MigrationPlan,
        StartReport,
        file_subject,
        lambda request: command("migrate", "start", options=[("--file", FILE), ("--wave", request.waves)]),
        _start_plan,
        _start,
        files=files,
    ),
    Verb(
        "migrations.rehearse",
        "Try the whole path of a wave on topics and groups that are made for it, and removed",
        Role.APPROVER,
        RehearseRequest,
        RehearsalPlan,
        RehearsalReport,
        file_subject,
        lambda request: command("migrate", "rehearse", options=[("--file", FILE), ("--wave", request.wave)]),
        _rehearse_plan,
        _rehearse,
        files=files,
    ),
    *migration_waves.VERBS,
    *migration_changes.VERBS,
    *migration_access.VERBS,
)
