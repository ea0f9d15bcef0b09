"""The Kafka topics of tables: what is there, what is made, what is deleted, and samples of their records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka import fetch
from anabranch.kafka.admin import topic_configs
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.ends import ends
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.kafka.fetch_one import fetched
from anabranch.model.topics import TopicPartition
from anabranch.operations.mirrormaker.content import read_snapshot
from anabranch.protocol import reading
from anabranch.records.decode import decode
from anabranch.records.header import HEADER_SIZE, read_header

RETENTION = "retention.ms"
_FETCH_BYTES = 1 << 18
_COMMITTED = 1


@dataclass(eq=False)
class TopicNotThereError(RefusedError):
    """A cluster has no such topic."""

    topic: str
    cluster: str

    _message = "cluster {cluster} has no topic {topic}"
    _hint = "see what it has: `anabranch context test {cluster}`; a table can make its topic: --create-topics"


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """How topics are made; ``retention_ms`` is None for the cluster's own, -1 for ever."""

    partitions: int
    replication_factor: int = 1
    retention_ms: int | None = None

    def configs(self) -> Mapping[str, str]:
        """As Kafka's settings."""
        return {} if self.retention_ms is None else {RETENTION: str(self.retention_ms)}


@dataclass(frozen=True, slots=True)
class TopicSeen:
    """A topic as it is; ``records`` is what its offsets span, ``retention_ms`` None where it is not told."""

    cluster: str
    topic: str
    partitions: int
    records: int
    retention_ms: int | None


async def exists(cluster: Cluster, topic: str) -> bool:
    """Whether a cluster has a topic; raises ClusterError."""
    answer = (await cluster.metadata([topic])).topics.get(topic)
    if answer is None or answer.error == UNKNOWN_TOPIC:
        return False
    cluster.check(answer.error, "Describe", f"topic {topic}")
    return True


async def seen(cluster: Cluster, topic: str) -> TopicSeen:
    """A topic as it is; raises TopicNotThereError, ClusterError."""
    found = await _ends(cluster, topic)
    configs = (await topic_configs(cluster, [topic])).get(topic, {})
    value = configs[RETENTION].value if RETENTION in configs else None
    records = sum(end - first for first, end in found.values())
    return TopicSeen(cluster.name, topic, len(found), records, None if value is None else int(value))


async def samples(cluster: Cluster, topic: str, most: int) -> tuple[bytes, ...]:
    """Values of the newest records of a topic, spread over its partitions; no group reads them.

    Raises TopicNotThereError, ClusterError.
    """
    found = await _ends(cluster, topic)
    filled = sorted(at for at, (first, end) in found.items() if end > first)
    values: list[bytes] = []
    for number, at in enumerate(filled):
        share = -(-(most - len(values)) // (len(filled) - number))
        if share > 0:
            values += await _newest(cluster, at, share)
    return tuple(values)


async def _ends(cluster: Cluster, topic: str) -> Mapping[TopicPartition, tuple[int, int]]:
    answer = (await cluster.metadata([topic])).topics.get(topic)
    if answer is None or answer.error == UNKNOWN_TOPIC:
        raise TopicNotThereError(topic, cluster.name)
    cluster.check(answer.error, "Describe", f"topic {topic}")
    return await ends(cluster, [TopicPartition(topic, number) for number in answer.partitions], stable=True)


async def _newest(cluster: Cluster, partition: TopicPartition, most: int) -> list[bytes]:
    """Values of the last records of a partition that a read-committed consumer sees, without tombstones."""
    log = await read_snapshot(cluster, partition)
    at, found = max(log.start, log.end - most), list[bytes]()
    while at < log.end:
        wanted = fetch.PartitionFetch(partition.topic, log.topic_id, partition.partition, -1, at, -1, _FETCH_BYTES)
        async with fetched(
            log.connection, wanted, max_wait_ms=0, max_bytes=_FETCH_BYTES, isolation=_COMMITTED
        ) as answer:
            cluster.check(answer.code, "Read", f"partition {partition}")
            records = answer.records
            begin = min(at, read_header(records).base_offset) if len(records) >= HEADER_SIZE else at
            got = reading.read(records, begin, answer.aborted)
            for batch in got.batches:
                for record in decode(batch.view, batch.at, batch.header):
                    if record.offset >= at and record.value is not None:
                        found.append(bytes(record.value))
            if got.fetch_offset <= at:
                break
            at = got.fetch_offset
    return found[-most:]
