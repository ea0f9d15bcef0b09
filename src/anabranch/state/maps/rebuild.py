"""Ranges from the target's log alone: each batch that a lane wrote still holds its producer id and sequence.

An ownership's sequences begin at its position and count records, and gap records say what lies past gaps, so a header
tells which source offsets lie at which target offsets (LANE protocol, I5).  Only headers are looked at.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Collection, Iterable
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka import fetch
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.fetch_one import fetched
from anabranch.kafka.offset_at import offset_at
from anabranch.kafka.partitions import EARLIEST, LATEST, list_offset
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.protocol.effects import TailBatch
from anabranch.protocol.gap_records import GapRecordLog
from anabranch.protocol.tail import tell
from anabranch.records.header import BatchHeader
from anabranch.records.split import split_in_parts

_CHUNK = 2 << 20
_TURN_BYTES, _TURN_HEADERS = 512 << 10, 1_000
"""What is looked at in one turn of the event loop: a chunk of batches of one small record each has ten thousand."""
_OFFSET_NOT_AVAILABLE = 78
PURPOSE = "scan"


@dataclass(frozen=True, slots=True)
class LogRange:
    """Target offsets ``[start, end)`` of one partition."""

    topic: str
    partition: int
    start: int
    end: int


async def whole_log(cluster: Cluster, topic: str, partition: int) -> LogRange:
    """From the first offset to the high watermark of now."""
    where = TopicPartition(topic, partition)
    start = await offset_at(cluster, where, EARLIEST)
    return LogRange(topic, partition, start, await offset_at(cluster, where, LATEST))


async def headers(cluster: Cluster, within: LogRange) -> AsyncIterator[BatchHeader]:
    """The batch headers of a range, in order; raises ClusterError."""
    meta, part = await cluster.partition(within.topic, within.partition)
    connection = await cluster.connection(part.leader, PURPOSE)
    topic_id: uuid.UUID = meta.id
    first = await list_offset(connection, within.topic, within.partition, EARLIEST, epoch=part.leader_epoch)
    cluster.check(first.code, "Describe", f"partition {within.topic}-{within.partition}")
    at = max(within.start, first.offset)  # what retention deleted can be told no more
    while at < within.end:
        wanted = fetch.PartitionFetch(within.topic, topic_id, within.partition, part.leader_epoch, at, -1, _CHUNK)
        async with fetched(connection, wanted, max_wait_ms=100, max_bytes=_CHUNK) as answer:
            cluster.check(answer.code, "Read", f"partition {within.topic}-{within.partition}")
            found: list[BatchHeader] = []
            for some in split_in_parts(answer.records, _TURN_BYTES):
                found += [header for _, header in some if header.last_offset >= at]
                await asyncio.sleep(0)
        if not found:
            if answer.high_watermark < within.end:
                # A new leader that has not caught up, or a truncation: half of the ranges would leave a gap for good.
                cluster.check(_OFFSET_NOT_AVAILABLE, "Read", f"partition {within.topic}-{within.partition}")
            continue
        for number, header in enumerate(found, 1):
            if header.base_offset >= within.end:
                return
            yield header
            if number % _TURN_HEADERS == 0:
                await asyncio.sleep(0)
            at = header.last_offset + 1


async def has_records(cluster: Cluster, within: LogRange) -> bool:
    """Whether a range holds anything but markers; raises ClusterError."""
    async for header in headers(cluster, within):
        if not header.is_control:
            return True
    return False


@dataclass(frozen=True, slots=True)
class LaneLog:
    """What tells a lane's batches: its producer ids, its gap records, and the persisted ranges where gap records are
    forgotten.
    """

    lane: str
    producer_ids: Collection[int]
    gap_records: GapRecordLog
    persisted: OffsetMap | None = None


@dataclass(eq=False)
class UnknownSourceError(RefusedError):
    """A batch of a lane whose source offsets neither a gap record nor a persisted range tells any more."""

    lane: str
    offset: int

    _message = "lane {lane}: the source offsets of its batch at target offset {offset:,} are no longer known"
    _hint = "compare both sides with `anabranch verify`, then copy into a new target topic"


def ranges_of(batches: Iterable[BatchHeader], log: LaneLog, near: int) -> list[MappedRange]:
    """The ranges that a lane's batches make; ``near`` is a source offset close to the first.

    Raises UnknownSourceError.
    """
    ranges = []
    for header in batches:
        if header.is_control or header.producer_id not in log.producer_ids:
            continue
        spans = tell(log.lane, log.gap_records, log.persisted, tail_batch(header), near)
        if spans is None:
            raise UnknownSourceError(log.lane, header.base_offset)
        target = header.base_offset
        for source, length in spans:
            ranges.append(MappedRange(source, target, length))
            target += length
        near = spans[-1].end
    return ranges


async def rebuild(cluster: Cluster, within: LogRange, log: LaneLog, near: int) -> list[MappedRange]:
    """The mapped ranges of a lane within a range of its target's log, joined only by whoever appends them to a book.

    Raises ClusterError, UnknownSourceError.
    """
    ranges: list[MappedRange] = []
    async for header in headers(cluster, within):
        for mapped in ranges_of([header], log, near):
            near = mapped.source_end
            if ranges and mapped.continues(ranges[-1]):
                ranges[-1] = MappedRange(ranges[-1].source, ranges[-1].target, ranges[-1].length + mapped.length)
            else:
                ranges.append(mapped)
    return ranges


def tail_batch(header: BatchHeader) -> TailBatch:
    """A header as the lane protocol looks at it."""
    return TailBatch(
        header.base_offset,
        header.last_offset,
        header.producer_id,
        header.base_sequence,
        header.is_control,
        header.max_timestamp,
    )
