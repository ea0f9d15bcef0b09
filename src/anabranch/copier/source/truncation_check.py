"""Whether the source still has the history that a lane copied, asked where a lane is taken over.

While a lane runs, each fetch names the epoch of the record before it, and the source answers where histories
part.  A process that has not read the lane itself knows only what was persisted: a position and the epoch of the
record before it.  The same question about that pair (OffsetForLeaderEpoch) finds a truncation that happened
while nobody read.  What was copied after the last write of progress and lost before the next takeover is not found.

A compacted source may answer as if it had lost records that were only cleaned away: a follower that comes late
copies a log in which no record of some epoch is left, never learns of that epoch, and leads one day.  Then its log
goes on behind the place in question under an older epoch, and holds nothing where that epoch's records were: where
anything was written instead, it is there (``is_cleaned``).
"""

from __future__ import annotations

import uuid

from anabranch.copier.lane.epochs import UNKNOWN
from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.headers import header_at
from anabranch.kafka.partitions import epoch_end
from anabranch.model.topics import TopicPartition
from anabranch.protocol.endings import LaneStopped, Stop, accepting


async def surviving(cluster: Cluster, source: TopicPartition, position: int, epoch: int) -> int | None:
    """The end of what the source kept of a history that had ``epoch`` before ``position``; None where it has it all.

    Raises ClusterError where the leader does not answer: not knowing is no agreement.
    """
    if epoch == UNKNOWN or position == 0:
        return None
    meta, part = await cluster.partition(source.topic, source.partition)
    connection = await cluster.connection(part.leader)
    code, found, end = await epoch_end(connection, source.topic, source.partition, epoch, part.leader_epoch)
    cluster.check(code, "OffsetForLeaderEpoch", f"partition {source}")
    if found < 0 or (found == epoch and end >= position):
        return None  # a source that keeps no epochs tells nothing
    if end < position:
        return end
    cleaned = await is_cleaned(connection, source, meta.id, position - 1, position, part.leader_epoch)
    return position - 1 if cleaned is False else None  # what cannot be determined now, the next fetch asks again


async def is_cleaned(
    connection: Connection, source: TopicPartition, topic_id: uuid.UUID, start: int, end: int, leader_epoch: int
) -> bool | None:
    """Whether a leader's log goes on behind offsets ``[start, end)`` and has no batch at any of them.

    None where it shows nothing from ``start`` on, as a leader does that has only just begun.  Raises ClusterError.
    """
    code, header = await header_at(connection, source.topic, topic_id, source.partition, start, epoch=leader_epoch)
    if code == 0 and header is None:
        return None
    return header is not None and header.base_offset >= end


async def epoch_before(cluster: Cluster, source: TopicPartition, position: int) -> int:
    """The epoch of the source's record before a position, as it is now; ``UNKNOWN`` where it cannot be had."""
    if position == 0:
        return UNKNOWN
    try:
        meta, part = await cluster.partition(source.topic, source.partition)
        connection = await cluster.connection(part.leader)
        _, header = await header_at(
            connection, source.topic, meta.id, source.partition, position - 1, epoch=part.leader_epoch
        )
        if header is not None and header.base_offset < position:
            return header.leader_epoch
    except AnabranchError:
        pass  # only what comes later is then not held against it
    return UNKNOWN


def truncated(lane: str, kept: int, copied_to: int) -> LaneStopped:
    """The stop of a lane whose source kept its history up to ``kept`` and lost what was copied behind it."""
    return LaneStopped(
        lane,
        Stop.SOURCE_TRUNCATED,
        kept,
        None,
        f"the source lost offsets {kept:,} to {copied_to - 1:,}; the target holds them",
        f"compare both sides, then let the lane go on: {accepting(lane)}",
    )
