"""The plan of what is done for one wave: its steps, what each would meet now, and every reason against it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.config.migration_file import migration_fields
from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.migration.options import PLAIN, WaveOptions
from anabranch.migration.run import WaveRun
from anabranch.migration.spec import FenceKind, Wave
from anabranch.migration.standing import LEADS, WaveStanding, WaveVerb
from anabranch.migration.steps import MigrationStep, Part, StepKind
from anabranch.migration.wave_steps import WavePart, steps_for
from anabranch.model.plans import REQUEST, plan_hash
from anabranch.model.reasons import Reason, Severity, errors
from anabranch.operations.migrations.desk import MigrationDesk
from anabranch.operations.migrations.dryrun import SeenStep, dry_run
from anabranch.operations.migrations.steps import ClusterSteps


@dataclass(eq=False)
class WaveRefusedError(RefusedError):
    """What was found forbids what was asked for a wave; ``command`` shows its plan, which says what."""

    migration: str
    wave: str
    verb: str
    first: str
    command: str

    _message = "wave {wave} of migration {migration} cannot {verb}: {first}"
    _hint = "see each step: `{command}`"


@dataclass(frozen=True, slots=True)
class WaveRunPlan:
    """What is done for a wave: each step with what it would meet now; ``from_`` and ``to`` are contexts.

    The hash covers the file, the leg, the part and the steps, and what a purge deletes: not what moves by itself.
    ``seen`` is how many runs of the wave had ended as it was made, ``revision`` that of the migration.  ``going`` is a
    run that is under way and does just that: nothing else is begun then.
    """

    migration: str
    wave: str
    verb: WaveVerb
    part: Part
    leg: int
    source: str
    target: str
    steps: tuple[SeenStep, ...]
    reasons: tuple[Reason, ...]
    hash: str
    run: WaveRun = field(metadata=REQUEST)
    seen: int = field(default=0, metadata=REQUEST)
    revision: int | None = field(default=None, metadata=REQUEST)
    going: WaveRun | None = field(default=None, metadata=REQUEST)

    @property
    def ok(self) -> bool:
        """Whether nothing forbids it."""
        return not errors(self.reasons)


async def plan(
    source: Cluster,
    target: Cluster,
    desk: MigrationDesk,
    stands: WaveStanding,
    verb: WaveVerb,
    made: WaveRun,
    beside: Iterable[Reason] = (),
) -> WaveRunPlan:
    """Look at what each step would meet; ``made`` is the run as it would begin, from `planned_run`.

    ``beside`` are reasons that do not come from its steps.

    Raises ClusterError.
    """
    leg = stands.leg.at(made.leg)
    seen = await dry_run(made, ClusterSteps(leg.migration, source, target, desk))
    return WaveRunPlan(
        leg.migration.name,
        leg.wave.name,
        verb,
        made.part,
        made.leg,
        leg.here,
        leg.there,
        seen,
        (*beside, *reasons_of(seen, leg.wave)),
        _hash(stands, made),
        made,
    )


def planned_run(
    stands: WaveStanding,
    verb: WaveVerb,
    run: str,
    now_ms: int,
    results: Mapping[str, Mapping[str, Any]],
    asked: WaveOptions = PLAIN,
) -> WaveRun:
    """The run of a verb as it would begin; raises WaveStateError.

    Only a switch holds applications up, and for so long as the migration allows.
    """
    found: WavePart = steps_for(stands, verb, asked)
    leg = found.leg
    holds = verb in LEADS
    return WaveRun(
        run,
        leg.migration.name,
        leg.wave.name,
        verb.value,
        found.steps,
        now_ms,
        leg.migration.limits.longest_pause_ms if holds else None,
        part=found.part,
        leg=leg.number,
        results=results,
    )


def check_allowed(planned: WaveRunPlan, command: str) -> None:
    """Raise WaveRefusedError where something forbids it; ``command`` is what shows the plan again."""
    if found := errors(planned.reasons):
        raise WaveRefusedError(planned.migration, planned.wave, planned.verb.value, found[0].what, command)


def reasons_of(seen: tuple[SeenStep, ...], wave: Wave) -> list[Reason]:
    """What forbids it, or is worth a look, of what steps would meet."""
    found: list[Reason] = []
    for step in seen:
        found += step.against
        if step.forbidden and not errors(step.against):
            found.append(Reason.found(Severity.ERROR, step.what, step.fix))
        elif step.waits and not _brings_about(wave, step.kind):
            found.append(Reason.found(Severity.WARNING, f"it would wait now: {step.what}"))
        found += [Reason.found(Severity.WARNING, doubt) for doubt in step.doubts]
    return found


def _brings_about(wave: Wave, kind: StepKind) -> bool:
    """Whether a switch sees to it itself: to wait for it is no reason against it."""
    is_fenced = wave.fences != (FenceKind.OBSERVE,)
    is_emptied = kind is StepKind.GROUPS_EMPTY and wave.denies_readers
    return is_emptied or (is_fenced and kind in (StepKind.QUIET, StepKind.GROUPS_EMPTY))


def _hash(stands: WaveStanding, made: WaveRun) -> str:
    steps: list[list[str]] = [_told(step) for step in made.steps]
    results = {key: dict(result) for key, result in made.results.items()}
    return plan_hash(migration_fields(stands.leg.migration), made.wave, made.what, made.part.value, steps, results)


def _told(step: MigrationStep) -> list[str]:
    return [step.kind.value, step.subject, step.text]
