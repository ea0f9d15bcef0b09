"""How many bytes partitions have on the disks of their brokers, and how many more there fit (KIP-113, KIP-827)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from kafka.protocol.admin import DescribeLogDirsRequest

from anabranch.errors import ClusterError
from anabranch.kafka.cluster import Cluster, ClusterMetadata
from anabranch.kafka.errors import UNKNOWN_TOPIC, BrokerRefusedError, ConnectionLostError, PermissionDeniedError
from anabranch.model.topics import TopicPartition

SETTLE_S = 30.0
_PAUSE_S = 0.1
_STORAGE_ERROR = 56  # of a directory that is offline: it holds no leader's replica


class DiskSpace(NamedTuple):
    """The bytes of a broker's volumes: those that it may still write, and all."""

    usable: int
    total: int


@dataclass(eq=False)
class BrokersAwayError(ClusterError):
    """Brokers that must be asked are not there: why, by their ids."""

    cluster: str
    away: Mapping[int, str]
    retryable: ClassVar[bool] = True

    _hint = "start them, or wait until they are back"

    @property
    def message(self) -> str:
        named = "; ".join(f"broker {node}: {why}" for node, why in sorted(self.away.items()))
        return f"cluster {self.cluster} has brokers that do not answer: {named}"


async def partition_sizes(cluster: Cluster) -> dict[TopicPartition, int]:
    """Bytes on disk of the leader's replica of each partition, in the order of their names, internal topics too.

    Without indexes, and without what is in remote storage.  Needs DESCRIBE on the cluster; partitions of topics that we
    may not DESCRIBE are absent.  Waits for leaders that are not there yet, or do not have their partition yet, and
    raises BrokersAwayError where one cannot come without a broker that is away.
    """
    deadline = time.monotonic() + SETTLE_S
    while True:
        metadata = await cluster.metadata(None)
        leaders = _leaders(cluster, metadata)
        sizes = {node: _sizes(answer) for node, answer in (await _answers(cluster, metadata.brokers)).items()}
        missing = [partition for partition, leader in leaders.items() if partition not in sizes.get(leader, {})]
        if not missing:
            return {partition: sizes[leader][partition] for partition, leader in leaders.items()}
        if time.monotonic() > deadline:
            raise BrokerRefusedError(cluster.name, "DescribeLogDirs", f"partition {missing[0]}", UNKNOWN_TOPIC)
        await asyncio.sleep(_PAUSE_S)  # made, moved or deleted just now: metadata runs ahead of the disks


async def free_space(cluster: Cluster) -> dict[int, DiskSpace | None]:
    """The space of each broker that is there, by its id; None where it does not tell (brokers before 3.3).

    A broker's log directories are added up.  Those that tell the very same figures are taken for directories of one
    volume; those that are offline have no space.  Needs DESCRIBE on the cluster; raises BrokersAwayError.
    """
    answers = await _answers(cluster, (await cluster.metadata([])).brokers)
    return {node: _space(answer) for node, answer in answers.items()}


def _leaders(cluster: Cluster, metadata: ClusterMetadata) -> dict[TopicPartition, int]:
    """Who leads each partition, sorted; raises BrokersAwayError for those that nobody leads while brokers are away."""
    leaders: dict[TopicPartition, int] = {}
    away: dict[int, str] = {}
    for name, topic in sorted(metadata.topics.items()):
        for number, part in sorted(topic.partitions.items()):
            leaders[TopicPartition(name, number)] = part.leader
            if part.leader not in metadata.brokers:
                gone = [node for node in part.replicas if node not in metadata.brokers]
                away = dict.fromkeys(gone, f"nobody leads partition {name}-{number}") | away
    if away:
        raise BrokersAwayError(cluster.name, away)
    return leaders


async def _answers(cluster: Cluster, nodes: Iterable[int]) -> dict[int, Any]:
    """What each of these brokers tells of its log directories, by its id."""
    asked = sorted(nodes)
    found: dict[int, Any] = {}
    away: dict[int, str] = {}

    async def ask(node: int) -> None:
        try:
            found[node] = await _ask(cluster, node)
        except ConnectionLostError as error:
            away[node] = error.reason

    await asyncio.gather(*map(ask, asked))
    if away:
        raise BrokersAwayError(cluster.name, away)
    return {node: found[node] for node in asked}


async def _ask(cluster: Cluster, node: int) -> Any:
    response = await cluster.call(DescribeLogDirsRequest(topics=None), node, cap=4)
    cluster.check(response.error_code, "Describe", "cluster")
    if not response.results:  # every broker has a directory; before 3.2 this is how one refuses (KIP-784)
        raise PermissionDeniedError(cluster.name, cluster.transport.principal, "Describe", "cluster")
    for directory in response.results:
        if directory.error_code != _STORAGE_ERROR:
            cluster.check(directory.error_code, "DescribeLogDirs", f"{directory.log_dir} of broker {node}")
    return response


def _sizes(answer: Any) -> dict[TopicPartition, int]:
    """Of each replica that a broker has; not of those that it moves to another directory."""
    return {
        TopicPartition(topic.name, part.partition_index): part.partition_size
        for directory in answer.results
        for topic in directory.topics
        for part in topic.partitions
        if not part.is_future_key
    }


def _space(answer: Any) -> DiskSpace | None:
    online = [directory for directory in answer.results if directory.error_code == 0]
    volumes = {DiskSpace(directory.usable_bytes, directory.total_bytes) for directory in online}
    if any(volume.usable < 0 or volume.total < 0 for volume in volumes):
        return None
    return DiskSpace(sum(volume.usable for volume in volumes), sum(volume.total for volume in volumes))
