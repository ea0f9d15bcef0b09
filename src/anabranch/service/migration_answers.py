"""What the service answers of migrations, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.migration.inventory import Inventory
from anabranch.migration.journal import run_of
from anabranch.migration.kept import StoredMigration, StoredRun
from anabranch.migration.left_out import left_out_words
from anabranch.migration.legs import Leg
from anabranch.migration.pause import pause_of, topic_pauses
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import Migration
from anabranch.migration.standing import WaveStanding, WaveVerb
from anabranch.migration.steps import StepKind
from anabranch.model.reasons import Reason
from anabranch.operations.migrations.known import migration_in, standings
from anabranch.service.access_looks import AccessLook, looks_of


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """A step of a run: ``state`` is ``done``, ``doing``, ``to do``, ``putting back``, ``put back`` or ``not done``.

    Of a run that is taken back the first that is not done is where it was turned.  ``result`` is what it wrote down for
    those after it.
    """

    kind: str
    subject: str
    text: str
    state: str
    ended_ms: int | None
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WaveRunSummary:
    """A run: ``at`` is the number of its step of now, counted from 0, ``no_return`` that of the point of no return.

    ``waits`` is what it waited for when it was last told, ``why`` why it was taken back, ``cancelled`` why a person
    wants it given up.  ``paused_since_ms`` and ``paused_until_ms`` are when applications were held up.
    """

    id: str
    wave: str
    what: WaveVerb
    part: str
    leg: int
    link: str
    source: str
    target: str
    state: str
    is_open: bool
    at: int
    steps: int
    no_return: int | None
    has_passed: bool
    began_ms: int
    over_ms: int | None
    longest_ms: int | None
    author: str
    why: str
    waits: str
    cancelled: str
    paused_since_ms: int | None
    paused_until_ms: int | None


@dataclass(frozen=True, slots=True)
class WaveRunAnswer:
    """A run with its steps; ``pauses`` are for how many ms at least each topic was not written to."""

    run: WaveRunSummary
    steps: tuple[StepAnswer, ...]
    pauses: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class WaveAnswer:
    """A wave: where it stands, where its applications are (``at``), what can be asked for, and its last run.

    ``link`` copies away from where its applications are, and ``not_copied`` is why that does not copy all that it
    should, empty where it does; ``held`` is why its switches wait, empty where they do not.
    ``lost`` is how it stands with a cluster that was lost, empty where none was or the way there is made; ``doubts``
    are what may be lost, or is not known, in sentences.  ``gone``: the cluster that did not answer when something was
    done last, and does not keep up; ``doubts`` may be what was left out then.
    """

    name: str
    state: str
    at: str
    link: str
    not_copied: str
    leg: int
    part: str
    switched: tuple[str, ...]
    order: str
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    jobs: tuple[str, ...]
    fences: tuple[str, ...]
    readers: str
    held: str
    lost: str
    doubts: tuple[str, ...]
    is_gone: bool
    gone: str
    run: WaveRunSummary | None


@dataclass(frozen=True, slots=True)
class MigrationSummary:
    """A migration in a list; ``access`` is what rounds came to that carry access rules over, by wave."""

    name: str
    source: str
    target: str
    author: str
    created_ms: int
    revision: int
    held: str
    approvers: tuple[str, ...]
    throttle: Mapping[str, Any]
    access: Mapping[str, AccessLook]
    waves: tuple[WaveAnswer, ...]


@dataclass(frozen=True, slots=True)
class SuggestedMigration:
    """A first migration of all that the source holds, as a file's fields; ``reasons`` are what to look at in it."""

    source: Inventory
    document: Mapping[str, Any]
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class MigrationAnswer:
    """A migration in full: its file, and all runs of its waves, the newest first."""

    migration: MigrationSummary
    document: Mapping[str, Any]
    runs: tuple[WaveRunAnswer, ...]


WhyNotCopied = Callable[[WaveStanding, int | None], str]
"""Why a wave's link does not copy all that it should, by how it stands and when the last run for it ended, in ms."""


def summary_of(kept: StoredMigration, runs: Sequence[StoredRun], why_not_copied: WhyNotCopied) -> MigrationSummary:
    """A migration with where its waves stand."""
    migration = migration_in(kept.document, kept.name)
    return MigrationSummary(
        kept.name,
        migration.source,
        migration.target,
        kept.author,
        kept.created,
        kept.revision,
        kept.holds.get("", ""),
        migration.approvers,
        kept.throttle,
        looks_of(kept.access),
        tuple(_wave(migration, kept, stands, runs, why_not_copied) for stands in standings(migration, runs).values()),
    )


def answer_of(kept: StoredMigration, runs: Sequence[StoredRun], why_not_copied: WhyNotCopied) -> MigrationAnswer:
    """A migration in full."""
    migration = migration_in(kept.document, kept.name)
    told = tuple(run_answer(migration, run) for run in reversed(runs))
    return MigrationAnswer(summary_of(kept, runs, why_not_copied), kept.document, told)


def _wave(
    migration: Migration,
    kept: StoredMigration,
    stands: WaveStanding,
    runs: Sequence[StoredRun],
    why_not_copied: WhyNotCopied,
) -> WaveAnswer:
    wave, last = stands.wave, next((run for run in reversed(runs) if run.wave == stands.wave.name), None)
    summary = None if last is None else run_summary(migration, last)
    return WaveAnswer(
        wave.name,
        stands.state.value,
        stands.leg.here,
        stands.leg.link,
        why_not_copied(stands, None if summary is None else summary.over_ms),
        stands.leg.number,
        stands.part.value,
        tuple(part.value for part in stands.switched),
        wave.order.value,
        wave.topics,
        wave.groups,
        tuple(job.name for job in wave.jobs),
        tuple(fence.value for fence in wave.fences),
        wave.readers.value,
        kept.holds.get(wave.name, "") or kept.holds.get("", ""),
        "" if stands.lost is None else stands.lost.words,
        _doubts(stands, last),
        stands.is_gone,
        "" if stands.gone is None else migration.at(stands.gone),
        summary,
    )


def _doubts(stands: WaveStanding, last: StoredRun | None) -> tuple[str, ...]:
    """What is not known of a wave without a cluster, or what a run has left out for want of it."""
    if stands.lost is not None:
        return stands.lost.doubts
    if last is None or not stands.is_gone:
        return ()
    run = run_of(last.journal) if stands.left is None else stands.left
    return left_out_words(stands.leg.at(run.leg), run)


def run_summary(migration: Migration, stored: StoredRun) -> WaveRunSummary:
    """A run without its steps."""
    run = run_of(stored.journal)
    kinds = [step.kind for step in run.steps]
    pause = pause_of(run)
    wave = migration.wave(run.wave)
    leg = None if wave is None else Leg(migration, wave, run.leg)
    return WaveRunSummary(
        run.id,
        run.wave,
        WaveVerb(run.what),
        run.part.value,
        run.leg,
        "" if leg is None else leg.link,
        "" if leg is None else leg.here,
        "" if leg is None else leg.there,
        run.state.value,
        run.state.is_open,
        run.at,
        len(run.steps),
        kinds.index(StepKind.JOURNAL) if StepKind.JOURNAL in kinds else None,
        run.has_passed,
        run.began_ms,
        run.over_ms,
        run.longest_ms,
        stored.author,
        run.why,
        stored.waits,
        stored.cancelled,
        None if pause is None else pause.since_ms,
        None if pause is None else pause.until_ms,
    )


def run_answer(migration: Migration, stored: StoredRun) -> WaveRunAnswer:
    """A run with its steps."""
    run = run_of(stored.journal)
    steps = tuple(
        StepAnswer(
            step.kind.value,
            step.subject,
            step.text,
            _state(run, at),
            run.times[at] if at < len(run.times) else None,
            run.result(step.kind, step.subject),
        )
        for at, step in enumerate(run.steps)
    )
    return WaveRunAnswer(run_summary(migration, stored), steps, topic_pauses(run))


def _state(run: WaveRun, at: int) -> str:
    match run.state:
        case WaveRunState.DONE:
            return "done"
        case WaveRunState.CANCELLED:
            return "put back" if at < len(run.times) else "not done"
        case WaveRunState.TURNED:
            if at == run.at or at in run.owed:
                return "putting back"
            if at < run.at and run.at not in run.owed:
                return "done"
            return "put back" if at < len(run.times) else "not done"
        case WaveRunState.GOING:
            return "done" if at < run.at else "doing" if at == run.at else "to do"
