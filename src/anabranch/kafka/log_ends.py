"""The first and the next offset of many partitions at once: one request to each leader, and kind of end."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.partitions import EARLIEST, LATEST, list_offsets
from anabranch.model.topics import TopicPartition

PURPOSE = "ends"


class LogBounds(NamedTuple):
    """A log's first offset and its high watermark."""

    start: int
    end: int


async def log_ends(cluster: Cluster, partitions: Collection[TopicPartition]) -> dict[TopicPartition, LogBounds]:
    """The ends of each partition that exists and has a leader; others, and those we may not see, are absent."""
    if not partitions:
        return {}
    topics = await cluster.described(partitions)
    by_leader: dict[int, dict[tuple[str, int], int]] = {}
    for one in partitions:
        topic = topics[one.topic]
        part = topic.partitions.get(one.partition)
        if topic.error == 0 and part is not None and part.leader >= 0:
            by_leader.setdefault(part.leader, {})[(one.topic, one.partition)] = part.leader_epoch
    found: dict[TopicPartition, LogBounds] = {}
    for leader, asked in by_leader.items():
        connection = await cluster.connection(leader, PURPOSE)
        first = await list_offsets(connection, {key: (EARLIEST, epoch) for key, epoch in asked.items()})
        last = await list_offsets(connection, {key: (LATEST, epoch) for key, epoch in asked.items()})
        for key in asked:
            if first[key].code == 0 and last[key].code == 0:
                found[TopicPartition(*key)] = LogBounds(first[key].offset, last[key].offset)
    return found
