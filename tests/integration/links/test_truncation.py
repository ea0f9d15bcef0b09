"""A source that loses records to an unclean election: noticed by its leader epoch, never papered over.

On simulated clusters `tests/simulation/test_unclean_source.py` shows the same, at any moment, in the tier `test`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress

import pytest
from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import NewTopic

from anabranch.model.decisions import Cause
from anabranch.model.lane import LaneProgress, LaneState
from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa import links as engine
from qa.brokers import create_topics, retry
from qa.logcompare import read_log
from qa.timeouts import SCALE
from tests.integration.links.lab import TIMEOUT_S, Link, link
from tests.integration.links.test_decisions import values, values_of
from tests.integration.links.topics import admin, fresh, newest_offset, numbered, produce

pytestmark = pytest.mark.full
ANSWER_S = 5.0 * SCALE
"""For one answer; it is asked for again."""

LEADER, FOLLOWER = 2, 3


@pytest.fixture(scope="module")
def trio() -> Iterator[SandboxCluster]:
    """Three brokers: the first is the controller, the second leads what is written here, the third follows."""
    overrides = {
        "min.insync.replicas": "1",
        "replica.lag.time.max.ms": "3000",
        "log.cleaner.backoff.ms": "200",
        # A leader that is only slow must not lose what it leads.
        "broker.session.timeout.ms": "9000",
    }
    spec = ClusterSpec("trio", brokers=3, overrides=overrides)
    with SandboxCluster.start(spec) as running:
        yield running


COMPACTED = {"cleanup.policy": "compact", "segment.ms": "300", "min.cleanable.dirty.ratio": "0.01"}


def replicated(cluster: SandboxCluster, name: str, config: Mapping[str, str] | None = None) -> str:
    """A topic of one partition on the leader and the follower."""
    settings = {"retention.ms": "-1", **(config or {})}
    topic = NewTopic(name, num_partitions=1, replica_assignment=[[LEADER, FOLLOWER]], config=settings)
    create_topics(cluster, [topic])
    await_isr(cluster, name, {LEADER, FOLLOWER})
    return name


def await_isr(cluster: SandboxCluster, topic: str, wanted: set[int], leader: int = LEADER) -> None:
    """Wait until the partition has this leader and these replicas in sync."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        found = retry(lambda: admin(cluster).list_topics(timeout=ANSWER_S).topics.get(topic))
        part = found.partitions.get(0) if found is not None else None
        if part is not None and (part.leader, set(part.isrs)) == (leader, wanted):
            return
        assert time.monotonic() < deadline, (part and (part.leader, part.isrs), wanted)
        time.sleep(0.1)


def lose_what_the_follower_lacks(cluster: SandboxCluster, topic: str) -> None:
    """The leader dies and stays dead; the follower, which was away, is elected uncleanly by request."""
    cluster.broker(LEADER).kill()
    cluster.broker(FOLLOWER).start()
    deadline = time.monotonic() + TIMEOUT_S
    while retry(lambda: admin(cluster).list_topics(timeout=ANSWER_S).topics[topic].partitions[0].leader) != FOLLOWER:
        assert time.monotonic() < deadline, "the follower was never elected"
        with suppress(KafkaException, TimeoutError):  # not yet: the controller still takes the dead one for alive
            admin(cluster).elect_leaders(ElectionType.UNCLEAN, [TopicPartition(topic, 0)]).result(ANSWER_S)
        time.sleep(0.3)
    await_isr(cluster, topic, {FOLLOWER}, FOLLOWER)


@pytest.fixture
def whole(trio: SandboxCluster) -> Iterator[SandboxCluster]:
    """The three brokers, all of them up again after the test."""
    yield trio
    for node in (LEADER, FOLLOWER):
        if not trio.broker(node).alive:
            trio.broker(node).start()
    trio.wait_ready()


def assert_truncated(made: Link, topic: str, lane: LaneProgress) -> None:
    """It stopped with the exact range, stops again when resumed, and goes on behind it once that was accepted."""
    for _ in range(2):
        assert (lane.state, lane.position, lane.stop_offset) == (LaneState.STOPPED, 30, 10)
        assert "the source lost offsets 10 to 29; the target holds them" in str(lane.stop_reason)
        engine.resume(made.target, made.id)
        made.await_rounds(topic, rounds=4)  # by then its owner has read of it, and looked at the source again
        lane = made.await_stopped(topic)
    (choice,) = made.accept(f"{topic}:0").pending
    assert (choice.cause, choice.twice, choice.given_up) == (Cause.SOURCE_TRUNCATED, (10, 30), None)
    assert (choice.lane.generation, choice.decision.start) == (1, 10)
    after = made.await_position(topic, 50)
    assert after.lane == choice.lane
    assert values(made.new, topic) == [*values_of(range(30)), *values_of(range(100, 140))]
    assert [(run.source, run.length) for run in made.ranges(lane.lane)] == [(0, 30)]
    assert [(run.source, run.length) for run in made.ranges(after.lane)] == [(10, 40)]
    assert made.ranges(after.lane)[0].target >= 30


@pytest.mark.parametrize("reading", [True, False], ids=["while it is read", "while nobody reads"])
def test_records_that_the_source_lost_are_noticed_though_its_log_has_grown_past_them(
    whole: SandboxCluster, new: SandboxCluster, reading: bool
) -> None:
    """The new log is longer than what was copied, so only the epoch of the last record tells."""
    topic = replicated(whole, fresh("lost"))
    produce(whole, topic, numbered(10))
    with link(whole, new, topic) as made:
        with made.running():
            made.await_position(topic, 10)
            whole.broker(FOLLOWER).kill()
            await_isr(whole, topic, {LEADER})
            produce(whole, topic, numbered(20, first=10))
            made.await_position(topic, 30)
            if reading:
                engine.pause(made.target, made.id)
                made.await_(lambda status: status.lanes[0].state is LaneState.PAUSED)
                lose_what_the_follower_lacks(whole, topic)
                produce(whole, topic, numbered(40, first=100))
                engine.resume(made.target, made.id)
                assert_truncated(made, topic, made.await_stopped(topic))
                return
        lose_what_the_follower_lacks(whole, topic)
        produce(whole, topic, numbered(40, first=100))
        with made.running():
            assert_truncated(made, topic, made.await_stopped(topic))


def restart(cluster: SandboxCluster, node: int) -> None:
    """A broker ends and begins: whatever it leads has a new leader epoch."""
    cluster.broker(node).stop()
    cluster.broker(node).start()
    cluster.wait_ready()


def keyed(*keys: str) -> list[dict[str, bytes]]:
    """Records with these keys, each with a value of its own."""
    return [{"key": key.encode(), "value": f"{key} {time.monotonic_ns()}".encode()} for key in keys]


def await_cleaned(cluster: SandboxCluster, topic: str, offset: int) -> None:
    """Write on until the cleaner has taken the record at this offset, and nothing lies there any more."""
    deadline = time.monotonic() + TIMEOUT_S
    while any(entry.offset == offset for entry in read_log(cluster.client_config(), topic, 0)):
        assert time.monotonic() < deadline, "the cleaner never came"
        produce(cluster, topic, keyed("x", "y"))
        time.sleep(0.5)


@pytest.mark.parametrize("reading", [True, False], ids=["while it is read", "while nobody reads"])
def test_records_that_were_cleaned_away_are_not_taken_for_lost(
    whole: SandboxCluster, new: SandboxCluster, reading: bool
) -> None:
    """A leader that never saw the epoch of the last record that was copied, because its only record was cleaned."""
    topic = replicated(whole, fresh("cleaned"), COMPACTED)
    produce(whole, topic, keyed(*(f"k{number}" for number in range(10))))
    with link(whole, new, topic) as made:
        with made.running():
            made.await_position(topic, 10)
            whole.broker(FOLLOWER).kill()
            await_isr(whole, topic, {LEADER})
            restart(whole, LEADER)
            # The cleaner would keep the empty batch of an idempotent producer, and its epoch with it.
            produce(whole, topic, keyed("x"), settings={"enable.idempotence": False})
            made.await_position(topic, 11)
            if reading:
                engine.pause(made.target, made.id)
                made.await_(lambda status: status.lanes[0].state is LaneState.PAUSED)
                end = lead_without_the_epoch(whole, topic)
                engine.resume(made.target, made.id)
                made.await_position(topic, end)
        if not reading:
            end = lead_without_the_epoch(whole, topic)
            with made.running():
                made.await_position(topic, end)
        copied = [entry.digest for entry in read_log(new.client_config(), topic, 0)]
        left = [entry.digest for entry in read_log(whole.client_config(), topic, 0)]
        assert len(copied) == len(set(copied))
        assert set(left) <= set(copied)


def lead_without_the_epoch(cluster: SandboxCluster, topic: str) -> int:
    """Offset 10, alone in its epoch, is cleaned; then the follower comes back and leads. The log's end."""
    restart(cluster, LEADER)
    await_cleaned(cluster, topic, 10)
    cluster.broker(FOLLOWER).start()
    await_isr(cluster, topic, {LEADER, FOLLOWER})
    cluster.broker(LEADER).stop()
    await_isr(cluster, topic, {FOLLOWER}, FOLLOWER)
    produce(cluster, topic, keyed("last"))
    return newest_offset(cluster, topic)
