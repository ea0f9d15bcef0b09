"""Runs from the target's log alone: each batch that a lane wrote still holds its producer id and sequence.

A lane without holes sends the record at source offset s under sequence s mod 2^31, so a header tells which
source offsets lie at which target offsets (LANE protocol, I5).  Only headers are looked at.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Collection, Iterable
from dataclasses import dataclass

from anabranch.kafka import fetch
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.partitions import EARLIEST, LATEST, list_offset
from anabranch.offsets.runs import Run
from anabranch.records.header import BatchHeader
from anabranch.records.sequence import unwrap
from anabranch.records.split import split

_CHUNK = 8 << 20
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
    _, part = await cluster.partition(topic, partition)
    connection = await cluster.connection(part.leader, PURPOSE)
    ends = []
    for at in (EARLIEST, LATEST):
        answer = await list_offset(connection, topic, partition, at, epoch=part.leader_epoch)
        cluster.check(answer.code, "Describe", f"partition {topic}-{partition}")
        ends.append(answer.offset)
    return LogRange(topic, partition, ends[0], ends[1])


async def headers(cluster: Cluster, within: LogRange) -> AsyncIterator[BatchHeader]:
    """The batch headers of a range, in order; raises ClusterError."""
    meta, part = await cluster.partition(within.topic, within.partition)
    connection = await cluster.connection(part.leader, PURPOSE)
    topic_id: uuid.UUID = meta.id
    first = await list_offset(connection, within.topic, within.partition, EARLIEST, epoch=part.leader_epoch)
    cluster.check(first.code, "Describe", f"partition {within.topic}-{within.partition}")
    at = max(within.start, first.offset)  # what retention deleted can be told no more
    while at < within.end:
        wanted = fetch.Wanted(within.topic, topic_id, within.partition, part.leader_epoch, at, -1, _CHUNK)
        frame = await fetch.submit(connection, [wanted], max_wait_ms=100, max_bytes=_CHUNK)
        try:
            code, answers = fetch.parse(frame, fetch.version_for(connection))
            cluster.check(code or answers[0].code, "Read", f"partition {within.topic}-{within.partition}")
            found = [header for _, header in split(answers[0].records) if header.last_offset >= at]
        finally:
            frame.release()
        if not found:
            if answers[0].high_watermark < within.end:
                # A new leader that has not caught up, or a truncation: half of the runs would leave a gap for good.
                cluster.check(_OFFSET_NOT_AVAILABLE, "Read", f"partition {within.topic}-{within.partition}")
            continue
        for header in found:
            if header.base_offset >= within.end:
                return
            yield header
            at = header.last_offset + 1


def runs_of(batches: Iterable[BatchHeader], producer_ids: Collection[int], near: int) -> list[Run]:
    """One run per batch that one of the producer ids wrote; ``near`` is a source offset close to the first."""
    runs = []
    for header in batches:
        if header.is_control or header.producer_id not in producer_ids:
            continue
        source = unwrap(header.base_sequence, near)
        length = header.last_offset_delta + 1
        runs.append(Run(source, header.base_offset, length))
        near = source + length
    return runs


async def rebuild(cluster: Cluster, within: LogRange, producer_ids: Collection[int], near: int) -> list[Run]:
    """The runs of a lane within a range of its target's log, joined only by whoever appends them to a book."""
    runs: list[Run] = []
    async for header in headers(cluster, within):
        found = runs_of([header], producer_ids, near)
        if found:
            runs += found
            near = found[-1].source + found[-1].length
            if len(runs) > 1 and runs[-2].source + runs[-2].length == runs[-1].source:
                before = runs[-2]
                if before.target + before.length == runs[-1].target:
                    runs[-2:] = [Run(before.source, before.target, before.length + runs[-1].length)]
    return runs
