"""Steps that prove that nobody writes to the source any more, and that the target has all of it.

The race: a producer that nothing keeps from writing may write at any time.  So the ends that were pinned are looked at
again right before the point of no return; what has come since turns the switch back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.errors import AnabranchError, RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.headers import header_at
from anabranch.kafka.partitions import EARLIEST, LATEST
from anabranch.kafka.start import ask_offsets
from anabranch.kafka.writers import active_producers
from anabranch.migration.run import WaveRun
from anabranch.migration.steps import StepKind
from anabranch.model.counted import counted
from anabranch.model.topics import TopicPartition
from anabranch.operations.migrations.desk import Result, Scene
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.offsets.translate import translate
from anabranch.operations.routes.moving import uncopied

_NAMED = 3
_AT_ONCE = 16
_LAST_WRITTEN_S = 10.0


@dataclass(eq=False)
class WrittenMeanwhileError(RefusedError):
    """Somebody wrote after the ends had been pinned."""

    wave: str
    partition: str
    records: int
    by: str

    _message = "wave {wave}: {records:,} records came to {partition} after its end was pinned, written by {by}"
    _hint = "keep that producer from writing, then switch again"


@dataclass(eq=False)
class ForeignRecordsError(RefusedError):
    """The target holds records of somebody else behind what was copied."""

    wave: str
    partition: str
    expected: int
    end: int

    _message = "wave {wave}: {partition} ends at {end:,}, and what was copied at {expected:,}: somebody writes there"
    _hint = "find out who writes to the target already: `anabranch link show` names foreign writers"


async def _asked(scene: Scene) -> dict[TopicPartition, int]:
    """The partitions of the wave, each with what asks where its log ends."""
    answer = await scene.here.metadata(sorted(scene.leg.topics))
    for topic in answer.topics.values():
        scene.here.check(topic.error, "Describe", f"topic {topic.name}")
    partitions = [TopicPartition(name, at) for name, topic in sorted(answer.topics.items()) for at in topic.partitions]
    return dict.fromkeys(partitions, LATEST)


async def _closed_ends(scene: Scene) -> dict[TopicPartition, int]:
    """High watermarks; raises NotYetError while a transaction is open, of which nothing could be copied yet.

    The last stable offsets are asked for second: in a log that grows they would else be behind without a transaction.
    """
    asked = await _asked(scene)
    found = await ask_offsets(scene.here, asked, isolation=0)
    stable = await ask_offsets(scene.here, asked)
    open_ = [str(one) for one in asked if stable[one] < found[one]]
    if open_:
        raise NotYetError(f"a transaction is open on {', '.join(open_[:_NAMED])}")
    return found


async def quiet(scene: Scene) -> Result:
    """See for a while that no log of the wave grows and no transaction is open."""
    before = await _closed_ends(scene)
    await asyncio.sleep(scene.leg.migration.limits.quiet_ms / 1000)
    after = await _closed_ends(scene)
    grown = [one for one, end in after.items() if end > before.get(one, 0)]
    if grown:
        who = await _writers(scene.here, grown)
        records = sum(after[one] - before.get(one, 0) for one in grown)
        raise NotYetError(f"{counted(records, 'record')} came to {grown[0]} and others: {who} writes")
    return None


async def _writers(source: Cluster, partitions: list[TopicPartition]) -> str:
    """Who wrote to them last, as far as their leaders know."""
    metadata = await source.metadata(sorted({one.topic for one in partitions}))
    entries = [entry for mine in (await active_producers(source, metadata, partitions)).values() for entry in mine]
    if not entries:
        return "a producer without an id"
    return f"producer id {max(entries, key=lambda entry: entry.last_timestamp).producer_id}"


async def pin(scene: Scene) -> Result:
    """Write down where the source's logs end."""
    return {"ends": {str(one): end for one, end in (await _closed_ends(scene)).items()}}


def pinned(run: WaveRun) -> Mapping[str, int]:
    """What ``pin`` has written down, by TOPIC-PARTITION."""
    found: Mapping[str, int] = run.result(StepKind.PIN, run.wave)["ends"]
    return found


async def drain(scene: Scene) -> Result:
    """Wait until the link has copied up to what was pinned."""
    left = await uncopied(scene.there, scene.leg.link, {name: end for name, end in pinned(scene.run).items() if end})
    if left:
        raise NotYetError(f"{counted(len(left), 'lane')} to drain: {left[0]}")
    return None


async def refuse_written(scene: Scene) -> dict[TopicPartition, int]:
    """The ends of the source's logs, which are those that were pinned; raises WrittenMeanwhileError.

    A transaction that is open now is of somebody who writes: none was as the ends were pinned.
    """
    now, then = await ask_offsets(scene.here, await _asked(scene), isolation=0), pinned(scene.run)
    for one, end in now.items():
        if end > then.get(str(one), 0):
            by = await _writers(scene.here, [one])
            raise WrittenMeanwhileError(scene.wave.name, str(one), end - then.get(str(one), 0), by)
    return now


async def verify_end(scene: Scene) -> Result:
    """See that the source's logs still end where they were pinned, and the target's where the copies of that end.

    Where nothing was ever written there is no copy either: the target holds no record.  Raises WrittenMeanwhileError,
    ForeignRecordsError.
    """
    now = await refuse_written(scene)
    answers = (await translate(scene.there, scene.leg.link, [(one, end) for one, end in now.items() if end])).answers
    names = scene.leg.topics
    copies = [TopicPartition(names[one.topic], one.partition) for one in now]
    there = await ask_offsets(scene.there, dict.fromkeys(copies, LATEST), isolation=0)
    for answer in answers:
        if answer.to is not None and answer.answer is not None and there[answer.to] > answer.answer:
            raise ForeignRecordsError(scene.wave.name, str(answer.to), answer.answer, there[answer.to])
    empty = [copy for copy, end in zip(copies, now.values(), strict=True) if not end]
    starts = await ask_offsets(scene.there, dict.fromkeys(empty, EARLIEST), isolation=0)
    for copy, start in starts.items():
        if there[copy] > start:
            raise ForeignRecordsError(scene.wave.name, str(copy), start, there[copy])
    return None


async def last_written(scene: Scene) -> dict[str, int]:
    """When each topic was written to for the last time before its ends were pinned, by the times of its records.

    Nobody is held up meanwhile, and nothing rests on it: what cannot be told is left out.
    """
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def of(partition: TopicPartition, end: int) -> int:
        try:
            async with at_once:
                topic, part = await scene.here.partition(partition.topic, partition.partition)
                connection = await scene.here.connection(part.leader, "scan")
                _, header = await header_at(connection, partition.topic, topic.id, partition.partition, end - 1)
        except AnabranchError:
            return -1
        return -1 if header is None else header.max_timestamp

    # Where a cluster was lost ends may have been pinned in a run before, or never.
    told = scene.run.result(StepKind.PIN, scene.run.wave).get("ends", {})
    ends = {TopicPartition.parse(name): end for name, end in told.items() if end}
    try:
        async with asyncio.timeout(_LAST_WRITTEN_S):
            times = await asyncio.gather(*(of(partition, end) for partition, end in ends.items()))
    except TimeoutError:
        return {}
    found: dict[str, int] = {}
    for partition, ms in zip(ends, times, strict=True):
        if ms >= 0:
            found[partition.topic] = max(ms, found.get(partition.topic, -1))
    return found
