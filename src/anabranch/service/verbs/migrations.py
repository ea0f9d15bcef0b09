"""Migrations: what is begun, switched, given up and ended for their waves."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from anabranch.config.migration_file import migration_fields
from anabranch.config.units import parse_rate
from anabranch.config.yaml_file import yaml_text
from anabranch.kafka.cluster import Cluster
from anabranch.migration.inherited import inherited
from anabranch.migration.journal import run_of
from anabranch.migration.lost import doubts_of
from anabranch.migration.options import PLAIN, WaveOptions
from anabranch.migration.pause import pause_of
from anabranch.migration.rehearsal import Rehearsal, rehearsal_of
from anabranch.migration.run import PassedError, WaveRun, WaveRunState
from anabranch.migration.spec import Migration
from anabranch.migration.standing import WaveStanding, WaveState, WaveVerb
from anabranch.migration.throttle import OperatorThrottle
from anabranch.model.accounts import Role
from anabranch.model.clock import now_ms
from anabranch.model.plans import plan_hash
from anabranch.model.reasons import Reason, Severity
from anabranch.operations.migrations import plan as migration_plan
from anabranch.operations.migrations import waves
from anabranch.operations.migrations.plan import MigrationPlan
from anabranch.operations.migrations.rehearse import RehearsalReport, rehearse
from anabranch.operations.migrations.waves import WaveRunPlan
from anabranch.service.migrating import migration_in
from anabranch.service.migration_answers import standings
from anabranch.service.reach import Reach
from anabranch.service.throttling import operator_in
from anabranch.service.verb import Verb
from anabranch.service.verbs.migration_shapes import (
    CancelRequest,
    ChangedMigration,
    FileRequest,
    GiveUpPlan,
    GiveUpRequest,
    HoldPlan,
    HoldRequest,
    MovedWaveError,
    NotApprovedError,
    NothingUnderWayError,
    NoWaveError,
    OtherMigrationError,
    ReconcileRequest,
    RehearsalPlan,
    RehearseRequest,
    ReleaseRequest,
    ResumeRequest,
    SetPlan,
    StartReport,
    StartWavesRequest,
    SwitchRequest,
    TakenBackError,
    ThrottlePlan,
    ThrottleRequest,
    WaveRequest,
    WaveRunReport,
)
from anabranch.service.words import command
from anabranch.store.waves import OPERATOR, MigrationExistsError, NoMigrationError, StoredMigration, StoredRun

FILE = "migration.yaml"
WATCH_S = 5.0


# -- what there is ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Known:
    """A migration of the store, and all runs of its waves."""

    kept: StoredMigration
    runs: tuple[StoredRun, ...]

    @property
    def migration(self) -> Migration:
        """As its file says."""
        return migration_in(self.kept.document, self.kept.name)

    def stands(self, wave: str) -> WaveStanding:
        """Where a wave stands; raises NoWaveError."""
        found = standings(self.migration, self.runs).get(wave)
        if found is None:
            raise NoWaveError(self.kept.name, wave)
        return found


async def _known(reach: Reach, name: str) -> _Known:
    """Raises NoMigrationError, StoreError."""
    stored = reach.migrating.stored
    kept, runs = await stored.ask(lambda: (stored.migrations.get(name), stored.migrations.runs_of(name)))
    return _Known(kept, tuple(runs))


def _clusters(reach: Reach, migration: Migration) -> tuple[Cluster, Cluster]:
    return reach.clusters.cluster(migration.source), reach.clusters.cluster(migration.target)


async def _ended(reach: Reach, run: WaveRun) -> WaveRunReport:
    """Wait for a run's end, which does not depend on it; raises TakenBackError."""

    async def tell(kept: StoredRun) -> None:
        at = kept.journal["at"]
        steps = kept.journal["steps"]
        told = {"stage": steps[at][2] if at < len(steps) else kept.state, "wave": run.wave, "run": run.id}
        await reach.tell({**told, **({"waits": kept.waits} if kept.waits else {})})

    found = await reach.until_ending(reach.migrating.ended(run.id, tell))
    if found is not None and found.state is WaveRunState.CANCELLED:
        raise TakenBackError(run.migration, run.wave, run.what, found.why)
    pause = None if found is None else pause_of(found)
    length = None if pause is None else pause.length_ms(now_ms())
    state = WaveRunState.GOING if found is None else found.state
    doubts = () if found is None else doubts_of(found.results)
    return WaveRunReport(run.migration, run.wave, WaveVerb(run.what), run.id, state.value, length, doubts)


def _opened(reach: Reach, request: FileRequest) -> Migration:
    """The migration of a request, whose checkpoints are where the service may read and write.

    Raises InvalidFieldError, PathNotOpenError.
    """
    wanted = request.wanted()
    for wave in wanted.waves:
        for job in wave.jobs:
            for place in (job.checkpoint, job.moved):
                if place:
                    reach.place(place)
    return wanted


# -- start -----------------------------------------------------------------------------------------------------


async def _started(reach: Reach, request: StartWavesRequest) -> tuple[Migration, tuple[str, ...]]:
    """The migration, and its waves that would be started; raises OtherMigrationError, NoWaveError, WaveStateError."""
    wanted = _opened(reach, request)
    try:
        known = await _known(reach, wanted.name)
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
    return wanted, chosen


async def _start_plan(reach: Reach, request: StartWavesRequest) -> MigrationPlan:
    wanted, chosen = await _started(reach, request)
    part = replace(wanted, waves=tuple(wave for wave in wanted.waves if wave.name in chosen))
    return await migration_plan.plan(*_clusters(reach, wanted), part, watch_s=WATCH_S)


async def _start(reach: Reach, request: StartWavesRequest, planned: MigrationPlan) -> StartReport:
    migration_plan.check_allowed(planned)
    wanted, chosen = await _started(reach, request)
    stored, made = reach.migrating.stored, []
    fields = migration_fields(wanted)
    try:
        await stored.ask(lambda: stored.migrations.add(wanted.name, fields, reach.account, now_ms()))
    except MigrationExistsError:
        await _started(reach, request)  # somebody has made it meanwhile: the same one, or this is refused
    known = await _known(reach, wanted.name)
    for name in chosen:
        stands = known.stands(name)
        run = waves.planned_run(stands, WaveVerb.START, uuid.uuid4().hex, now_ms(), {})
        await reach.migrating.begin(run, reach.account)
        made.append(run)
    return StartReport(wanted.name, tuple([await _ended(reach, run) for run in made]))


# -- what is done for one wave ---------------------------------------------------------------------------------


async def _run_plan(reach: Reach, request: WaveRequest, verb: WaveVerb, asked: WaveOptions = PLAIN) -> WaveRunPlan:
    known = await _known(reach, request.migration)
    stands = known.stands(request.wave)
    runs = [run_of(run.journal) for run in known.runs if run.wave == request.wave]
    results = inherited(stands.leg, verb, runs, purge=asked.purge)
    purges = asked.purge and (bool(results) or stands.state is not WaveState.PLANNED)
    run = waves.planned_run(stands, verb, uuid.uuid4().hex, now_ms(), results, replace(asked, purge=purges))
    clusters = _clusters(reach, stands.leg.migration)
    return await waves.plan(*clusters, reach.migrating.desk, stands, verb, run, _beside(known, stands, verb))


def _beside(known: _Known, stands: WaveStanding, verb: WaveVerb) -> list[Reason]:
    """What is against it, or worth a look, beside what its steps would meet."""
    if verb not in (WaveVerb.SWITCH, WaveVerb.REVERSE):
        return []
    found = []
    name, wave = known.kept.name, stands.wave.name
    if why := known.kept.holds.get(wave) or known.kept.holds.get(""):
        fix = f"`anabranch migrate release {name}`"
        found.append(Reason.found(Severity.ERROR, f"wave {wave} is held: {why}", fix))
    checked = [run for run in known.runs if (run.wave, run.journal["what"]) == (wave, WaveVerb.VERIFY.value)]
    if not any(run.state == WaveRunState.DONE.value and run.journal["leg"] == stands.leg.number for run in checked):
        fix = f"`anabranch migrate verify {name} --wave {wave}`"
        found.append(Reason.found(Severity.WARNING, f"what {stands.leg.link} has copied was not compared", fix))
    if approvers := stands.leg.migration.approvers:
        whom = ", ".join(approvers)
        found.append(Reason.found(Severity.INFO, f"one of {whom} approves it who did not ask for it"))
    return found


async def _carried_out(reach: Reach, planned: WaveRunPlan) -> WaveRunReport:
    """Begin the run of a plan, and wait for its end; raises WaveRefusedError, NotApprovedError, WaveBusyError."""
    waves.check_allowed(planned)
    known = await _known(reach, planned.migration)
    if planned.verb in (WaveVerb.SWITCH, WaveVerb.REVERSE):
        _check_approved(reach, known.migration)
    await reach.migrating.begin(planned.run, reach.account)
    return await _ended(reach, planned.run)


def _check_approved(reach: Reach, migration: Migration) -> None:
    """Raise NotApprovedError unless an approver applies what somebody else has planned; none need to be named."""
    if not migration.approvers:
        return
    is_author = reach.account == reach.planned_by
    if is_author or reach.account not in migration.approvers:
        raise NotApprovedError(migration.name, reach.account, migration.approvers, is_author)


def _wave_verb(verb: WaveVerb, summary: str, role: Role, execute: str = "--execute") -> Verb[Any, Any]:
    async def plan(reach: Reach, request: WaveRequest) -> WaveRunPlan:
        return await _run_plan(reach, request, verb)

    return Verb(
        f"migrations.{verb.value}",
        summary,
        role,
        WaveRequest,
        WaveRunPlan,
        WaveRunReport,
        _subject,
        lambda request: _words(verb.value, request),
        plan,
        _apply_run,
        execute=execute,
    )


def _subject(request: WaveRequest) -> str:
    return f"wave {request.wave} of migration {request.migration}"


def _words(word: str, request: WaveRequest, *options: tuple[str, object]) -> str:
    return command("migrate", word, request.migration, options=[("--wave", request.wave), *options])


async def _switch_plan(reach: Reach, request: SwitchRequest) -> WaveRunPlan:
    return await _run_plan(reach, request, WaveVerb.SWITCH, request.options)


async def _reconcile_plan(reach: Reach, request: ReconcileRequest) -> WaveRunPlan:
    return await _run_plan(reach, request, WaveVerb.RECONCILE, request.options)


def _switch_words(request: SwitchRequest) -> str:
    groups = None if request.unknown_groups == "refuse" else request.unknown_groups
    return _words("switch", request, ("--source-lost", request.source_lost), ("--unknown-groups", groups))


def _reconcile_words(request: ReconcileRequest) -> str:
    return _words("reconcile", request, ("--tail", None if request.tail == "refuse" else request.tail))


async def _cancel_plan(reach: Reach, request: CancelRequest) -> WaveRunPlan:
    return await _run_plan(reach, request, WaveVerb.CANCEL, WaveOptions(purge=request.purge))


async def _apply_run(reach: Reach, _: WaveRequest, planned: WaveRunPlan) -> WaveRunReport:
    return await _carried_out(reach, planned)


# -- rehearsing ------------------------------------------------------------------------------------------------


def _rehearsal(request: RehearseRequest) -> Rehearsal:
    """Raises InvalidMigrationError, NoWaveError."""
    wanted = request.wanted()
    migration_plan.check_sound(wanted)
    wave = wanted.wave(request.wave)
    if wave is None:
        raise NoWaveError(wanted.name, request.wave)
    return rehearsal_of(wanted, wave)


async def _rehearse_plan(_: Reach, request: RehearseRequest) -> RehearsalPlan:
    made = _rehearsal(request)
    hash_ = plan_hash("migrations.rehearse", migration_fields(made.migration))
    return RehearsalPlan(made.migration.name, request.wave, made.topics, made.groups, made.left_out, hash_)


async def _rehearse(reach: Reach, request: RehearseRequest, _: RehearsalPlan) -> RehearsalReport:
    made, desk = _rehearsal(request), replace(reach.migrating.desk, account=reach.account)

    async def tell(stage: str) -> None:
        await reach.tell({"stage": stage})

    return await rehearse(*_clusters(reach, made.migration), desk, made, tell)


# -- giving up, holding, changing ------------------------------------------------------------------------------


async def _give_up_plan(reach: Reach, request: GiveUpRequest) -> GiveUpPlan:
    known = await _known(reach, request.migration)
    run = known.stands(request.wave).open
    if run is None:
        raise NothingUnderWayError(request.migration, request.wave)
    if run.has_passed:
        raise PassedError(request.migration, request.wave)
    done = run.steps[: run.at + run.is_begun]
    steps = tuple(step.text for step in reversed(done))
    return GiveUpPlan(
        request.migration, request.wave, WaveVerb(run.what), run.id, steps, plan_hash("migrations.give-up", run.id)
    )


async def _give_up(reach: Reach, request: GiveUpRequest, planned: GiveUpPlan) -> WaveRunReport:
    """Have it taken back, and wait until that is done; raises PassedError where it had gone on to its end."""
    stored, why = reach.migrating.stored, f"{reach.account}: {request.reason}"
    await stored.ask(lambda: stored.migrations.give_up(planned.run, why))
    run = (await _known(reach, request.migration)).stands(request.wave).open
    try:
        if run is not None:
            await _ended(reach, run)
    except TakenBackError:
        pass
    kept = await stored.ask(lambda: stored.migrations.run(planned.run))
    if kept.state == WaveRunState.DONE.value:
        raise PassedError(request.migration, request.wave)
    return WaveRunReport(request.migration, request.wave, planned.verb, planned.run, kept.state, None)


async def _hold_plan(reach: Reach, request: HoldRequest) -> HoldPlan:
    return await _holds(reach, request.migration, request.wave, request.reason)


async def _release_plan(reach: Reach, request: ReleaseRequest) -> HoldPlan:
    return await _holds(reach, request.migration, request.wave, None)


async def _holds(reach: Reach, name: str, wave: str | None, reason: str | None) -> HoldPlan:
    known = await _known(reach, name)
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
    return await _wishes(reach, request.migration, OperatorThrottle(rate, request.pause))


async def _resume_plan(reach: Reach, request: ResumeRequest) -> ThrottlePlan:
    return await _wishes(reach, request.migration, OperatorThrottle())


async def _wishes(reach: Reach, name: str, after: OperatorThrottle) -> ThrottlePlan:
    before = operator_in((await _known(reach, name)).kept.throttle)
    fields = [before.rate, before.is_paused, after.rate, after.is_paused]
    return ThrottlePlan(name, before, after, plan_hash("migrations.throttle", name, fields))


async def _throttled(reach: Reach, planned: ThrottlePlan) -> ChangedMigration:
    """Keep it: links obey within one round of throttling."""
    stored, wish = reach.migrating.stored, planned.after
    fields = {"rate": wish.rate, "is_paused": wish.is_paused}
    await stored.ask(lambda: stored.migrations.slow_down(planned.migration, OPERATOR, fields))
    return ChangedMigration(planned.migration)


async def _set_plan(reach: Reach, request: FileRequest) -> SetPlan:
    wanted = _opened(reach, request)
    known = await _known(reach, wanted.name)
    for name, stands in standings(known.migration, known.runs).items():
        if stands.state is WaveState.PLANNED and stands.open is None:
            continue
        before, after = stands.wave, wanted.wave(name)
        same_clusters = (known.migration.source, known.migration.target, known.migration.copy) == (
            wanted.source,
            wanted.target,
            wanted.copy,
        )
        if after is None or before.topics != after.topics or before.order is not after.order or not same_clusters:
            raise MovedWaveError(wanted.name, name, stands.state.value)
    migration_plan.check_sound(wanted)
    fields = migration_fields(wanted)
    return SetPlan(wanted.name, known.kept.document, fields, plan_hash(known.kept.revision, fields), known.kept)


async def _set(reach: Reach, _: FileRequest, planned: SetPlan) -> ChangedMigration:
    stored = reach.migrating.stored
    await stored.ask(lambda: stored.migrations.change(replace(planned.kept, document=planned.after)))
    return ChangedMigration(planned.migration)


def _files(request: FileRequest) -> Mapping[str, str]:
    return {FILE: yaml_text(migration_fields(request.wanted()))}


def _file_subject(request: FileRequest) -> str:
    return f"migration {request.migration.name}"


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "migrations.start",
        "Begin to copy waves of a migration, where nothing forbids it",
        Role.APPROVER,
        StartWavesRequest,
        MigrationPlan,
        StartReport,
        _file_subject,
        lambda request: command("migrate", "start", options=[("--file", FILE), ("--wave", request.waves)]),
        _start_plan,
        _start,
        files=_files,
    ),
    _wave_verb(WaveVerb.VERIFY, "Compare what a wave's link has copied, record by record", Role.OPERATOR, ""),
    Verb(
        "migrations.switch",
        "Switch a wave's applications to the target",
        Role.APPROVER,
        SwitchRequest,
        WaveRunPlan,
        WaveRunReport,
        _subject,
        _switch_words,
        _switch_plan,
        _apply_run,
    ),
    _wave_verb(WaveVerb.REVERSE, "Lead a wave's applications back to the source, exactly", Role.APPROVER),
    Verb(
        "migrations.reconcile",
        "See what a lost source that is back has more, and make the way back where it is exact",
        Role.APPROVER,
        ReconcileRequest,
        WaveRunPlan,
        WaveRunReport,
        _subject,
        _reconcile_words,
        _reconcile_plan,
        _apply_run,
    ),
    _wave_verb(WaveVerb.COMPLETE, "Have a wave stay on the target: its links and its way back go", Role.APPROVER),
    Verb(
        "migrations.cancel",
        "Have a wave stay on the source: its links go",
        Role.APPROVER,
        CancelRequest,
        WaveRunPlan,
        WaveRunReport,
        _subject,
        lambda request: _words("cancel", request, ("--purge", request.purge)),
        _cancel_plan,
        _apply_run,
    ),
    Verb(
        "migrations.rehearse",
        "Try the whole path of a wave on topics and groups that are made for it, and removed",
        Role.APPROVER,
        RehearseRequest,
        RehearsalPlan,
        RehearsalReport,
        _file_subject,
        lambda request: command("migrate", "rehearse", options=[("--file", FILE), ("--wave", request.wave)]),
        _rehearse_plan,
        _rehearse,
        files=_files,
    ),
    Verb(
        "migrations.give-up",
        "Take back what is under way for a wave, before its point of no return",
        Role.OPERATOR,
        GiveUpRequest,
        GiveUpPlan,
        WaveRunReport,
        _subject,
        lambda request: _words("cancel", request, ("--reason", request.reason)),
        _give_up_plan,
        _give_up,
    ),
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
        "Have a migration copy more slowly, or not at all, until it is resumed",
        Role.OPERATOR,
        ThrottleRequest,
        ThrottlePlan,
        ChangedMigration,
        lambda request: f"migration {request.migration}",
        lambda request: command(
            "migrate", "throttle", request.migration, options=[("--rate", request.rate), ("--pause", request.pause)]
        ),
        _throttle_plan,
        lambda reach, _, planned: _throttled(reach, planned),
        execute="",
    ),
    Verb(
        "migrations.resume",
        "Have a migration copy again as fast as its file and the clusters allow",
        Role.OPERATOR,
        ResumeRequest,
        ThrottlePlan,
        ChangedMigration,
        lambda request: f"migration {request.migration}",
        lambda request: command("migrate", "resume", request.migration),
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
        _file_subject,
        lambda _: command("migrate", "set", options=[("--file", FILE)]),
        _set_plan,
        _set,
        files=_files,
    ),
)
