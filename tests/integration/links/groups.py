"""Consumer groups on sandbox clusters, committed and read back by librdkafka and no code of the mover."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import Consumer, ConsumerGroupState, Message, TopicPartition

from anabranch.sandbox import SandboxCluster
from qa.brokers import retry
from qa.timeouts import SCALE, TIMEOUT_S
from tests.integration.links.topics import admin

Place = tuple[str, int]
Stand = tuple[int, str]

_ANSWER_S = 30.0 * SCALE
"""For one answer; it is asked for again."""


def reader(cluster: SandboxCluster, group: str, **config: object) -> Consumer:
    """A consumer of a group that commits only when told."""
    return Consumer(
        {
            "bootstrap.servers": cluster.internal_bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 20,
            **config,
        }
    )


def commit(cluster: SandboxCluster, group: str, positions: Mapping[Place, Stand]) -> None:
    """Commit positions with metadata for a group without members."""
    consumer = reader(cluster, group)
    try:
        wanted = [TopicPartition(*at, offset, metadata=noted) for at, (offset, noted) in positions.items()]
        store(consumer, wanted)
    finally:
        consumer.close()


def store(consumer: Consumer, positions: list[TopicPartition]) -> None:
    """Commit, again while the first group of a young cluster finds its coordinator, or the last member is leaving."""
    for one in retry(lambda: consumer.commit(offsets=positions, asynchronous=False)):
        assert one.error is None, one


def committed(cluster: SandboxCluster, group: str, places: list[Place]) -> dict[Place, Stand | None]:
    """What a group has committed, offset and metadata; None where nothing."""
    consumer = reader(cluster, group)
    try:
        found = asked(consumer, [TopicPartition(*at) for at in places])
        return {
            (one.topic, one.partition): None if one.offset < 0 else (one.offset, one.metadata or "") for one in found
        }
    finally:
        consumer.close()


def asked(consumer: Consumer, places: list[TopicPartition]) -> list[TopicPartition]:
    """Committed offsets, asked for again while the first group of a young cluster finds its coordinator."""
    found: list[TopicPartition] = retry(lambda: consumer.committed(places, timeout=_ANSWER_S))
    return found


def value_of(message: Message | None) -> str:
    """The value of a message that must be there."""
    assert message is not None, "nothing came"
    assert message.error() is None, message.error()
    return (message.value() or b"").decode()


@contextmanager
def member(cluster: SandboxCluster, group: str, topic: str, **config: object) -> Iterator[Consumer]:
    """A consumer that has its partitions, while the block lasts; behind it the group has no member."""
    consumer = reader(cluster, group, **{"auto.offset.reset": "earliest", **config})
    try:
        consumer.subscribe([topic])
        deadline = time.monotonic() + TIMEOUT_S
        while not consumer.assignment():
            assert time.monotonic() < deadline, "nothing was assigned"
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:  # the caller is to read it
                consumer.seek(TopicPartition(message.topic(), message.partition(), message.offset()))
        yield consumer
    finally:
        consumer.close()
    await_left(cluster, group)


def await_left(cluster: SandboxCluster, group: str) -> None:
    """Wait until a group's last member has left: a consumer does not wait for long until its coordinator knows."""

    def look() -> None:
        listed = admin(cluster).list_consumer_groups(request_timeout=_ANSWER_S).result().valid
        if any(one.group_id == group and one.state is not ConsumerGroupState.EMPTY for one in listed):
            raise TimeoutError(f"group {group} still has members")

    retry(look)


def read_values(cluster: SandboxCluster, group: str, place: Place, number: int) -> list[str]:
    """The values of the next records that a group reads from where it has committed, without committing."""
    consumer = reader(cluster, group, **{"isolation.level": "read_committed"})
    try:
        (at,) = asked(consumer, [TopicPartition(*place)])
        consumer.assign([at])
        return [value_of(consumer.poll(TIMEOUT_S)) for _ in range(number)]
    finally:
        consumer.close()
