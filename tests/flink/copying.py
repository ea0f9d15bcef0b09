"""Records on one cluster and their exact copies at other offsets on another, with a route that knows every pair.

The copies are written in transactions, whose markers take offsets too: the offsets differ by another number every few
records, as they do behind a real copier.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import NewTopic

from anabranch.checkpoints.position import Position, SymbolicOffset
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.config.maps_file import StoredMap, save_rebuilt
from anabranch.model.lane import LaneKey
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.sandbox import SandboxCluster
from qa import brokers
from qa.timeouts import TIMEOUT_S

BEGIN_MS = 1_700_000_000_000
STEP_MS = 100
LATER_MS = 10**9
JUNK = 37
_IN_TRANSACTION = 7
# The records are of years ago, which the default retention would delete after half a minute.
_KEPT = {"retention.ms": "-1"}


@dataclass(frozen=True, slots=True)
class Given:
    """A topic to fill: records per partition, and its name on the target."""

    topic: str
    partitions: int
    records: int
    copy: str


@dataclass(slots=True)
class Copies:
    """Where each source record is on the target, by source partition: target offsets in the source's order."""

    names: Mapping[str, str]
    offsets: dict[TopicPartition, list[int]] = field(default_factory=lambda: defaultdict(list))
    ends: dict[TopicPartition, int] = field(default_factory=dict)

    def move(self, position: Position) -> TranslatedPosition | Reason | None:
        """The copy of the record at an offset; the end of the log for the position behind the last one."""
        at = position.partition
        if position.offset is None:
            return TranslatedPosition(self.place(at), None)
        if isinstance(position.offset, SymbolicOffset):
            return Reason(ReasonKind.MARKER, str(position))
        return TranslatedPosition(self.place(at), self.target(at, position.offset))

    def equal(self, partition: TopicPartition, start: int, end: int) -> Reason | None:
        """Every range is: this is the map by construction."""
        return None

    def partitions(self, topic: str) -> frozenset[int] | Reason:
        """All that the target topic has."""
        return frozenset(one.partition for one in self.ends if one.topic == topic)

    def save(self, path: Path, source: str, target: str) -> None:
        """The maps file of these copies, between two contexts."""
        maps = [
            StoredMap(LaneKey("copies", TopicId(uuid4()), at.partition), at, self.place(at), _ranges(offsets))
            for at, offsets in sorted(self.offsets.items())
        ]
        save_rebuilt(path, "copies", source, target, maps, BEGIN_MS)

    def place(self, at: TopicPartition) -> TopicPartition:
        """The copy of a partition."""
        return TopicPartition(self.names[at.topic], at.partition)

    def target(self, at: TopicPartition, offset: int) -> int:
        """Where the copy of a record is, or the end of the log."""
        copies = self.offsets[at]
        return copies[offset] if offset < len(copies) else self.ends[self.place(at)]


def _ranges(offsets: list[int]) -> OffsetMap:
    return OffsetMap.of((MappedRange(source, target, 1) for source, target in enumerate(offsets)), 0, 0)


def commit(cluster: SandboxCluster, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    """A group's offsets."""
    consumer = Consumer(cluster.client_config() | {"group.id": group})
    wanted = [KafkaPartition(at.topic, at.partition, offset) for at, offset in offsets.items()]
    brokers.retry(lambda: consumer.commit(offsets=wanted, asynchronous=False))
    consumer.close()


def committed(cluster: SandboxCluster, topic: str) -> list[str]:
    """What a reader of committed records sees in a topic of one partition."""
    brokers.await_markers(cluster.client_config(), [(topic, 0)])
    settings = {"group.id": "none", "isolation.level": "read_committed"}
    consumer = Consumer(cluster.client_config() | settings | {"enable.partition.eof": True})
    consumer.assign([KafkaPartition(topic, 0, OFFSET_BEGINNING)])
    seen = []
    while True:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, f"the end of {topic} was not reached"
        if message.error():
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            break
        seen.append(message.value().decode())
    consumer.close()
    return seen


def create(cluster: SandboxCluster, topics: Mapping[str, int]) -> None:
    """Topics by their number of partitions."""
    brokers.create_topics(cluster, [NewTopic(name, count, 1, config=_KEPT) for name, count in topics.items()])


def produce(cluster: SandboxCluster, given: list[Given]) -> None:
    """The records of the source; a last one of each partition is of much later, so that all windows close."""
    create(cluster, {one.topic: one.partitions for one in given})
    # Without idempotence a retry right after the topic's creation puts later batches before earlier ones.
    producer = Producer(cluster.client_config() | {"batch.num.messages": 5, "enable.idempotence": True})
    for one in given:
        for partition in range(one.partitions):
            for n in range(one.records):
                producer.produce(one.topic, **_record(one, partition, n))
    assert producer.flush(TIMEOUT_S) == 0


def copy(cluster: SandboxCluster, given: list[Given]) -> Copies:
    """The same records behind junk that the job has no business with, in transactions."""
    create(cluster, {one.copy: one.partitions for one in given})
    junk = Producer(cluster.client_config())
    for one in given:
        for partition in range(one.partitions):
            for _ in range(JUNK + partition):
                junk.produce(one.copy, "junk", "junk", partition, timestamp=BEGIN_MS)
    assert junk.flush(TIMEOUT_S) == 0
    copies = Copies({one.topic: one.copy for one in given})
    producer = Producer(cluster.client_config() | {"transactional.id": given[0].copy})
    producer.init_transactions(TIMEOUT_S)
    for one in given:
        for n in range(one.records):
            if n % _IN_TRANSACTION == 0:
                producer.begin_transaction()
            for partition in range(one.partitions):
                kept = copies.offsets[TopicPartition(one.topic, partition)]
                producer.produce(
                    one.copy,
                    **_record(one, partition, n),
                    on_delivery=lambda _, done, to=kept: to.append(done.offset()),
                )
            if n % _IN_TRANSACTION == _IN_TRANSACTION - 1 or n == one.records - 1:
                producer.commit_transaction(TIMEOUT_S)
        for partition in range(one.partitions):
            last = copies.offsets[TopicPartition(one.topic, partition)][-1]
            # Behind the last record is the marker of its transaction.
            copies.ends[TopicPartition(one.copy, partition)] = last + 2
    return copies


def _record(one: Given, partition: int, n: int) -> dict[str, Any]:
    last = n == one.records - 1
    return {
        "key": f"{one.topic}-{partition}-{'last' if last else n % 3}",
        "value": f"{partition}/{n}",
        "partition": partition,
        "timestamp": BEGIN_MS + n * STEP_MS + (LATER_MS if last else 0),
    }
