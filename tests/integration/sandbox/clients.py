"""A plain client of a sandbox cluster, with confluent-kafka, which shares no code with the sandbox."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from qa.brokers import make_topics, watermarks
from qa.timeouts import TIMEOUT_S

QUIET = logging.getLogger("tests.sandbox.clients")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


def create(config: dict[str, Any], topic: str, partitions: int = 1) -> None:
    """Create a topic with the cluster's own replication; raises the refusal."""
    make_topics({**config, "logger": QUIET}, [NewTopic(topic, partitions)])


def produce(config: dict[str, Any], topic: str, values: Iterable[bytes]) -> None:
    """Write each value once and wait until all replicas have it; raises the first refusal."""
    refused: list[Any] = []

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            refused.append(error)

    settings = {"acks": "all", "enable.idempotence": True, "retry.backoff.ms": 50, "reconnect.backoff.max.ms": 200}
    producer = Producer(config | settings, logger=QUIET)
    for value in values:
        producer.produce(topic, value, on_delivery=delivered)
    left = producer.flush(TIMEOUT_S)
    assert not refused, refused[0]
    assert left == 0


def read(
    config: dict[str, Any], topic: str, count: int, partitions: int = 1, seconds: float = TIMEOUT_S
) -> list[Message]:
    """The first ``count`` records from the beginning, in the order of their arrival."""
    settings = {"group.id": "test", "enable.auto.commit": False, "reconnect.backoff.max.ms": 200}
    consumer = Consumer(config | settings, logger=QUIET)
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
        found: list[Message] = []
        deadline = time.monotonic() + seconds
        while len(found) < count and time.monotonic() < deadline:
            found += [message for message in consumer.consume(count - len(found), 0.5) if message.error() is None]
        return found
    finally:
        consumer.close()


def written(config: dict[str, Any], topic: str, partitions: int = 1) -> int:
    """How many records the topic's logs hold, by their ends; exact for logs that start at 0 and have no gaps."""
    consumer = Consumer(config | {"group.id": "test"}, logger=QUIET)
    try:
        ends = [watermarks(consumer, (topic, one)) for one in range(partitions)]
        return sum(end - start for start, end in ends)
    finally:
        consumer.close()


def numbered(count: int, first: int = 0) -> list[bytes]:
    """Values that tell their order."""
    return [b"%06d" % number for number in range(first, first + count)]
