"""Stored batches of both sides, fetched and digested by Python tasks; nothing is decompressed.

A reader of its own, apart from the copier's: it shares the client's wire format and the layout of a batch's header
with it, and nothing of what decides which bytes are written where.
"""

from __future__ import annotations

import asyncio
import hashlib
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
from anabranch.verify.lockstep import Matched, StoredBatch, match
from anabranch.verify.pace import ReadPace
from anabranch.verify.pins import Pin, pieces
from anabranch.verify.sums import Sum

PURPOSE = "verify"
_BYTES = 16 << 20
_NOT_YET = 78  # OFFSET_NOT_AVAILABLE
_OUT_OF_RANGE = 1
_ABORT = b"\0\0"
_TYPE = slice(HEADER_SIZE + 7, HEADER_SIZE + 9)
"""The position of a marker's type, after length, attributes, two deltas, the key's length (a byte each) and a
version.
"""


class CompareTask(NamedTuple):
    """One task: a part of a lane's pin, both clusters, where the logs end, and how fast it may read."""

    lane: int
    whole: Pin
    part: Pin
    is_first: bool
    source: ClusterContext
    target: ClusterContext
    stable: int
    rate: float | None


class TaskResult(NamedTuple):
    """What a task found, and what it read on both sides."""

    lane: int
    matched: Matched
    records: int
    bytes: int


@dataclass(slots=True)
class RoundResult:
    """A round: sums of equal batches by lane and chunk, and the parts that are to be compared as records."""

    sums: dict[int, dict[int, Sum]] = field(default_factory=dict)
    rest: list[tuple[int, Pin]] = field(default_factory=list)
    records: int = 0
    bytes: int = 0


def compare(spark: SparkSession, tasks: list[CompareTask]) -> RoundResult:
    """Run the tasks."""
    compared = RoundResult()
    wholes = {task.lane: task.whole for task in tasks}
    for done in spark.sparkContext.parallelize(tasks, len(tasks)).map(run).collect():
        mine = compared.sums.setdefault(done.lane, {})
        for chunk, one in done.matched.sums.items():
            mine[chunk] = mine.get(chunk, Sum()).plus(one)
        compared.rest += [(done.lane, wholes[done.lane].part(*one)) for one in done.matched.undecided]
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
    part = task.part
    pace = ReadPace(task.rate)
    async with open_cluster(task.source) as here, open_cluster(task.target) as there:
        source, target = await asyncio.gather(
            _stored(here, part.source, part.source_from, part.source_to, True, pace),
            _stored(there, part.target, part.target_from, part.target_to, False, pace),
        )
    if not task.is_first:  # what straddles the beginning was the part's before
        source = [one for one in source if one.first >= part.source_from]
        target = [one for one in target if one.first >= part.target_from]
    if task.stable < part.target_to:
        # A transaction is open on the target: above its start a read-committed consumer sees nothing.
        target = [one._replace(plain=one.plain and one.last < task.stable) for one in target]
    matched = match(task.whole, part, source, target)
    equal = sum(one.records for one in matched.sums.values())
    return TaskResult(task.lane, matched, 2 * equal, sum(one.size for one in (*source, *target)))


async def _stored(
    cluster: Cluster, partition: TopicPartition, start: int, end: int, committed: bool, pace: ReadPace
) -> list[StoredBatch]:
    """The data batches that begin before ``end`` and end at or after ``start``; without what was aborted if committed.

    What a log has lost at its start is simply not among them: the other side's batches are then undecided.
    """
    found: list[StoredBatch] = []
    if start >= end:
        return found
    meta, part = await cluster.partition(partition.topic, partition.partition)
    connection = await cluster.connection(part.leader, PURPOSE)
    where = f"partition {partition}"
    aborted: dict[int, list[int]] = {}
    at = start

    def submit(offset: int) -> asyncio.Future[Frame]:
        wanted = fetch.PartitionFetch(
            partition.topic, meta.id, partition.partition, part.leader_epoch, offset, -1, _BYTES
        )
        return fetch.submit(connection, [wanted], max_wait_ms=200, max_bytes=_BYTES, isolation=int(committed))

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
                    return found
                answer = submit(at)
                continue
            cluster.check(one.code, "Read", where)
            for producer, first in one.aborted:
                if first not in aborted.setdefault(producer, []):
                    aborted[producer].append(first)
            batches = [pair for pair in split(one.records) if pair[1].last_offset >= at]
            if not batches:
                if (one.last_stable if committed else one.high_watermark) <= at:
                    return found  # the log ends here; what the other side has beyond is undecided
                cluster.check(_NOT_YET if one.high_watermark < at else 0, "Read", where)
                answer = submit(at)
                continue
            at = batches[-1][1].last_offset + 1
            ended = at >= end
            if not ended:
                answer = submit(at)  # the broker works on it while these are digested
            size = 0
            for position, header in batches:
                if header.base_offset >= end:
                    break
                size += header.size
                if header.is_control:
                    marker = one.records[position : position + header.size]
                    if bytes(marker[_TYPE]) == _ABORT:
                        _end(aborted, header.producer_id)
                elif header.is_transactional and _is_aborted(aborted, header):
                    continue
                elif header.count:
                    found.append(_read(one.records, position, header, committed))
        finally:
            frame.release()
        await asyncio.sleep(pace.passed(size))
        if ended:
            return found


def _is_aborted(aborted: dict[int, list[int]], header: BatchHeader) -> bool:
    return any(first <= header.base_offset for first in aborted.get(header.producer_id, ()))


def _end(aborted: dict[int, list[int]], producer: int) -> None:
    """A marker ends the oldest aborted transaction of its producer."""
    firsts = aborted.get(producer)
    if firsts:
        firsts.remove(min(firsts))


def _read(buffer: memoryview, position: int, header: BatchHeader, committed: bool) -> StoredBatch:
    section = buffer[position + HEADER_SIZE : position + header.size]
    plain = header.is_dense and not header.has_delete_horizon and (committed or not header.is_transactional)
    return StoredBatch(
        header.base_offset,
        header.last_offset,
        plain,
        header.attributes & (CODEC_MASK | LOG_APPEND_TIME),
        (header.base_timestamp, header.max_timestamp),
        header.size - HEADER_SIZE,
        hashlib.sha256(section).digest()[:16],
    )
