"""Which producer ids the leaders of many partitions remember (DescribeProducers, KIP-664), some hundred at a time."""

from __future__ import annotations

from collections.abc import Collection

from kafka.protocol.admin import DescribeProducersRequest

from anabranch.kafka.cluster import Cluster, ClusterMetadata
from anabranch.kafka.partitions import ProducerEntry
from anabranch.model.topics import TopicPartition

_CHUNK = 500
_MOVED = frozenset({3, 5, 6, 9})
"""Codes of a partition that is just led elsewhere, or made: it is told of as having none."""


async def active_producers(
    cluster: Cluster, metadata: ClusterMetadata, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, list[ProducerEntry]]:
    """The entries of each partition that has a leader now; a producer without an id leaves none.

    Raises ClusterError, PermissionDeniedError for a topic that we may not READ.
    """
    found: dict[TopicPartition, list[ProducerEntry]] = {}
    by_leader: dict[int, list[TopicPartition]] = {}
    for partition in sorted(partitions):
        meta = metadata.topics[partition.topic].partitions.get(partition.partition)
        if meta is not None and meta.leader >= 0:
            by_leader.setdefault(meta.leader, []).append(partition)
    for leader, mine in sorted(by_leader.items()):
        for at in range(0, len(mine), _CHUNK):
            response = await cluster.call(_request(mine[at : at + _CHUNK]), leader)
            for topic in response.topics:
                for part in topic.partitions:
                    if part.error_code in _MOVED:
                        continue
                    cluster.check(part.error_code, "Read", f"topic {topic.name}", part.error_message)
                    entries = [ProducerEntry.of(entry) for entry in part.active_producers]
                    found[TopicPartition(topic.name, part.partition_index)] = entries
    return found


def _request(partitions: Collection[TopicPartition]) -> DescribeProducersRequest:
    indexes: dict[str, list[int]] = {}
    for partition in partitions:
        indexes.setdefault(partition.topic, []).append(partition.partition)
    asked = DescribeProducersRequest.TopicRequest
    return DescribeProducersRequest(topics=[asked(name=name, partition_indexes=some) for name, some in indexes.items()])
