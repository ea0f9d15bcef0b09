"""Our restatement of MirrorMaker 2's translation, held against MirrorMaker 2 itself."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from anabranch.sandbox import Cluster, ClusterSpec, start_clusters
from anabranch.testing.mm2 import MirrorMaker, MirrorSpec
from anabranch.testing.mm2_offsets import OffsetSync, OffsetSyncStore

pytestmark = pytest.mark.integration

TOPIC = "flights"
RECORDS_IN_TRANSACTION = 700
POSITIONS = (0, 1, 150, 699, 701, 1234, 2500, 4203, 4800, 4890)
SETTINGS = {
    "emit.checkpoints.interval.seconds": "1",
    "refresh.groups.interval.seconds": "1",
    "refresh.topics.interval.seconds": "1",
    # A worker's property is read under the target's alias only; at the top level it is ignored.
    "new.offset.flush.interval.ms": "1000",
}


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[Cluster, Cluster]]:
    """An old and a new cluster of one broker each."""
    old, new = start_clusters([ClusterSpec("old"), ClusterSpec("new")])
    with old, new:
        yield old, new


def fill(cluster: Cluster, count: int) -> int:
    """Write records in transactions, slowly enough for MirrorMaker to write syncs; returns the end offset."""
    producer = Producer({**cluster.client_config(), "transactional.id": "flights-writer"})
    producer.init_transactions()
    for first in range(0, count, RECORDS_IN_TRANSACTION):
        producer.begin_transaction()
        for number in range(first, min(count, first + RECORDS_IN_TRANSACTION)):
            producer.produce(TOPIC, f"record {number}".encode(), partition=0)
            if number % 50 == 49:
                producer.flush()
                time.sleep(0.02)
        producer.commit_transaction()
    return end_offset(cluster, TOPIC)


def end_offset(cluster: Cluster, topic: str) -> int:
    """The end of partition 0, 0 if there is no such topic."""
    consumer = Consumer({**cluster.client_config(), "group.id": "unused"})
    try:
        known = consumer.list_topics(timeout=10).topics
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)[1]) if topic in known else 0
    finally:
        consumer.close()


def read_all(cluster: Cluster, topic: str) -> list[tuple[bytes, bytes]]:
    """Every key and value of partition 0, from first to last; skips markers."""
    end = end_offset(cluster, topic)
    config = {"group.id": "unused", "enable.partition.eof": True, "auto.offset.reset": "earliest"}
    consumer = Consumer({**cluster.client_config(), **config})
    consumer.assign([TopicPartition(topic, 0, 0)])
    records: list[tuple[bytes, bytes]] = []
    while end:
        message = consumer.poll(10)
        assert message is not None, f"{topic} could not be read"
        if message.error():
            break
        records.append((message.key(), message.value()))
    consumer.close()
    return records


def string(data: bytes, at: int) -> tuple[str, int]:
    """A length-prefixed string and where it ends."""
    (length,) = struct.unpack_from(">h", data, at)
    return data[at + 2 : at + 2 + length].decode(), at + 2 + length


def syncs_of(cluster: Cluster, spec: MirrorSpec) -> list[OffsetSync]:
    """The offset syncs of our topic in the order of MirrorMaker's topic."""
    found = [(string(key, 0)[0], value) for key, value in read_all(cluster, spec.offset_syncs_topic)]
    return [OffsetSync(*struct.unpack(">qq", value)) for topic, value in found if topic == TOPIC]


def checkpoints_of(cluster: Cluster, spec: MirrorSpec) -> dict[str, int]:
    """The newest translated position of each group."""
    found = {}
    for key, value in read_all(cluster, spec.checkpoints_topic):
        group, _ = string(key, 0)
        _version, _source, target = struct.unpack_from(">hqq", value)
        found[group] = target
    return found


def wait_for(what: str, seconds: float, done: object) -> None:
    """Poll a condition; fails by name when it does not come true."""
    assert callable(done)
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(0.5)


def test_the_restated_store_answers_what_mirror_maker_answers(
    clusters: tuple[Cluster, Cluster], tmp_path: Path
) -> None:
    """Over a log with transaction markers, for groups near and far from the end, our store fed with MirrorMaker's own
    syncs gives MirrorMaker's own checkpoints, and no checkpoint where it has no answer.
    """
    old, new = clusters
    admin = AdminClient(old.client_config())
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result()
    spec = MirrorSpec("old", old.bootstrap, "new", new.bootstrap, TOPIC, tasks=1, settings=SETTINGS)
    with MirrorMaker.start(spec, tmp_path) as mirror:
        wait_for(
            "the copy's topic",
            60,
            lambda: spec.target_topic(TOPIC) in AdminClient(new.client_config()).list_topics(timeout=10).topics,
        )
        end = fill(old, 4900)
        wait_for("the copy", 60, lambda: end_offset(new, spec.target_topic(TOPIC)) == 4900)
        # The parked sync of the last record comes with a flush; then nothing changes any more.
        wait_for("the last sync", 30, lambda: syncs_of(old, spec)[-1].target == 4899)
        for position in (*POSITIONS, end):
            at = TopicPartition(TOPIC, 0, position)
            group = ConsumerGroupTopicPartitions(f"group-{position}", [at])
            admin.alter_consumer_group_offsets([group])[f"group-{position}"].result()
        store = OffsetSyncStore()
        for sync in syncs_of(old, spec):
            store.add(sync)
        expected = {f"group-{p}": store.translate(p) for p in (*POSITIONS, end)}
        answered = {group: answer for group, answer in expected.items() if answer is not None}
        # MirrorMaker answers from the syncs that it has read by then, and answers anew when it has read them all.
        wait_for("checkpoints", 60, lambda: checkpoints_of(new, spec) == answered)
        mirror.check()
        assert checkpoints_of(new, spec) == answered
        assert len(set(store.slots)) > 3
        assert answered["group-4890"] < 4890 - 4890 // RECORDS_IN_TRANSACTION
