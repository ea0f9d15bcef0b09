"""Where partitions begin and end now: first offsets, high watermarks, last stable offsets."""

from __future__ import annotations

from collections.abc import Collection

from anabranch.kafka.between_leaders import until_agreed
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.kafka.partitions import EARLIEST, LATEST, list_offsets
from anabranch.model.topics import TopicPartition

PURPOSE = "scan"
_NO_LEADER = 5


async def ends(
    cluster: Cluster, partitions: Collection[TopicPartition], *, stable: bool = False
) -> dict[TopicPartition, tuple[int, int]]:
    """(first offset, end) of each partition; the end is the high watermark, or with ``stable`` the LSO.

    Raises ClusterError, for a partition that is not there or has no leader too.
    """
    return await until_agreed(lambda: _ends(cluster, partitions, stable=stable))


async def _ends(
    cluster: Cluster, partitions: Collection[TopicPartition], *, stable: bool
) -> dict[TopicPartition, tuple[int, int]]:
    topics = await cluster.described(partitions)
    by_leader: dict[int, dict[tuple[str, int], int]] = {}
    for one in partitions:
        topic = topics[one.topic]
        part = topic.partitions.get(one.partition)
        lacks = UNKNOWN_TOPIC if part is None else _NO_LEADER if part.leader < 0 else 0
        cluster.check(topic.error or lacks, "Describe", f"partition {one}")
        if part is not None:
            by_leader.setdefault(part.leader, {})[(one.topic, one.partition)] = part.leader_epoch
    found: dict[TopicPartition, tuple[int, int]] = {}
    for leader, asked in by_leader.items():
        connection = await cluster.connection(leader, PURPOSE)
        first = await list_offsets(connection, {key: (EARLIEST, epoch) for key, epoch in asked.items()})
        last = await list_offsets(
            connection, {key: (LATEST, epoch) for key, epoch in asked.items()}, isolation=1 if stable else 0
        )
        for key in asked:
            cluster.check(first[key].code or last[key].code, "Describe", f"partition {key[0]}-{key[1]}")
            found[TopicPartition(*key)] = (first[key].offset, last[key].offset)
    return found
