"""Stored batches of both sides, fetched and digested by Python tasks.

Where both sides have the same batches nothing is decompressed; those that were cut otherwise are held against each
other record by record.

A reader of its own, apart from the copier's: it shares the client's wire format and the layout of a batch's header
with it, and nothing of what decides which bytes are written where.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NamedTuple

from pyspark.sql import SparkSession

from anabranch.kafka import fetch
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.frames import Frame
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.records.header import CODEC_MASK, HEADER_SIZE, LOG_APPEND_TIME, BatchHeader
from anabranch.records.split import split
from anabranch.verify.contents import WholeBatch
from anabranch.verify.lockstep import Matched, Reached, StoredBatch, apart, digest_of, match
from anabranch.verify.pace import ReadPace
from anabranch.verify.pins import Pin, pieces
from anabranch.verify.recut import ReadBatch, recut
from anabranch.verify.sums import Sum

PURPOSE = "verify"
_BYTES, _RECORD_BYTES = 16 << 20, 4 << 20
"""What a fetch asks for: of what is only digested, and of what is expanded and kept until the other side has come."""
_NOT_YET = 78  # OFFSET_NOT_AVAILABLE
_OUT_OF_RANGE = 1
_ABORT = b"\0\0"
_TYPE = slice(7, 9)
"""The position of a marker's type, after length, attributes, two deltas, the key's length (a byte each) and a
version.
"""


class CompareTask(NamedTuple):
    """One task: a part of a lane's pin, both clusters, where the logs end, and how fast it may read."""

    lane: int
    whole: Pin
    part: Pin
    source: ClusterContext
    target: ClusterContext
    stable: int
    rate: float | None


class TaskResult(NamedTuple):
    """What a task found, as ``lockstep.Matched`` has it, and what it read on both sides."""

    lane: int
    sums: dict[int, Sum]
    undecided: list[tuple[int, int]]
    reach: int
    records: int
    bytes: int


@dataclass(slots=True)
class RoundResult:
    """A round: sums of equal batches by lane and chunk, and the parts that are to be compared as records."""

    sums: dict[int, dict[int, Sum]] = field(default_factory=dict)
    rest: list[tuple[int, Pin]] = field(default_factory=list)
    records: int = 0
    bytes: int = 0


def compare(spark: SparkSession, tasks: list[CompareTask], reached: Reached) -> RoundResult:
    """Run the tasks, which are of each lane in order; ``reached`` is of those that ran before."""
    compared = RoundResult()
    wholes = {task.lane: task.whole for task in tasks}
    for done in spark.sparkContext.parallelize(tasks, len(tasks)).map(run).collect():
        mine = compared.sums.setdefault(done.lane, {})
        for chunk, one in done.sums.items():
            mine[chunk] = mine.get(chunk, Sum()).plus(one)
        rest = reached.rest(done.lane, done.undecided, done.reach)
        compared.rest += [(done.lane, wholes[done.lane].part(*one)) for one in rest]
        compared.records += done.records
        compared.bytes += done.bytes
    return compared


def cut(part: Pin, slots: int) -> list[Pin]:
    """A part in as many pieces as there are tasks to spare for it."""
    return list(pieces(part, -(-part.offsets // max(slots, 1)))) or [part]


def run(task: CompareTask) -> TaskResult:
    """Read both sides of a part and match them."""
    return asyncio.run(_run(task))


async def _run(task: CompareTask) -> TaskResult:
    pace = ReadPace(task.rate)
    async with open_cluster(task.source) as here, open_cluster(task.target) as there:
        clusters = _Clusters(here, there, task.whole, task.stable, pace)
        shift = task.part.shift if task.part.offsets else None
        found = await (clusters.matched(task.part) if shift is None else clusters.in_step(task.part, shift))
    sums = found.sums
    records = sum(one.records for one in sums.values())
    return TaskResult(task.lane, sums, found.undecided, found.reach, 2 * records, pace.bytes)


@dataclass(frozen=True, slots=True)
class _Clusters:
    """Both sides of a lane; ``stable`` is where a read-committed consumer of the target sees nothing any more."""

    here: Cluster
    there: Cluster
    whole: Pin
    stable: int
    pace: ReadPace

    async def matched(self, part: Pin) -> Matched:
        """A part whose offsets many numbers translate: by its batches, and what is left where one number does."""
        source, target = await asyncio.gather(
            _stored(self.here, part.source, part.source_from, part.source_to, True, self.pace),
            _stored(self.there, part.target, part.target_from, part.target_to, False, self.pace),
        )
        found = match(self.whole, part, source, [self._decided(one) for one in target])
        equal, left = list(found.equal), []
        for rest in (self.whole.part(*one) for one in found.undecided):
            shift = rest.shift if rest.offsets else None
            if shift is None:
                left.append((rest.source_from, rest.source_to))
                continue
            again = await self.in_step(rest, shift)
            equal += again.equal
            left += again.undecided
        return Matched(*apart(equal, left, (part.source_from, max(found.reach, part.source_from + 1))), found.reach)

    async def in_step(self, part: Pin, shift: int) -> Matched:
        """A part in which one number makes positions: as much of both sides at a time as a fetch brings.

        Source batches that begin in the part are compared with all of their records, so the target is read on for them.
        """
        equal, undecided = list[StoredBatch](), list[tuple[int, int]]()
        begin, waiting, is_over = part.source_from, list[ReadBatch](), False
        ours = _whole(self.here, part.source, (part.source_from, part.source_to, part.source_to), True, self.pace)
        bounds = part.target_from, part.target_to, self.whole.target_to
        theirs = _whole(self.there, part.target, bounds, False, self.pace)
        async with aclosing(ours), aclosing(theirs):
            while not is_over:
                read = await anext(ours, list[ReadBatch]())
                is_over = not read
                end = min(read[-1].stored.last + 1, self.whole.source_to) if read else max(begin, part.source_to)
                upto = part if end <= part.source_to else self.whole.part(part.source_from, end)
                wanted = min(end, upto.target_to - shift)  # where the source has a gap the target has what follows it
                while begin < wanted and (not waiting or waiting[-1].stored.last + 1 - shift < wanted):
                    more = await anext(theirs, None)
                    if more is None:
                        break
                    waiting += [one._replace(stored=self._decided(one.stored)) for one in more]
                some = recut([self._meant(one, part, shift) for one in read], waiting, shift, (begin, wanted))
                equal += some.equal
                undecided += some.undecided
                begin, waiting = end, [one for one in waiting if one.stored.last + 1 - shift > end]
        return Matched(*apart(equal, undecided, (part.source_from, begin)), begin)

    def _decided(self, batch: StoredBatch) -> StoredBatch:
        """A batch of the target: above the start of an open transaction a read-committed consumer sees nothing."""
        return batch if batch.last < self.stable else batch._replace(plain=False)

    def _meant(self, batch: ReadBatch, part: Pin, shift: int) -> ReadBatch:
        """A batch of the source; if not all of its records are the part's, or have a place so, it is none to match."""
        stored = batch.stored
        if stored.last < part.source_to:
            target_to, is_translated = part.target_to, True
        else:
            until = self.whole.part(part.source_from, stored.last + 1)
            target_to, is_translated = until.target_to, until.shift == shift and stored.last < self.whole.source_to
        has_places = part.target_from <= stored.first + shift and stored.last + shift < target_to
        if part.source_from <= stored.first and has_places and is_translated:
            return batch
        return batch._replace(stored=stored._replace(plain=False))


async def _stored(
    cluster: Cluster, partition: TopicPartition, start: int, end: int, committed: bool, pace: ReadPace
) -> list[StoredBatch]:
    """What matching needs of the data batches of a range."""
    found: list[StoredBatch] = []
    async for batches in _data(cluster, partition, (start, end, end), committed, pace, _BYTES):
        found += [_read(section, header, committed, digest_of(section)) for header, section in batches]
    return found


async def _whole(
    cluster: Cluster, partition: TopicPartition, bounds: tuple[int, int, int], committed: bool, pace: ReadPace
) -> AsyncGenerator[list[ReadBatch]]:
    """The batches themselves, some at a time."""
    async for batches in _data(cluster, partition, bounds, committed, pace, _RECORD_BYTES):
        yield [
            ReadBatch(_read(section, header, committed, b""), WholeBatch(header, bytes(section)))
            for header, section in batches
        ]


async def _data(
    cluster: Cluster,
    partition: TopicPartition,
    bounds: tuple[int, int, int],
    committed: bool,
    pace: ReadPace,
    most_bytes: int,
) -> AsyncIterator[list[tuple[BatchHeader, memoryview]]]:
    """The data batches of a range, some at a time; without what was aborted if committed.

    ``bounds`` are the first offset, the one up to which all is wanted, and the one up to which some more may be.  The
    bytes behind the headers are there until the next batches are asked for.  What a log has lost at its start is simply
    not among them: the other side's batches are then undecided.
    """
    start, wanted_to, end = bounds
    if start >= end:
        return
    meta, part = await cluster.partition(partition.topic, partition.partition)
    connection = await cluster.connection(part.leader, PURPOSE)
    where = f"partition {partition}"
    aborted: dict[int, list[int]] = {}
    at = start

    def submit(offset: int) -> asyncio.Future[Frame]:
        wanted = fetch.PartitionFetch(
            partition.topic, meta.id, partition.partition, part.leader_epoch, offset, -1, most_bytes
        )
        return fetch.submit(connection, [wanted], max_wait_ms=200, max_bytes=most_bytes, isolation=int(committed))

    answer = submit(at)
    while True:
        frame = await answer
        try:
            code, answers = fetch.parse(frame, fetch.version_for(connection))
            if not code and not answers:  # throttled by a quota: that tells nothing of the log
                await asyncio.sleep(fetch.pause_of(frame))
                answer = submit(at)
                continue
            cluster.check(code, "Read", where)
            one = answers[0]
            if one.code == _OUT_OF_RANGE and one.log_start > at:
                at = one.log_start
                if at >= end:
                    return
                answer = submit(at)
                continue
            cluster.check(one.code, "Read", where)
            for producer, first in one.aborted:
                if first not in aborted.setdefault(producer, []):
                    aborted[producer].append(first)
            batches = [pair for pair in split(one.records) if pair[1].last_offset >= at]
            if not batches:
                if (one.last_stable if committed else one.high_watermark) <= at:
                    return  # the log ends here; what the other side has beyond is undecided
                cluster.check(_NOT_YET if one.high_watermark < at else 0, "Read", where)
                answer = submit(at)
                continue
            at = batches[-1][1].last_offset + 1
            ended, is_ahead = at >= end, at < min(end, wanted_to)
            if is_ahead:
                answer = submit(at)  # the broker works on it while these are digested
            size = 0
            found: list[tuple[BatchHeader, memoryview]] = []
            for position, header in batches:
                if header.base_offset >= end:
                    break
                size += header.size
                section = one.records[position + HEADER_SIZE : position + header.size]
                if header.is_control:
                    if bytes(section[_TYPE]) == _ABORT:
                        _end(aborted, header.producer_id)
                elif header.is_transactional and _is_aborted(aborted, header):
                    continue
                elif header.count:
                    found.append((header, section))
            if found:
                yield found
        finally:
            frame.release()
        await asyncio.sleep(pace.passed(size))
        if ended:
            return
        if not is_ahead:
            answer = submit(at)


def _is_aborted(aborted: dict[int, list[int]], header: BatchHeader) -> bool:
    return any(first <= header.base_offset for first in aborted.get(header.producer_id, ()))


def _end(aborted: dict[int, list[int]], producer: int) -> None:
    """A marker ends the oldest aborted transaction of its producer."""
    firsts = aborted.get(producer)
    if firsts:
        firsts.remove(min(firsts))


def _read(section: memoryview, header: BatchHeader, committed: bool, digest: bytes) -> StoredBatch:
    plain = header.is_dense and not header.has_delete_horizon and (committed or not header.is_transactional)
    return StoredBatch(
        header.base_offset,
        header.last_offset,
        plain,
        header.attributes & (CODEC_MASK | LOG_APPEND_TIME),
        (header.base_timestamp, header.max_timestamp),
        len(section),
        digest,
    )
