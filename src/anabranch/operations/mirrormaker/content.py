"""Find a source position in a copy without a map, by the records around it.

A copier that renumbers records keeps their order and bytes.  So some records before the position and some after it are
searched in the copy, first where the time index says, then from MirrorMaker's own offset on, within a bounded read.
Only a single match counts, with the source's timestamps or, if the copy has its broker's, as the only one from
MirrorMaker's offset to the copy's end: records that repeat, or that the cleaner took on one side, give no offset rather
than a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple
from uuid import UUID

from anabranch.kafka import fetch
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.fetch_one import fetched
from anabranch.kafka.partitions import EARLIEST, LATEST, list_offset
from anabranch.model.topics import TopicPartition
from anabranch.protocol import reading
from anabranch.records.decode import decode
from anabranch.records.header import HEADER_SIZE, read_header

_PURPOSE = "look"
_AROUND = (8, 1)
_SLACK = 256
_MOST_RECORDS = 20_000
_FETCH_BYTES = 1 << 18
_COMMITTED = 1


class SeenRecord(NamedTuple):
    """A record that consumers see, for comparison; ``content`` is its key, value and headers."""

    offset: int
    timestamp: int
    content: int


class RecordSpan(NamedTuple):
    """Records in a row, read from ``start``; whether that is the log's start, and whether they reach its end."""

    records: Sequence[SeenRecord]
    from_start: bool
    to_end: bool


@dataclass(frozen=True, slots=True)
class PartitionSnapshot:
    """One partition's leader and the offsets that its readers may ask for."""

    connection: Connection
    topic_id: UUID
    partition: TopicPartition
    start: int
    end: int


async def read_snapshot(cluster: Cluster, partition: TopicPartition) -> PartitionSnapshot:
    """Read one partition's leader and ends (the last stable offset); raises ClusterError."""
    meta, part = await cluster.partition(partition.topic, partition.partition)
    connection = await cluster.connection(part.leader, _PURPOSE)
    ends = []
    for at in (EARLIEST, LATEST):
        answer = await list_offset(connection, partition.topic, partition.partition, at, isolation=_COMMITTED)
        cluster.check(answer.code, "Read", f"partition {partition}")
        ends.append(answer.offset)
    return PartitionSnapshot(connection, meta.id, partition, *ends)


async def find(source: PartitionSnapshot, position: int, copy: PartitionSnapshot, answer: int) -> int | None:
    """The copy's position for a position of the source; None where it is not found, or more than once.

    ``answer`` is MirrorMaker's.  Reads at most some ten thousand records.
    """
    if position < source.start:
        return None  # the copy may still hold what the source has lost since
    around = max(_AROUND)
    before = await read(source, max(source.start, position - _SLACK), _MOST_RECORDS, until=position)
    known = before.records[-around:]
    after = (await read(source, position, around)).records[:around]
    if not known and not after:
        return None
    hint = await _by_time(copy, after[0].timestamp if after else known[-1].timestamp)
    for start in dict.fromkeys((hint, answer)):
        begin = max(copy.start, min(start, copy.end) - _SLACK)
        most = 2 * _SLACK + around if start == hint else _MOST_RECORDS
        span = await read(copy, begin, most)
        for count in _AROUND:
            found = matching_positions(known[-count:], after[:count], span)
            timely = [offset for offset, same in found if same]
            if len(timely) == 1:
                return timely[0]
            if not timely and len(found) == 1 and start == answer and span.to_end:
                return found[0][0]
            if found:
                break
    return None


def matching_positions(
    before: Sequence[SeenRecord], after: Sequence[SeenRecord], span: RecordSpan
) -> list[tuple[int, bool]]:
    """Every position in a span that has these records before and after it, and whether their timestamps agree too.

    At an end of the log fewer records are enough: the copy may begin later, or may not have come so far.
    """
    pattern, records = [*before, *after], span.records
    found: list[tuple[int, bool]] = []
    for at in range(-len(before) if span.from_start else 0, len(records) - len(before) + 1):
        if at + len(pattern) > len(records) and not span.to_end:
            break
        first = max(0, -at)  # of the pattern, where the copy begins within it
        if first == len(pattern) or at + first == len(records):
            continue
        if pattern[first].content != records[at + first].content:
            continue
        pairs = list(zip(pattern[first:], records[at + first : at + len(pattern)], strict=False))
        if all(wanted.content == seen.content for wanted, seen in pairs):
            split = at + len(before)
            offset = records[split].offset if split < len(records) else records[split - 1].offset + 1
            found.append((offset, all(wanted.timestamp == seen.timestamp for wanted, seen in pairs)))
    return found


async def read(log: PartitionSnapshot, start: int, most: int, *, until: int | None = None) -> RecordSpan:
    """At most ``most`` records that a read-committed consumer sees from ``start`` on, below ``until``."""
    end = log.end if until is None else min(until, log.end)
    at, found = start, list[SeenRecord]()
    topic, partition = log.partition.topic, log.partition.partition
    while at < end and len(found) < most:
        wanted = fetch.PartitionFetch(topic, log.topic_id, partition, -1, at, -1, _FETCH_BYTES)
        async with fetched(
            log.connection, wanted, max_wait_ms=0, max_bytes=_FETCH_BYTES, isolation=_COMMITTED
        ) as answer:
            if answer.code:
                break
            records = answer.records
            # From the batch's beginning: one that is cut would be written again, at twice the time.
            begin = min(at, read_header(records).base_offset) if len(records) >= HEADER_SIZE else at
            got = reading.read(records, begin, answer.aborted)
            for batch in got.batches:
                if len(found) < most:
                    found += _seen(batch, start, end)
            if got.fetch_offset <= at:
                break
            at = got.fetch_offset
    return RecordSpan(found[:most], start <= log.start, at >= log.end and len(found) <= most)


def _seen(batch: reading.Copyable, start: int, end: int) -> Iterator[SeenRecord]:
    """The records of a batch with offsets in ``[start, end)``."""
    offsets = chain.from_iterable(range(one.source, one.source + one.length) for one in batch.spans)
    for offset, record in zip(offsets, decode(batch.view, batch.at, batch.header), strict=True):
        if start <= offset < end:
            yield SeenRecord(offset, record.timestamp, hash((record.key, record.value, record.headers)))


async def _by_time(copy: PartitionSnapshot, timestamp: int) -> int:
    """The first offset of that time or later; the end where there is none."""
    at = copy.partition
    answer = await list_offset(copy.connection, at.topic, at.partition, max(timestamp, 0))
    return answer.offset if answer.code == 0 and answer.offset >= 0 else copy.end
