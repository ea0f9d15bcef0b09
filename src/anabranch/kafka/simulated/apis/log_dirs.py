"""What lies on a broker's disk: one directory on a volume of its own.

Source: ``ReplicaManager.describeLogDirs``, KIP-113, KIP-827.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import DescribeLogDirsRequest, DescribeLogDirsResponse

from anabranch.kafka.simulated.access import CLUSTER, CLUSTER_NAME, DESCRIBE
from anabranch.kafka.simulated.apis.common import may
from anabranch.kafka.simulated.broker import ClientSession, Handler
from anabranch.kafka.simulated.log import size_of

VOLUME = 1 << 40
_Reply = Callable[[Any], None]


def describe(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """DescribeLogDirs: the batches of each replica; who may not is told nothing, and from version 3 on why."""
    broker, cluster = session.broker, session.broker.cluster
    code = may(session, DESCRIBE, CLUSTER, CLUSTER_NAME)
    now = cluster.timers.monotonic()
    wanted = None if request.topics is None else {topic.topic: set(topic.partitions) for topic in request.topics}
    row = DescribeLogDirsResponse.DescribeLogDirsResult
    topics, used = [], 0
    for name, topic in cluster.topics.items():
        if topic.known[broker.node] > now:
            continue
        parts = []
        for partition in topic.partitions:
            replica = partition.replicas.get(broker.node)
            if replica is None:
                continue
            size = size_of(replica.log.batches)
            used += size
            if wanted is None or partition.index in wanted.get(name, ()):
                lag = max(0, replica.high_watermark - replica.log.end)
                parts.append(
                    row.DescribeLogDirsTopic.DescribeLogDirsPartition(
                        partition_index=partition.index, partition_size=size, offset_lag=lag, is_future_key=False
                    )
                )
        if parts:
            topics.append(row.DescribeLogDirsTopic(name=name, partitions=parts))
    directory = row(
        error_code=0,
        log_dir=f"/simulated/{cluster.plan.name}/{broker.node}",
        topics=topics,
        total_bytes=VOLUME,
        usable_bytes=max(0, VOLUME - used),
    )
    reply(DescribeLogDirsResponse(throttle_time_ms=0, error_code=code, results=[] if code else [directory]))


APIS = (Handler(DescribeLogDirsRequest, describe),)
