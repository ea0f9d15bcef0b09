"""What is done for one wave of a migration: it is compared, switched, led back, ended, or taken back."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from anabranch.kafka.silence import answering
from anabranch.migration.inherited import inherited
from anabranch.migration.journal import run_of
from anabranch.migration.left_out import LEADS_FROM, is_left_out, left_out_words, stays_there
from anabranch.migration.lost_steps import LOOK_LOST_S
from anabranch.migration.options import PLAIN, WaveOptions
from anabranch.migration.run import PassedError, WaveRun, WaveRunState, key_of, lost_meanwhile
from anabranch.migration.spec import Migration
from anabranch.migration.standing import LEADS, WaveStanding, WaveState, WaveVerb
from anabranch.migration.steps import StepKind
from anabranch.model.accounts import Role
from anabranch.model.clock import now_ms
from anabranch.model.plans import plan_hash
from anabranch.model.reasons import Reason, Severity
from anabranch.operations.migrations import waves
from anabranch.operations.migrations.known import KnownMigration
from anabranch.operations.migrations.waves import WaveRunPlan
from anabranch.service.reach import Reach
from anabranch.service.verb import Verb
from anabranch.service.verbs.migration_approval import check_approved, needs_approval
from anabranch.service.verbs.migration_known import (
    both_clusters,
    read_migration,
    until_ended,
)
from anabranch.service.verbs.migration_shapes import (
    BothLostError,
    CancelRequest,
    GiveUpPlan,
    GiveUpRequest,
    LeadRequest,
    NothingUnderWayError,
    ReconcileRequest,
    ReverseRequest,
    SourceThereError,
    SwitchRequest,
    TakenBackError,
    WaveRequest,
    WaveRunReport,
)
from anabranch.service.words import command

R = TypeVar("R", bound=WaveRequest)


async def _run_plan(reach: Reach, request: WaveRequest, verb: WaveVerb, asked: WaveOptions = PLAIN) -> WaveRunPlan:
    known = await read_migration(reach, request.migration)
    stands = known.stands(request.wave)
    runs = [run_of(run.journal) for run in known.runs_of(request.wave)]
    results = inherited(stands.leg_of(verb, asked), verb, runs)
    made = key_of(StepKind.LOOK, request.wave) in results
    purges = asked.purge and (made or stands.state is not WaveState.PLANNED)
    run = waves.planned_run(stands, verb, uuid.uuid4().hex, now_ms(), results, replace(asked, purge=purges))
    clusters = both_clusters(reach, stands.leg.migration)
    beside = [*_beside(known, stands, verb, asked), *_approval(known.migration, run)]
    going = _under_way(known, run)
    if going is not None:
        what = f"run {going.id} does that already: its end is waited for, and nothing else begins"
        beside.append(Reason.found(Severity.INFO, what))
    planned = await waves.plan(*clusters, reach.migrating.desk, stands, verb, run, beside)
    return replace(planned, seen=known.ended(request.wave), revision=known.kept.revision, going=going)


def _beside(known: KnownMigration, stands: WaveStanding, verb: WaveVerb, asked: WaveOptions) -> list[Reason]:
    """What is against it, or worth a look, beside what its steps would meet; a lost cluster can be compared no more."""
    found = []
    name, wave = known.kept.name, stands.wave.name
    if verb is WaveVerb.COMPLETE and stands.leg.leads_back and stands.lost is None and stands.gone is None:
        found += _uncompared(known, stands, stands.leg.at(stands.leg.number - 1).link, " since the wave was switched")
    if verb not in LEADS:
        return found
    if why := known.kept.holds.get(wave) or known.kept.holds.get(""):
        part = f" --wave {wave}" if wave in known.kept.holds else ""
        fix = f"`anabranch migrate release {name}{part}`"
        found.append(Reason.found(Severity.ERROR, f"wave {wave} is held: {why}", fix))
    if asked.lost is None:
        found += _uncompared(known, stands, stands.leg.link)
    return found


def _uncompared(known: KnownMigration, stands: WaveStanding, link: str, since: str = "") -> list[Reason]:
    """A warning where no comparison of a link has ended on the leg where the wave stands, since it was started."""
    name, wave = known.kept.name, stands.wave.name
    done = [run for run in known.runs if (run.wave, run.state) == (wave, WaveRunState.DONE.value)]
    started = max((run.began for run in done if run.journal["what"] == WaveVerb.START.value), default=0)
    for run in done:
        told = run_of(run.journal)
        compared = {step.subject for step in told.steps if step.kind is StepKind.VERIFY}
        if told.leg == stands.leg.number and run.began >= started and link in compared:
            return []
    fix = f"`anabranch migrate verify {name} --wave {wave}`"
    return [Reason.found(Severity.WARNING, f"what {link} has copied was not compared{since}", fix)]


def _under_way(known: KnownMigration, run: WaveRun) -> WaveRun | None:
    """The run that is under way and does what another one would; None of one that goes without a cluster."""
    for kept in known.runs_of(run.wave):
        going = run_of(kept.journal)
        alike = (going.what, going.leg, going.part, going.steps) == (run.what, run.leg, run.part, run.steps)
        if kept.is_open and alike and not (going.lost or run.lost):
            return going
    return None


def _approval(migration: Migration, run: WaveRun) -> list[Reason]:
    """Who approves it, for the record."""
    if not (migration.approvers and needs_approval(run)):
        return []
    whom = ", ".join(migration.approvers)
    return [Reason.found(Severity.INFO, f"one of {whom} approves it who did not ask for it")]


async def _carried_out(reach: Reach, planned: WaveRunPlan, command: str) -> WaveRunReport:
    """Begin the run of a plan, and wait for its end; ``command`` shows that plan.

    The race: clusters are looked at for seconds as it is planned, and what somebody else asked for may end meanwhile,
    the wave may be held, or its file changed.  What is under way already, as after whoever asked for it was killed, is
    waited for in its place.  Raises WaveRefusedError, NotApprovedError, WaveBusyError, WaveMovedError,
    MigrationChangedError.
    """
    if planned.going is not None:
        return await until_ended(reach, planned.going)
    waves.check_allowed(planned, command)
    known = await read_migration(reach, planned.migration)
    if needs_approval(planned.run):
        check_approved(reach, known.migration)
    await reach.migrating.begin(planned.run, reach.account, planned.seen, planned.revision)
    return await until_ended(reach, planned.run)


def _wave_verb(verb: WaveVerb, summary: str, role: Role, execute: str = "--execute") -> Verb[Any, Any]:
    async def plan(reach: Reach, request: WaveRequest) -> WaveRunPlan:
        return await _run_plan(reach, request, verb)

    def words(request: WaveRequest) -> str:
        return _words(verb.value, request)

    return Verb(
        f"migrations.{verb.value}",
        summary,
        role,
        WaveRequest,
        WaveRunPlan,
        WaveRunReport,
        _subject,
        words,
        plan,
        _applied(words),
        execute=execute,
    )


def _subject(request: WaveRequest) -> str:
    return f"wave {request.wave} of migration {request.migration}"


def _words(word: str, request: WaveRequest, *options: tuple[str, object]) -> str:
    return command("migrate", word, request.migration, options=[("--wave", request.wave), *options])


async def _lead_plan(reach: Reach, request: LeadRequest) -> WaveRunPlan:
    return await _run_plan(reach, request, WaveVerb(LEADS_FROM[request.leaves][0]), request.options)


def _lead_words(request: LeadRequest) -> str:
    verb, flag = LEADS_FROM[request.leaves]
    groups = None if request.unknown_groups == "refuse" else request.unknown_groups
    return _words(verb, request, (flag, request.is_without), ("--unknown-groups", groups))


async def _reconcile_plan(reach: Reach, request: ReconcileRequest) -> WaveRunPlan:
    return await _run_plan(reach, request, WaveVerb.RECONCILE, request.options)


def _reconcile_words(request: ReconcileRequest) -> str:
    return _words("reconcile", request, ("--tail", None if request.tail == "refuse" else request.tail))


def _cancel_words(request: CancelRequest) -> str:
    return _words("cancel", request, ("--purge", request.purge))


async def _cancel_plan(reach: Reach, request: CancelRequest) -> WaveRunPlan:
    return await _run_plan(reach, request, WaveVerb.CANCEL, WaveOptions(purge=request.purge))


def _applied(
    words: Callable[[R], str],
) -> Callable[[Reach, R, WaveRunPlan], Coroutine[Any, Any, WaveRunReport]]:
    """Carry a plan out; ``words`` are the command of its request."""

    async def apply(reach: Reach, request: R, planned: WaveRunPlan) -> WaveRunReport:
        return await _carried_out(reach, planned, words(request))

    return apply


async def _give_up_plan(reach: Reach, request: GiveUpRequest) -> GiveUpPlan:
    known = await read_migration(reach, request.migration)
    stands = known.stands(request.wave)
    run = stands.open
    if run is None:
        raise NothingUnderWayError(request.migration, request.wave)
    leg = stands.leg.at(run.leg)
    lost = request.lost
    if lost is not None:
        gone = reach.clusters.cluster(leg.migration.at(lost))
        if found := await answering(gone, LOOK_LOST_S):
            raise SourceThereError(request.migration, request.wave, gone.name, found[0])
        if not run.can_be_left(lost):
            raise BothLostError(request.migration, request.wave, gone.name)
        run = lost_meanwhile(run, request.reason, lost)
    elif run.has_passed:
        raise PassedError(request.migration, request.wave)
    is_turned = run.can_turn or run.state is WaveRunState.TURNED
    steps = tuple(reversed(run.steps[: run.at + run.is_begun])) if is_turned else run.steps[run.at :]
    out = [step for step in steps if lost is not None and is_left_out(leg, step, run.lost_end)]
    left = [step for step in out if not is_turned or stays_there(leg, step, run.lost_end)]
    return GiveUpPlan(
        request.migration,
        request.wave,
        WaveVerb(run.what),
        run.id,
        tuple(step.text for step in steps if step not in out),
        plan_hash("migrations.give-up", run.id, *(() if lost is None else (lost.value, is_turned))),
        not is_turned,
        tuple(step.text for step in left),
    )


async def _give_up(reach: Reach, request: GiveUpRequest, planned: GiveUpPlan) -> WaveRunReport:
    """Have it taken back, and wait until that is done; raises PassedError where it had gone on to its end.

    Without a cluster it ends in each case: taken back where that can be, else with what can be done without.
    """
    stored, why = reach.migrating.stored, f"{reach.account}: {request.reason}"
    if request.lost is not None:
        await reach.migrating.leave(planned.run, request.lost, why)
    else:
        await stored.ask(lambda: stored.migrations.give_up(planned.run, why))
    run = (await read_migration(reach, request.migration)).stands(request.wave).open
    try:
        if run is not None:
            await until_ended(reach, run)
    except TakenBackError:
        pass
    kept = await stored.ask(lambda: stored.migrations.run(planned.run))
    if kept.state == WaveRunState.DONE.value and request.lost is None:
        raise PassedError(request.migration, request.wave)
    ended, stands = run_of(kept.journal), (await read_migration(reach, request.migration)).stands(request.wave)
    doubts = left_out_words(stands.leg.at(ended.leg), ended)
    return WaveRunReport(request.migration, request.wave, planned.verb, planned.run, kept.state, None, doubts)


def _give_up_words(request: GiveUpRequest) -> str:
    flags = ("--source-lost", request.source_lost), ("--target-lost", request.target_lost)
    return _words("cancel", request, ("--reason", request.reason), *flags)


VERBS: tuple[Verb[Any, Any], ...] = (
    _wave_verb(WaveVerb.VERIFY, "Compare what a wave's link has copied, record by record", Role.OPERATOR, ""),
    Verb(
        "migrations.switch",
        "Switch a wave's applications to the target",
        Role.APPROVER,
        SwitchRequest,
        WaveRunPlan,
        WaveRunReport,
        _subject,
        _lead_words,
        _lead_plan,
        _applied(_lead_words),
    ),
    Verb(
        "migrations.reverse",
        "Lead a wave's applications back to the source, exactly",
        Role.APPROVER,
        ReverseRequest,
        WaveRunPlan,
        WaveRunReport,
        _subject,
        _lead_words,
        _lead_plan,
        _applied(_lead_words),
    ),
    Verb(
        "migrations.reconcile",
        "See what a lost cluster that is back has more, and make the way there where it is exact",
        Role.APPROVER,
        ReconcileRequest,
        WaveRunPlan,
        WaveRunReport,
        _subject,
        _reconcile_words,
        _reconcile_plan,
        _applied(_reconcile_words),
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
        _cancel_words,
        _cancel_plan,
        _applied(_cancel_words),
    ),
    Verb(
        "migrations.give-up",
        "Take back what is under way for a wave, before its point of no return",
        Role.OPERATOR,
        GiveUpRequest,
        GiveUpPlan,
        WaveRunReport,
        _subject,
        _give_up_words,
        _give_up_plan,
        _give_up,
    ),
)
