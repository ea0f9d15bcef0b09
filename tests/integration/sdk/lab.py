"""Programs that write and read as any program with confluent-kafka does, and where their records are."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import NewTopic

from anabranch.sandbox import SandboxCluster
from qa.brokers import create_topics
from qa.route_service import RouteProcess
from qa.timeouts import TIMEOUT_S


@dataclass
class TwoClusters:
    """Where applications are, and how they are configured."""

    old: SandboxCluster
    new: SandboxCluster
    cache: Path
    group: str = field(default_factory=lambda: f"g-{uuid.uuid4().hex[:6]}")

    def topic(self, partitions: int = 2, *others: str) -> str:
        """A topic that both clusters have, and is called otherwise as well where others are named."""
        name = f"t-{uuid.uuid4().hex[:6]}"
        for cluster in (self.old, self.new):
            create_topics(cluster, [NewTopic(one.format(name), partitions) for one in ("{}", *others)])
        return name

    def configured(self, **more: Any) -> dict[str, Any]:
        """A configuration in which one line is another than with plain confluent-kafka."""
        named = {name.replace("_", "."): value for name, value in more.items()}
        return {"cluster.code": "orders", "route.cache.dir": str(self.cache), **named}

    def reading(self, **more: Any) -> dict[str, Any]:
        """A configuration of the group's."""
        return self.configured(group_id=self.group, auto_offset_reset="earliest", **more)


@dataclass
class Lab(TwoClusters):
    """Two clusters and a route service."""

    service: RouteProcess = field(kw_only=True)

    def lead(self, cluster: str, *rules: Any, **code: Any) -> None:
        """Publish a table by which the code leads there."""
        self.service.publish({"codes": {"orders": {"cluster": cluster, **code}}, "rules": list(rules)})


def write(producer: Any, topic: str, values: Iterable[str], key: str | None = None) -> None:
    """Write and wait until all is acknowledged."""
    refused: list[Any] = []

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            refused.append(error)

    for value in values:
        producer.produce(topic, value=value, key=key, on_delivery=delivered)
        producer.poll(0)
    assert producer.flush(TIMEOUT_S) == 0
    assert not refused, refused[0]


def read(consumer: Any, enough: Callable[[list[Any]], bool]) -> list[Any]:
    """Messages until there are enough of them."""
    found: list[Any] = []
    deadline = time.monotonic() + TIMEOUT_S
    while not enough(found):
        assert time.monotonic() < deadline, f"{len(found)} messages"
        message = consumer.poll(0.5)
        if message is not None:
            assert message.error() is None, message.error()
            found.append(message)
    return found


def count(number: int) -> Callable[[list[Any]], bool]:
    """So many."""
    return lambda found: len(found) >= number


def values(messages: Iterable[Any]) -> list[str]:
    """What they say."""
    return [message.value().decode() for message in messages]


def stored(cluster: SandboxCluster, topic: str, partitions: int = 2) -> list[list[str]]:
    """What is in a topic, by partition, as a plain client reads it."""
    plain = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "look", "enable.auto.commit": False})
    try:
        found: list[list[str]] = [[] for _ in range(partitions)]
        logs = [plain.get_watermark_offsets(TopicPartition(topic, part), TIMEOUT_S) for part in range(partitions)]
        plain.assign([TopicPartition(topic, part, start) for part, (start, _) in enumerate(logs)])
        while any(
            end > start and plain.position([TopicPartition(topic, part)])[0].offset < end
            for part, (start, end) in enumerate(logs)
        ):
            message = plain.poll(1.0)
            if message is not None and message.error() is None:
                found[message.partition()].append(message.value().decode())
        return found
    finally:
        plain.close()


def committed(cluster: SandboxCluster, group: str, topic: str, partitions: int = 2) -> list[int]:
    """What a group has committed."""
    plain = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    try:
        return [one.offset for one in plain.committed([TopicPartition(topic, n) for n in range(partitions)], TIMEOUT_S)]
    finally:
        plain.close()


def commit(cluster: SandboxCluster, group: str, offsets: Iterable[tuple[str, int, int]]) -> None:
    """Have a group commit these, as a move does."""
    plain = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    try:
        plain.commit(offsets=[TopicPartition(*one) for one in offsets], asynchronous=False)
    finally:
        plain.close()
