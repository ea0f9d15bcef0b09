"""Topics and records on sandbox clusters, made with librdkafka and no code of the copier."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from anabranch.sandbox import SandboxCluster
from qa.brokers import await_markers, await_topics, create_topics, watermarks
from qa.timeouts import TIMEOUT_S

OLD_MS = 1_357_000_000_000  # 2013-01-01, as old as the records that history has
# The client's own minute may pass on a machine that stands still.
TRANSACTIONS = {"transaction.timeout.ms": 600_000}
_LEADERLESS = frozenset({5, 6, 7, 74, 75, 78, -185, -195})
"""No leader, another one, none that answered in time, an old or an unknown epoch of it, an end that it does not know
yet; and the client's own words for a time that was over and for a connection that was lost."""
_numbers = itertools.count(1)
_admins: WeakKeyDictionary[SandboxCluster, AdminClient] = WeakKeyDictionary()
_spares: WeakKeyDictionary[SandboxCluster, Producer] = WeakKeyDictionary()


def fresh(name: str) -> str:
    """A topic name that no other test uses."""
    return f"{name}-{next(_numbers)}"


def admin(cluster: SandboxCluster) -> AdminClient:
    """An administrator's client over the inner listener."""
    # Kept: a client that is collected takes the answers of its requests with it.
    if cluster not in _admins:
        _admins[cluster] = AdminClient({"bootstrap.servers": cluster.internal_bootstrap})
    return _admins[cluster]


def create(cluster: SandboxCluster, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
    """Create a topic that keeps old records, and wait until it can be used."""
    settings = {"retention.ms": "-1", **(configs or {})}
    create_topics(cluster, [NewTopic(topic, partitions, 1, config=settings)])
    return topic


def drop(cluster: SandboxCluster, topic: str) -> None:
    """Delete a topic and wait until it is gone."""
    client = admin(cluster)
    client.delete_topics([topic])[topic].result(TIMEOUT_S)
    deadline = time.monotonic() + TIMEOUT_S
    while topic in client.list_topics(timeout=TIMEOUT_S).topics:
        assert time.monotonic() < deadline, f"{topic} is still there"
        time.sleep(0.05)


def grow(cluster: SandboxCluster, topic: str, partitions: int) -> None:
    """Raise the partition count."""
    admin(cluster).create_partitions([NewPartitions(topic, partitions)])[topic].result(TIMEOUT_S)
    await_topics(cluster, {topic: partitions})


def configs_of(cluster: SandboxCluster, topic: str) -> dict[str, str]:
    """The settings that were made on the topic itself."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    found = admin(cluster).describe_configs([resource])[resource].result(TIMEOUT_S)
    return {name: entry.value for name, entry in found.items() if entry.source == 1}


def configure(cluster: SandboxCluster, topic: str, changes: Mapping[str, str | None]) -> None:
    """Set or (None) delete settings of a topic."""
    entries = [
        ConfigEntry(
            name,
            value,
            incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
        )
        for name, value in changes.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin(cluster).incremental_alter_configs([resource])[resource].result(TIMEOUT_S)
    await_heeded(cluster)


def await_heeded(cluster: SandboxCluster) -> None:
    """Return when the broker acts on all that the controller has taken so far.

    It reads the controller's log in order and in pieces.  The second of two topics is made of a later piece than the
    first, so all before the first has taken hold by then.
    """
    for _ in range(2):
        create(cluster, fresh("heeded"))


def delete_records(cluster: SandboxCluster, topic: str, before: int, partition: int = 0) -> None:
    """Have the log begin at an offset."""
    where = TopicPartition(topic, partition, before)
    for future in admin(cluster).delete_records([where]).values():
        future.result(TIMEOUT_S)


def _new_producer(cluster: SandboxCluster, own: Mapping[str, Any]) -> Producer:
    return Producer(
        {
            "bootstrap.servers": cluster.internal_bootstrap,
            "reconnect.backoff.max.ms": 1000,
            "log_level": 0,  # a spare one outlives its cluster by a moment
            "linger.ms": 30_000,  # a flush ends a batch, and no machine that stands still meanwhile
            "enable.idempotence": True,
            **own,
        }
    )


def _spare_producer(cluster: SandboxCluster) -> Producer:
    """One that has written nothing yet, and has the id for which each waits half a second; the next gets its own."""
    made = _spares.pop(cluster, None) or _new_producer(cluster, {})
    _spares[cluster] = _new_producer(cluster, {})
    return made


def produce(
    cluster: SandboxCluster,
    topic: str,
    records: Iterable[Mapping[str, Any]],
    *,
    codec: str = "none",
    batch: int = 10,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Write records, each a call of ``Producer.produce``; a batch ends after every ``batch`` of them."""
    own = {**({} if codec == "none" else {"compression.type": codec}), **(settings or {})}
    producer = _new_producer(cluster, own) if own else _spare_producer(cluster)
    failures: list[Any] = []

    def answered(error: Any, _: Any) -> None:
        if error is not None:
            failures.append(error)

    for number, record in enumerate(records, 1):
        producer.produce(topic, on_delivery=answered, **{"partition": 0, **record})
        if number % batch == 0:
            producer.flush(TIMEOUT_S)
    left = producer.flush(TIMEOUT_S)
    assert not failures, failures[0]
    assert not left, f"{left} records of {topic} were not taken in {TIMEOUT_S:.0f} s"


def numbered(count: int, *, first: int = 0, timestamp: int | None = None, partition: int = 0) -> list[dict[str, Any]]:
    """Records that tell which they are; ``timestamp`` is that of the first, each later one is a millisecond on."""
    begin = int(time.time() * 1000) if timestamp is None else timestamp
    return [
        {
            "key": b"key %d" % (n % 7),
            "value": b"record %d" % n,
            "timestamp": begin + n - first,
            "partition": partition,
        }
        for n in range(first, first + count)
    ]


def ends(cluster: SandboxCluster, topic: str, partition: int = 0) -> tuple[int, int]:
    """(log start, high watermark)."""
    consumer = Consumer({"bootstrap.servers": cluster.internal_bootstrap, "group.id": "unused"})
    try:
        return watermarks(consumer, (topic, partition))
    finally:
        consumer.close()


def newest_offset(cluster: SandboxCluster, topic: str, partition: int = 0) -> int:
    """The end of a partition by an administrator's question, which needs no consumer.

    Asked again where the broker that tells who leads has not heard of the last election yet.
    """
    where = TopicPartition(topic, partition)
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return int(admin(cluster).list_offsets({where: OffsetSpec.latest()})[where].result(TIMEOUT_S).offset)
        except KafkaException as error:
            if error.args[0].code() not in _LEADERLESS or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def transaction(cluster: SandboxCluster, topic: str, values: Sequence[bytes], commit: bool = True) -> None:
    """Write one transaction, and wait for its marker."""
    producer = Producer(
        {**TRANSACTIONS, "bootstrap.servers": cluster.internal_bootstrap, "transactional.id": fresh("writer")}
    )
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    end = newest_offset(cluster, topic)
    if commit:
        producer.commit_transaction(TIMEOUT_S)
    else:
        producer.abort_transaction(TIMEOUT_S)
    deadline = time.monotonic() + TIMEOUT_S
    while newest_offset(cluster, topic) == end:  # others may hold the last stable offset
        assert time.monotonic() < deadline, "there is no marker"
        time.sleep(0.01)


def end_transactions(cluster: SandboxCluster, topic: str) -> int:
    """Wait for the markers of all transactions in partition 0; returns the log's end."""
    await_markers({"bootstrap.servers": cluster.internal_bootstrap}, [(topic, 0)])
    return newest_offset(cluster, topic)
