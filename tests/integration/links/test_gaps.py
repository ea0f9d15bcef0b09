"""Logs with gaps are copied record by record, and the runs say where: transactions, compaction, other clocks."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Producer

from anabranch.model.lane import LaneMode
from anabranch.model.link import ModePolicy
from anabranch.sandbox import SandboxCluster
from qa.logcompare import disk_batches
from tests.integration.links.lab import TIMEOUT_S, link
from tests.integration.links.topics import (
    TRANSACTIONS,
    configure,
    create,
    delete_records,
    end_transactions,
    fresh,
    numbered,
    produce,
    transaction,
)

pytestmark = pytest.mark.test


def compacted_with_a_gap(old: SandboxCluster, name: str) -> tuple[str, int]:
    """A topic whose log lost records to compaction behind its first five, and the first offset that is missing."""
    topic = create(
        old,
        name,
        configs={"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"},
    )
    produce(old, topic, [{"key": b"only %d" % n, "value": b"v"} for n in range(5)], batch=5)
    produce(old, topic, [{"key": b"again", "value": b"%d" % n} for n in range(20)], batch=4)
    deadline = time.monotonic() + TIMEOUT_S
    number = 0
    while True:
        number += 1
        produce(old, topic, [{"key": b"last %d" % number, "value": b"v"}], batch=1)
        kept = sum(batch.size for batch in disk_batches(old.layout.nodes[0].data / f"{topic}-0"))
        if kept < 25 + number:
            return topic, 5
        assert time.monotonic() < deadline, "the source was never compacted"
        time.sleep(0.3)


def keep_as_it_is(cluster: SandboxCluster, topic: str) -> None:
    """Let a log be compacted no more.

    What is compared must not be cleaned on between the copy and the comparison.  A cleaning that is under way is given
    up, and that waited for, by the broker where the topic is no longer a compacted one (LogManager.updateTopicConfig).
    """
    configure(cluster, topic, {"min.compaction.lag.ms": "86400000", "cleanup.policy": "delete"})
    configure(cluster, topic, {"cleanup.policy": "compact"})


def interleave(old: SandboxCluster, topic: str, rounds: int) -> None:
    """Transactions of two producers and plain records in one partition, a third of them aborted."""
    config = {"bootstrap.servers": old.internal_bootstrap, "linger.ms": 0}
    producers = [Producer({**config, **TRANSACTIONS, "transactional.id": f"{topic}-{n}"}) for n in range(2)]
    plain = Producer(config)
    for producer in producers:
        producer.init_transactions()
    for number in range(rounds):
        for producer in producers:
            producer.begin_transaction()
        for at in range(3):
            for which, producer in enumerate((*producers, plain)):
                producer.produce(topic, f"{number} {at} {which}".encode(), partition=0)
                producer.flush()
        for which, producer in enumerate(producers):
            if (number + which) % 3:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
    end_transactions(old, topic)


@pytest.mark.real
def test_transactions_are_copied_as_a_read_committed_consumer_sees_them(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """Committed, aborted and interleaved ones, over many short leases; what is dropped counts as passed."""
    name = fresh("transactions")
    topic, ended, aborted = (create(old, f"{name}-{kind}") for kind in ("mixed", "ended", "aborted"))
    interleave(old, topic, 12)
    produce(old, ended, numbered(7), batch=3)
    transaction(old, ended, [b"a", b"b"])
    transaction(old, aborted, [b"a"], commit=False)
    with link(old, new, name + ".*", mode=ModePolicy.MAPPED) as made:
        with made.running(lease_seconds=1.5):
            lane = made.await_position(topic, 12 * 11)
            assert (lane.mode, lane.lag_records) == (LaneMode.MAPPED, 0)
            assert lane.mode_reason == "the link asks for mapped lanes"
            made.assert_copied(topic)
            made.await_position(ended, 10)
            assert made.assert_copied(ended) == 9
            made.await_position(aborted, 2)
            assert made.assert_copied(aborted) == 0
            for _ in range(4):
                interleave(old, topic, 4)
                made.await_plans(1)
            made.await_position(topic, 28 * 11)
            made.assert_copied(topic)
        assert made.rebuilt(made.lane(topic)) == made.ranges(made.lane(topic).lane)


@pytest.mark.real
def test_compacted_logs_are_copied_with_their_gaps(old: SandboxCluster, new: SandboxCluster) -> None:
    """Gaps inside and between batches, and tombstones, over many short leases."""
    topic, _ = compacted_with_a_gap(old, fresh("compacted"))
    produce(old, topic, [{"key": b"only %d" % n, "value": None} for n in range(3)], batch=2)
    keep_as_it_is(old, topic)
    with link(old, new, topic) as made, made.running(lease_seconds=2):
        end = 28 + len([1])
        made.await_(lambda status: any(lane.lag_records == 0 and lane.position >= end for lane in status.lanes))
        made.assert_copied(topic)


def test_records_stamped_by_the_broker_keep_those_times(old: SandboxCluster, new: SandboxCluster) -> None:
    """LogAppendTime batches arrive with the source's times as the records' own."""
    topic = create(old, fresh("stamped"), configs={"message.timestamp.type": "LogAppendTime"})
    produce(old, topic, numbered(7), batch=3, codec="lz4")
    configure(old, topic, {"message.timestamp.type": "CreateTime"})
    produce(old, topic, numbered(3, first=7))
    with link(old, new, topic) as made, made.running():
        made.await_position(topic, 10)
        assert made.assert_copied(topic) == 10


def test_a_log_that_starts_above_zero_is_copied_from_its_start(old: SandboxCluster, new: SandboxCluster) -> None:
    """In the middle of a batch, too: what lies before it in the batch is left out."""
    topic = create(old, fresh("headless"))
    produce(old, topic, numbered(20), batch=10)
    delete_records(old, topic, 13)
    with link(old, new, topic) as made, made.running():
        made.await_position(topic, 20)
        assert made.assert_copied(topic) == 7
