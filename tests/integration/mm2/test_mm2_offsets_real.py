"""Our restatement of MirrorMaker 2's translation and our report on it, held against MirrorMaker 2 itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from anabranch.mirrormaker.report import Evidence, JudgedPosition, MirrorReport
from anabranch.mirrormaker.store import OffsetSync, OffsetSyncStore
from anabranch.mirrormaker.wire import (
    MirrorCheckpoint,
    decode_checkpoint,
    decode_heartbeat,
    decode_sync,
    encode_checkpoint,
    encode_heartbeat,
    encode_sync,
)
from anabranch.model.positions import AnswerKind, Translation
from anabranch.model.topics import TopicPartition as Partition
from anabranch.operations.mirrormaker.flow import read_flow
from anabranch.operations.mirrormaker.report import judge
from anabranch.operations.mirrormaker.translate import translate
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.state.topics.mirrormaker import publish
from qa.brokers import STEADY, create_topics, existing, log_ends
from qa.mm2 import MirrorMaker, MirrorSpec
from qa.timeouts import TIMEOUT_S
from tests.contract.lab import connect
from tests.integration.links import groups
from tests.integration.mm2.java import answers

pytestmark = pytest.mark.test

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
def clusters() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """An old and a new cluster of one broker each."""
    old, new = start_clusters([ClusterSpec(name, overrides=STEADY) for name in ("old", "new")])
    with old, new:
        yield old, new


def fill(cluster: SandboxCluster, count: int) -> int:
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


def end_offset(cluster: SandboxCluster, topic: str) -> int:
    """The end of partition 0, 0 if there is no such topic."""
    config = cluster.client_config()
    return log_ends(config, [(topic, 0)])[(topic, 0)] if existing(config, [topic]) else 0


def read_all(cluster: SandboxCluster, topic: str) -> list[tuple[bytes, bytes]]:
    """Every key and value of partition 0, from first to last; skips markers."""
    end = end_offset(cluster, topic)
    config = {"group.id": "unused", "enable.partition.eof": True, "auto.offset.reset": "earliest"}
    consumer = Consumer({**cluster.client_config(), **config})
    consumer.assign([TopicPartition(topic, 0, 0)])
    records: list[tuple[bytes, bytes]] = []
    while end:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, f"{topic} could not be read"
        if message.error():
            break
        records.append((message.key(), message.value()))
    consumer.close()
    return records


def syncs_of(cluster: SandboxCluster, spec: MirrorSpec) -> list[OffsetSync]:
    """The offset syncs of our topic in the order of MirrorMaker's topic."""
    found = [decode_sync(key, value) for key, value in read_all(cluster, spec.offset_syncs_topic)]
    return [sync for partition, sync in found if partition.topic == TOPIC]


def checkpoints_of(cluster: SandboxCluster, spec: MirrorSpec) -> dict[str, int]:
    """The newest translated position of each group."""
    found = [decode_checkpoint(key, value) for key, value in read_all(cluster, spec.checkpoints_topic)]
    return {one.group: one.downstream for one in found}


def wait_for(what: str, done: Callable[[], object]) -> None:
    """Poll a condition; fails by name when it does not come true."""
    deadline = time.monotonic() + TIMEOUT_S
    while not done():
        assert time.monotonic() < deadline, f"{what} did not happen within {TIMEOUT_S:.0f} s"
        time.sleep(0.5)


def exact(position: int) -> int:
    """Where the copy has the first record at or after a source position: each transaction ends with a marker."""
    transactions, within = divmod(position, RECORDS_IN_TRANSACTION + 1)
    return transactions * RECORDS_IN_TRANSACTION + min(within, RECORDS_IN_TRANSACTION)


def assert_same_bytes(old: SandboxCluster, new: SandboxCluster, spec: MirrorSpec) -> None:
    """Every record that MirrorMaker wrote is written by us with the same bytes."""
    for key, value in read_all(old, spec.offset_syncs_topic):
        assert encode_sync(*decode_sync(key, value)) == (key, value)
    for key, value in read_all(new, spec.checkpoints_topic):
        assert encode_checkpoint(decode_checkpoint(key, value)) == (key, value)
    beats = read_all(new, "heartbeats")
    assert beats
    for key, value in beats:
        assert encode_heartbeat(decode_heartbeat(key, value)) == (key, value)


@pytest.mark.full
def test_the_restated_store_answers_what_mirror_maker_answers(
    clusters: tuple[SandboxCluster, SandboxCluster], tmp_path: Path
) -> None:
    """Over a log with transaction markers, for groups near and far from the end, our store fed with MirrorMaker's own
    syncs gives MirrorMaker's own checkpoints, and no checkpoint where it has no answer.
    """
    old, new = clusters
    create_topics(old, [NewTopic(TOPIC, 1, 1)])
    spec = MirrorSpec("old", old.bootstrap, "new", new.bootstrap, TOPIC, tasks=1, settings=SETTINGS)
    with MirrorMaker.start(spec, tmp_path) as mirror:
        wait_for("the copy's topic", lambda: existing(new.client_config(), [spec.target_topic(TOPIC)]))
        end = fill(old, 4900)
        wait_for("the copy", lambda: end_offset(new, spec.target_topic(TOPIC)) == 4900)
        # The parked sync of the last record comes with a flush; then nothing changes any more.
        wait_for("the last sync", lambda: [sync.target for sync in syncs_of(old, spec)][-1:] == [4899])
        for position in (*POSITIONS, end):
            groups.commit(old, f"group-{position}", {(TOPIC, 0): (position, "")})
        store = OffsetSyncStore()
        for sync in syncs_of(old, spec):
            store.add(sync)
        expected = {f"group-{p}": store.translate(p) for p in (*POSITIONS, end)}
        answered = {group: answer for group, answer in expected.items() if answer is not None}
        # MirrorMaker answers from the syncs that it has read by then, and answers anew when it has read them all.
        wait_for("checkpoints", lambda: checkpoints_of(new, spec) == answered)
        mirror.check()
        assert checkpoints_of(new, spec) == answered
        assert len(set(store.slots)) > 3
        assert answered["group-4890"] < 4890 - 4890 // RECORDS_IN_TRANSACTION
        assert_same_bytes(old, new, spec)
        told = asyncio.run(judged(old, new))
        assert (told.source_alias, told.target_alias) == ("old", "new")
        assert told.heartbeat_ms is not None
        rows = {row.group: row for row in told.rows if row.group in expected}
        assert {name: (row.downstream, row.stored) for name, row in rows.items()} == {
            name: (answer, answer) for name, answer in expected.items()
        }
        wanted = {f"group-{p}": exact(p) for p in (*POSITIONS, end)}
        assert {name: row.exact for name, row in rows.items()} == wanted
        assert {row.evidence for row in rows.values()} == {Evidence.CONTENT}
        assert {name: (row.least, row.most) for name, row in rows.items() if row.is_answered} == {
            name: (wanted[name] - answer, wanted[name] - answer) for name, answer in answered.items()
        }
        bounds = asyncio.run(judged(old, new, look=0))
        for row in bounds.rows:
            if row.group in answered:
                assert row.exact is None and row.least == 0 and row.most is not None
                assert wanted[row.group] - answered[row.group] <= row.most
        assert_translated(old, new, answered)
        mirror.stop()
        asyncio.run(correct(new, list(rows.values())))
        client = answers(new, "old", sorted(wanted))
        assert {line[0]: int(line[2]) for line in client if len(line) == 4} == wanted


async def judged(old: SandboxCluster, new: SandboxCluster, look: int = 500) -> MirrorReport:
    """Our report on the flow between two clusters."""
    async with connect(old) as source, connect(new) as target:
        return await judge(source, target, await read_flow(source, target), look=look)


def assert_translated(old: SandboxCluster, new: SandboxCluster, answered: dict[str, int]) -> None:
    """Single offsets get the same answers as groups: exact by the records, else MirrorMaker's with a true bound."""
    questions = [(Partition(TOPIC, 0), position) for position in POSITIONS]

    async def asked(look: int) -> Translation:
        async with connect(old) as source, connect(new) as target:
            return await translate(source, target, [*questions, (Partition("nothing", 0), 5)], look=look)

    by_records, by_syncs = asyncio.run(asked(500)), asyncio.run(asked(0))
    assert (by_records.link, by_records.refused) == ("old->new", 1)
    assert by_records.offsets == {Partition("old.flights", 0): exact(POSITIONS[-1])}
    for one, other in zip(by_records.answers[:-1], by_syncs.answers[:-1], strict=True):
        assert (one.kind, one.answer) == (AnswerKind.EXACT, exact(one.offset))
        stored = answered.get(f"group-{one.offset}")
        assert other.answer == stored
        if stored is None:
            assert other.kind is AnswerKind.BEFORE
        else:
            assert other.kind is AnswerKind.APPROXIMATE
            assert other.most_again is not None
            assert 0 <= exact(one.offset) - stored <= other.most_again
    assert {found.answers[-1].kind for found in (by_records, by_syncs)} == {AnswerKind.UNKNOWN}


async def correct(new: SandboxCluster, rows: list[JudgedPosition]) -> None:
    """Write the exact positions over MirrorMaker's."""
    async with connect(new) as target:
        exact = [MirrorCheckpoint(one.group, one.target, one.committed, one.exact or 0) for one in rows]
        assert await publish(target, "old", exact) == len(rows)
