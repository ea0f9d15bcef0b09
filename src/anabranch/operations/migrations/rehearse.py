"""Rehearsing a wave: the whole path there and back on what is made for it, and then removed: topics, groups, and
copies of its jobs' checkpoints.

Each step is the one of a real switch, done by the same engine.  What a rehearsal that was killed has left behind is
removed by the next one, which finds it by its names, and knows it by its records.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from anabranch.config.migration_file import migration_fields
from anabranch.kafka import admin
from anabranch.kafka import groups as kafka_groups
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog
from anabranch.kafka.settling import until_led
from anabranch.migration.check import check_sound
from anabranch.migration.pause import pause_of
from anabranch.migration.rehearsal import Rehearsal, rehearsal_of
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import Migration
from anabranch.migration.standing import WaveStanding, WaveState, WaveVerb
from anabranch.migration.steps import MigrationStep
from anabranch.model.clock import now_ms
from anabranch.model.counted import counted
from anabranch.model.groups import Commit
from anabranch.model.plans import REQUEST, check_holds, plan_hash
from anabranch.model.topics import TopicPartition
from anabranch.operations.groups.commits import read_groups
from anabranch.operations.migrations import waves
from anabranch.operations.migrations.desk import MigrationDesk
from anabranch.operations.migrations.engine import KeptRun, carry_out
from anabranch.operations.migrations.known import NoWaveError
from anabranch.operations.migrations.rehearsed import MARK, SAMPLES, RehearsalFailedError, clean, refuse_foreign
from anabranch.operations.migrations.rehearsed_jobs import Records, check_jobs, copy_jobs, refuse_jobs, take_snapshots
from anabranch.operations.migrations.steps import ClusterSteps

_KEPT = ("cleanup.policy", "max.message.bytes", "message.timestamp.type", "compression.type")
"""Configs of the real topics that change how they are copied."""

Heard = Callable[[str], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class RehearsedRun:
    """A part of the path: how long it took, and for how long it would have held applications up; in ms."""

    verb: WaveVerb
    took_ms: int
    pause_ms: int | None


@dataclass(frozen=True, slots=True)
class RehearsalReport:
    """A rehearsal that went well: records and positions were exact, there and back; ``left_out`` was not tried."""

    migration: str
    wave: str
    runs: tuple[RehearsedRun, ...]
    partitions: int
    records: int
    positions: int
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RehearsalPlan:
    """What a rehearsal makes and removes, by the real ones, and what it leaves out."""

    migration: str
    wave: str
    topics: Mapping[str, str]
    groups: Mapping[str, str]
    checkpoints: Mapping[str, str]
    left_out: tuple[str, ...]
    hash: str
    made: Rehearsal = field(metadata=REQUEST)


def rehearsal(migration: Migration, wave: str) -> Rehearsal:
    """What would be rehearsed of a wave; raises InvalidMigrationError, NoWaveError."""
    check_sound(migration)
    found = migration.wave(wave)
    if found is None:
        raise NoWaveError(migration.name, wave)
    return rehearsal_of(migration, found)


async def plan(source: Cluster, target: Cluster, made: Rehearsal) -> RehearsalPlan:
    """The plan of what ``rehearsal`` answers; raises what ``apply`` raises before it touches anything."""
    await refuse_foreign(source, target, made)
    await refuse_jobs(source, made)
    hash_ = plan_hash("migrations.rehearse", migration_fields(made.migration))
    shown = made.topics, made.groups, made.checkpoints, made.left_out
    return RehearsalPlan(made.migration.name, made.real.wave.name, *shown, hash_, made)


async def apply(
    source: Cluster, target: Cluster, desk: MigrationDesk, planned: RehearsalPlan, tell: Heard
) -> RehearsalReport:
    """Go the whole path and clean up; raises RehearsalFailedError, ClusterError, and cleans up then, too.

    Raises ForeignRehearsalError, ForeignDirectoryError, and touches nothing, where something has its names that no
    rehearsal made; and JobRefusedError where the checkpoint of a job cannot be copied.
    """
    made = planned.made
    check_holds(f"the rehearsal of wave {planned.wave}", planned, await plan(source, target, made))
    await tell("removing what an earlier rehearsal left")
    await clean(source, target, desk, made)
    try:
        return await _rehearsed(source, target, desk, made, tell)
    finally:
        await tell("removing what the rehearsal made")
        await clean(source, target, desk, made)


async def _rehearsed(
    source: Cluster, target: Cluster, desk: MigrationDesk, planned: Rehearsal, tell: Heard
) -> RehearsalReport:
    steps, leg = ClusterSteps(planned.migration, source, target, desk), planned.leg
    partitions = await _topics(source, planned)
    await tell(f"writing {SAMPLES} records to each of {len(partitions)} partitions")
    expected = await _write(source, partitions, {})
    await _commit(source, planned, partitions, SAMPLES // 2)
    if planned.jobs:
        await tell(f"copying {counted(len(planned.jobs), 'checkpoint')}")
    copies = await copy_jobs(planned, await _records(source, planned, partitions))
    runs = [
        await _run(steps, WaveStanding(leg), WaveVerb.START, tell),
        await _run(steps, WaveStanding(leg, WaveState.COPYING), WaveVerb.VERIFY, tell),
        await _run(steps, WaveStanding(leg, WaveState.COPYING), WaveVerb.SWITCH, tell),
    ]
    there = [TopicPartition(leg.topics[one.topic], one.partition) for one in partitions]
    await _check(target, planned, there, expected, SAMPLES // 2)
    moved = await check_jobs(planned, leg, await _records(target, planned, there), copies)
    expected = await _write(target, there, expected)
    await _commit(target, planned, there, SAMPLES + SAMPLES // 2)
    await take_snapshots(planned)
    runs.append(await _run(steps, WaveStanding(leg.next, WaveState.SWITCHED), WaveVerb.REVERSE, tell))
    await _check(source, planned, partitions, expected, SAMPLES + SAMPLES // 2)
    moved += await check_jobs(planned, leg.next, await _records(source, planned, partitions), copies)
    return RehearsalReport(
        planned.migration.name,
        leg.wave.name,
        tuple(runs),
        len(partitions),
        2 * SAMPLES * len(partitions),
        2 * len(planned.groups) * len(partitions) + moved,
        planned.left_out,
    )


async def _run(steps: ClusterSteps, stands: WaveStanding, verb: WaveVerb, tell: Heard) -> RehearsedRun:
    """Carry a run out; raises RehearsalFailedError where it was taken back."""
    made = waves.planned_run(stands, verb, uuid.uuid4().hex, now_ms(), {})

    async def said(run: WaveRun, waits: str) -> None:
        step: MigrationStep | None = run.step
        await tell(f"{verb.value}: {'' if step is None else step.text}: {waits}")

    await tell(f"{verb.value} is rehearsed")
    run = await carry_out(_Kept(KeptRun(made, 0, "")), made.id, steps, now_ms, said)
    if run.state is not WaveRunState.DONE:
        raise RehearsalFailedError(stands.wave.name, verb.value, run.why)
    pause, over = pause_of(run), run.over_ms or now_ms()
    return RehearsedRun(verb, over - run.began_ms, None if pause is None else pause.length_ms(over))


@dataclass(eq=False)
class _Kept:
    """A journal in memory: a rehearsal that is killed is not gone on with, but cleaned up after."""

    kept: KeptRun

    async def read(self, _: str) -> KeptRun:
        """As it is now."""
        return self.kept

    async def write(self, before: KeptRun, run: WaveRun) -> KeptRun:
        """Over what was read."""
        self.kept = KeptRun(run, before.revision + 1, "")
        return self.kept


# -- what it is tried on ---------------------------------------------------------------------------------------


async def _topics(source: Cluster, planned: Rehearsal) -> list[TopicPartition]:
    """Make the topics, like the real ones in what matters; returns their partitions."""
    answer = await source.metadata(sorted(planned.topics))
    configs = await admin.topic_configs(source, list(planned.topics))
    partitions = []
    for real, scratch in planned.topics.items():
        topic = answer.topics[real]
        source.check(topic.error, "Describe", f"topic {real}")
        own = {name: found.value for name, found in configs[real].items() if name in _KEPT and found.value is not None}
        copies = len(next(iter(topic.partitions.values())).replicas)
        if not await admin.create_topic(source, scratch, len(topic.partitions), copies, own):
            raise RehearsalFailedError(planned.leg.wave.name, "begin", f"somebody has made topic {scratch} meanwhile")
        partitions += [TopicPartition(scratch, at) for at in sorted(topic.partitions)]
    await until_led(source, list(planned.topics.values()))
    return partitions


async def _write(
    cluster: Cluster, partitions: list[TopicPartition], before: Mapping[int, list[bytes]]
) -> dict[int, list[bytes]]:
    """Append samples to each partition; returns the keys that each holds then, by its place in the list."""
    found = {}
    for at, one in enumerate(partitions):
        known = before.get(at, [])
        keys = [f"{at}-{len(known) + number}".encode() for number in range(SAMPLES)]
        log = KeyedLog(cluster, one.topic, one.partition)
        if await log.append([(key, MARK) for key in keys], now_ms()) is None:
            raise RehearsalFailedError("", "write", f"what became of records of {one} is not known")
        found[at] = [*known, *keys]
    return found


async def _records(cluster: Cluster, planned: Rehearsal, partitions: list[TopicPartition]) -> Records:
    """The offsets of all records of each partition, by which checkpoints are made and checked."""
    if not planned.jobs:
        return {}
    logs = {one: KeyedLog(cluster, one.topic, one.partition) for one in partitions}
    return {one: [entry.offset for entry in await log.read()] for one, log in logs.items()}


async def _commit(cluster: Cluster, planned: Rehearsal, partitions: list[TopicPartition], number: int) -> None:
    """Have each group have read so many records of each partition."""
    for group in planned.groups.values():
        commits = {}
        for one in partitions:
            entries = await KeyedLog(cluster, one.topic, one.partition).read()
            commits[one] = Commit(entries[number].offset)
        await kafka_groups.commit(cluster, group, commits)


async def _check(
    cluster: Cluster,
    planned: Rehearsal,
    partitions: list[TopicPartition],
    expected: Mapping[int, list[bytes]],
    number: int,
) -> None:
    """See that each record is there once, in order, and that each group goes on at exactly its record."""
    wave = planned.leg.wave.name
    groups = await read_groups(cluster, list(planned.groups.values()))
    for at, one in enumerate(partitions):
        entries = await KeyedLog(cluster, one.topic, one.partition).read()
        if (keys := [entry.key for entry in entries]) != expected[at]:
            raise RehearsalFailedError(wave, "copy", f"{one} holds {len(keys)} records, not the {len(expected[at])}")
        for group in groups.values():
            commit = group.commits.get(one)
            if commit is None or commit.offset != entries[number].offset:
                found = "nothing" if commit is None else f"{commit.offset:,}"
                why = f"group {group.name} has committed {found} of {one}, and not {entries[number].offset:,}"
                raise RehearsalFailedError(wave, "move groups", why)
