"""The plan of a migration: each step as data, every reason at once, about how long it takes.

It changes nothing.  What both clusters hold is looked at once for all waves; each wave's link is probed as
``link create`` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from anabranch.config.migration_file import migration_fields
from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.migration import check
from anabranch.migration.estimate import Estimate, estimates
from anabranch.migration.inventory import Inventory
from anabranch.migration.legs import Leg
from anabranch.migration.preflight import preflight
from anabranch.migration.spec import Migration, Wave, WaveOrder
from anabranch.migration.steps import MigrationStep, Part, parts, start_steps, switch_steps
from anabranch.model.cluster import ClusterContext
from anabranch.model.plans import REQUEST, plan_hash
from anabranch.model.reasons import Reason, Severity, errors
from anabranch.model.reports import TopicPlan
from anabranch.operations.links import create
from anabranch.operations.links.create import LinkBeingDeletedError, LinkExistsError
from anabranch.operations.migrations import access, access_seen, rights
from anabranch.operations.migrations.desk import MigrationDesk
from anabranch.operations.migrations.inventory import take_inventory
from anabranch.operations.migrations.jobs import job_reasons
from anabranch.operations.migrations.looking import HoldsRecordsError, check_empty
from anabranch.spark.verify.options import UnreadableByJvmError, options

_WOULD_BE_REFUSED = "a switch would be refused"


@dataclass(eq=False)
class MigrationRefusedError(RefusedError):
    """What was found on the clusters forbids to start a migration; its plan says what."""

    name: str
    plan: str
    errors: int

    @property
    def message(self) -> str:
        found = "1 error was found" if self.errors == 1 else f"{self.errors:,} errors were found"
        return f"migration {self.name!r} cannot be started: {found}"

    _hint = "fix the reported errors, then plan again"


@dataclass(frozen=True, slots=True)
class PartPlan:
    """A switch: who is switched, and its steps."""

    part: Part
    steps: tuple[MigrationStep, ...]


@dataclass(frozen=True, slots=True)
class WavePlan:
    """What is done for a wave; ``topics`` are as its link would copy them."""

    name: str
    order: WaveOrder
    topics: tuple[TopicPlan, ...]
    groups: tuple[str, ...]
    start: tuple[MigrationStep, ...]
    switches: tuple[PartPlan, ...]
    estimate: Estimate
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """All of it; ``reasons`` are those of the whole.

    The hash covers the file, the clusters, the topics with their partitions, and the kinds of the groups: not what
    moves by itself, such as sizes, offsets and members.
    """

    name: str
    source: str
    source_id: str
    target: str
    target_id: str
    waves: tuple[WavePlan, ...]
    reasons: tuple[Reason, ...]
    hash: str
    migration: Migration = field(metadata=REQUEST)

    @property
    def ok(self) -> bool:
        """Whether nothing forbids to start it."""
        return not self.errors

    @property
    def errors(self) -> tuple[Reason, ...]:
        """What forbids it."""
        return errors((*self.reasons, *(reason for wave in self.waves for reason in wave.reasons)))


async def plan(
    source: Cluster,
    target: Cluster,
    migration: Migration,
    only: Collection[str] = (),
    *,
    watch_s: float,
) -> MigrationPlan:
    """Look at both clusters and the checkpoints of jobs; every reason against the migration is in the plan.

    ``only`` are the waves that are planned, by default all of them.

    Raises InvalidMigrationError, ClusterError, InvalidFieldError.
    """
    found = check.check_sound(migration)
    here, there = await asyncio.gather(
        take_inventory(source, watch_s=watch_s), take_inventory(target, watch_s=0.0, is_copied_to=True)
    )
    chosen = migration.chosen(only)
    others = tuple(wave for wave in migration.waves if wave not in chosen)
    part = replace(migration, waves=chosen)
    topics = {wave.name: [here.topics[one] for one in wave.topics if one in here.topics] for wave in chosen}
    expected = estimates(topics, migration.limits.source_rate)
    reasons = preflight(part, here, there, expected, others)
    waves = [
        await _wave(source, target, migration, wave, here, there, expected[wave.name], reasons[wave.name])
        for wave in chosen
    ]
    lacking = access.reasons_of if migration.access.sync else access_seen.lacking
    of_access = await lacking(source, target, migration, only)
    planned = MigrationPlan(
        migration.name,
        migration.source,
        here.cluster_id,
        migration.target,
        there.cluster_id,
        tuple(waves),
        (*found, *reasons[""], *of_access),
        _hash(part, here, there, waves),
        part,
    )
    return told_once(planned)


def told_once(planned: MigrationPlan) -> MigrationPlan:
    """The plan with what speaks against each of several waves, such as a right that is missing, told of the whole."""
    if len(planned.waves) < 2:
        return planned
    first, *others = planned.waves
    common = [one for one in dict.fromkeys(first.reasons) if all(one in wave.reasons for wave in others)]
    waves = tuple(
        replace(wave, reasons=tuple(one for one in wave.reasons if one not in common)) for wave in planned.waves
    )
    new = (one for one in common if one not in planned.reasons)
    return replace(planned, waves=waves, reasons=(*planned.reasons, *new))


def check_allowed(planned: MigrationPlan) -> None:
    """Raise MigrationRefusedError where something forbids to start it."""
    if not planned.ok:
        raise MigrationRefusedError(planned.name, planned.hash, len(planned.errors))


async def held_against(planned: MigrationPlan, desk: MigrationDesk) -> MigrationPlan:
    """The plan with what who carries it out says of switches: of hooks, and of the codes that applications name."""
    waves = []
    for one in planned.waves:
        wave = planned.migration.wave(one.name)
        assert wave is not None, one.name
        leg = Leg(planned.migration, wave)
        found = [reason for switch in one.switches for reason in await desk.against(leg, switch.part)]
        waves.append(replace(one, reasons=(*one.reasons, *rights.softened(dict.fromkeys(found), _WOULD_BE_REFUSED))))
    return told_once(replace(planned, waves=tuple(waves)))


def compared(planned: MigrationPlan, contexts: Iterable[ClusterContext]) -> MigrationPlan:
    """The plan with why ``migrate verify`` could not log in with a context: Java carries it out, and nothing else."""
    found = []
    for context in contexts:
        try:
            options(context)
        except UnreadableByJvmError as error:
            found.append(Reason.found(Severity.WARNING, f"a comparison would be refused: {error.message}", error.hint))
    return replace(planned, reasons=(*planned.reasons, *found))


async def _wave(
    source: Cluster,
    target: Cluster,
    migration: Migration,
    wave: Wave,
    here: Inventory,
    there: Inventory,
    expected: Estimate,
    reasons: Iterable[Reason],
) -> WavePlan:
    leg = Leg(migration, wave)
    spec = leg.spec(here.cluster_id, there.cluster_id)
    topics: tuple[TopicPlan, ...] = ()
    found: tuple[Reason, ...] = ()
    try:
        probed = await create.plan(source, target, spec)
        topics = probed.topics
        found = (*probed.findings, *await rights.control(target), *await _held(target, leg))
    except LinkBeingDeletedError as error:
        found = (Reason.found(Severity.ERROR, error.message, error.hint),)
    except LinkExistsError as error:
        fix = f"where the wave is started it is its own: `anabranch migrate status {migration.name}`; else {error.hint}"
        found = (Reason.found(Severity.ERROR, error.message, fix),)
    return WavePlan(
        wave.name,
        wave.order,
        topics,
        wave.groups,
        start_steps(leg),
        tuple(PartPlan(part, switch_steps(leg, part)) for part in parts(wave)),
        expected,
        (*reasons, *found, *await job_reasons(leg), *await _of_switches(source, target, leg)),
    )


async def _of_switches(source: Cluster, target: Cluster, leg: Leg) -> tuple[Reason, ...]:
    """What clusters do not grant yet of what the switch does: copying may begin all the same."""
    try:
        found = await rights.lacking(leg, Part.ALL, source, target)
    except PermissionDeniedError as error:
        found = (Reason.found(Severity.ERROR, error.message, error.hint),)
    return rights.softened(found, _WOULD_BE_REFUSED)


async def _held(target: Cluster, leg: Leg) -> tuple[Reason, ...]:
    """That the target holds records of a wave's topics already, or that it cannot be looked at."""
    try:
        await check_empty(target, leg)
    except HoldsRecordsError as error:
        return (Reason.found(Severity.ERROR, error.message, error.hint),)
    except PermissionDeniedError as error:
        what = f"whether {target.name} holds records of wave {leg.wave.name} is not known: {error.message}"
        return (Reason.found(Severity.ERROR, what, error.hint),)
    return ()


def _hash(migration: Migration, here: Inventory, there: Inventory, waves: Iterable[WavePlan]) -> str:
    groups: Mapping[str, str] = {
        name: here.groups[name].kind.value for wave in migration.waves for name in wave.groups if name in here.groups
    }
    topics = [[topic.source, topic.target, topic.partitions, topic.exists] for wave in waves for topic in wave.topics]
    return plan_hash(migration_fields(migration), here.cluster_id, there.cluster_id, topics, groups)
