"""What lies on a cluster, read by librdkafka and no code of the product."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from anabranch.sandbox import SandboxCluster
from qa.timeouts import TIMEOUT_S


def log_of(cluster: SandboxCluster, topic: str, partition: int) -> list[tuple[int, bytes]]:
    """Every committed record's offset and value, in order."""
    return [(one.offset(), one.value() or b"") for one in messages(cluster, topic, partition)]


def messages(cluster: SandboxCluster, topic: str, partition: int) -> Iterator[Message]:
    """Every committed record of a partition, up to its end."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.internal_bootstrap,
            "group.id": "proof",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 20,
            "enable.partition.eof": True,  # a log may end with markers, which are given to nobody
        }
    )
    try:
        consumer.assign([TopicPartition(topic, partition, 0)])
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                yield message
            elif message is not None and message.error().code() == KafkaError._PARTITION_EOF:
                return
            else:
                assert time.monotonic() < deadline, message and message.error()
    finally:
        consumer.close()


def topics_of(cluster: SandboxCluster) -> set[str]:
    """The topics that a cluster has."""
    return {*AdminClient({"bootstrap.servers": cluster.internal_bootstrap}).list_topics(timeout=TIMEOUT_S).topics}


def control_records(cluster: SandboxCluster, link: str) -> list[tuple[str, bytes]]:
    """The keys of control topics that name a link, and have a value."""
    topics = AdminClient({"bootstrap.servers": cluster.internal_bootstrap}).list_topics(timeout=TIMEOUT_S).topics
    named = re.compile(rb"(?<![\w-])" + link.encode() + rb"(?![\w-])")
    found = []
    for name, topic in topics.items():
        if not name.startswith("__anabranch"):
            continue
        last: dict[bytes, bytes | None] = {}
        for partition in topic.partitions:
            last |= {one.key() or b"": one.value() for one in messages(cluster, name, partition)}
        found += [(name, key) for key, value in last.items() if value is not None and named.search(key)]
    return found
