"""The offset of one partition at a time, or at its beginning or end, asked of whoever leads it now."""

from __future__ import annotations

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.partitions import list_offset
from anabranch.model.topics import TopicPartition


async def offset_at(cluster: Cluster, partition: TopicPartition, at: int) -> int:
    """``at`` is a time in ms, EARLIEST, or LATEST (the high watermark); -1 where no record is that young.

    Raises ClusterError, while the partition has no leader too.
    """
    _, part = await cluster.partition(partition.topic, partition.partition)
    connection = await cluster.connection(part.leader)
    answer = await list_offset(connection, partition.topic, partition.partition, at, epoch=part.leader_epoch)
    cluster.check(answer.code, "Describe", f"partition {partition}")
    return answer.offset
