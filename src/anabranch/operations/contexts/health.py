"""How a cluster is, by one metadata answer."""

from __future__ import annotations

from anabranch.kafka.cluster import Cluster
from anabranch.model.clock import now_ms
from anabranch.model.cluster_health import ClusterHealth


async def health(cluster: Cluster) -> ClusterHealth:
    """Look once; raises ClusterError."""
    answer = await cluster.metadata(None)
    partitions = [one for topic in answer.topics.values() for one in topic.partitions.values()]
    wanted = {replica for one in partitions for replica in one.replicas}
    return ClusterHealth(
        now_ms(),
        len(answer.brokers),
        tuple(sorted(wanted - set(answer.brokers))),
        len(answer.topics),
        len(partitions),
        sum(one.leader < 0 for one in partitions),
        sum(len(one.isr) < len(one.replicas) for one in partitions),
    )
