"""A source that loses records to an unclean election: noticed by its leader epoch, never papered over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import NewTopic
from tests.integration.links.lab import Link, link
from tests.integration.links.test_decisions import values, values_of
from tests.integration.links.topics import admin, fresh, numbered, produce

from anabranch.engine import links as engine
from anabranch.model.decisions import Cause
from anabranch.model.lane import LaneProgress, LaneState
from anabranch.sandbox import Cluster, ClusterSpec

pytestmark = pytest.mark.integration

LEADER, FOLLOWER = 2, 3


@pytest.fixture(scope="module")
def trio() -> Iterator[Cluster]:
    """Three brokers: the first is the controller, the second leads what is written here, the third follows."""
    spec = ClusterSpec("trio", brokers=3, overrides={"min.insync.replicas": "1", "replica.lag.time.max.ms": "3000"})
    with Cluster.start(spec) as running:
        yield running


def replicated(cluster: Cluster, name: str) -> str:
    """A topic of one partition on the leader and the follower."""
    topic = NewTopic(name, num_partitions=1, replica_assignment=[[LEADER, FOLLOWER]], config={"retention.ms": "-1"})
    admin(cluster).create_topics([topic])[name].result(30)
    await_isr(cluster, name, {LEADER, FOLLOWER})
    return name


def await_isr(cluster: Cluster, topic: str, wanted: set[int], leader: int = LEADER) -> None:
    """Wait until the partition has this leader and these replicas in sync."""
    deadline = time.monotonic() + 60
    while True:
        found = admin(cluster).list_topics(timeout=20).topics.get(topic)
        part = found.partitions.get(0) if found is not None else None
        if part is not None and (part.leader, set(part.isrs)) == (leader, wanted):
            return
        assert time.monotonic() < deadline, (part and (part.leader, part.isrs), wanted)
        time.sleep(0.1)


def lose_what_the_follower_lacks(cluster: Cluster, topic: str) -> None:
    """The leader dies and stays dead; the follower, which was away, is elected uncleanly by request."""
    cluster.broker(LEADER).kill()
    cluster.broker(FOLLOWER).start()
    deadline = time.monotonic() + 60
    while admin(cluster).list_topics(timeout=20).topics[topic].partitions[0].leader != FOLLOWER:
        assert time.monotonic() < deadline, "the follower was never elected"
        with suppress(KafkaException, TimeoutError):  # not yet: the controller still takes the dead one for alive
            admin(cluster).elect_leaders(ElectionType.UNCLEAN, [TopicPartition(topic, 0)]).result(5)
        time.sleep(0.3)
    await_isr(cluster, topic, {FOLLOWER}, FOLLOWER)


@pytest.fixture
def whole(trio: Cluster) -> Iterator[Cluster]:
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
        before = lane.updated_at_ms
        engine.resume(made.target, made.id)
        time.sleep(3)
        lane = made.await_stopped(topic)
        assert lane.updated_at_ms > before
    (choice,) = made.accept(f"{topic}:0").choices
    assert (choice.cause, choice.twice, choice.given_up) == (Cause.SOURCE_TRUNCATED, (10, 30), None)
    assert (choice.lane.generation, choice.decision.start) == (1, 10)
    after = made.await_position(topic, 50)
    assert after.lane == choice.lane
    assert values(made.new, topic) == [*values_of(range(30)), *values_of(range(100, 140))]
    assert [(run.source, run.length) for run in made.runs(lane.lane)] == [(0, 30)]
    assert [(run.source, run.length) for run in made.runs(after.lane)] == [(10, 40)]
    assert made.runs(after.lane)[0].target >= 30


@pytest.mark.parametrize("reading", [True, False], ids=["while it is read", "while nobody reads"])
def test_records_that_the_source_lost_are_noticed_though_its_log_has_grown_past_them(
    whole: Cluster, new: Cluster, reading: bool
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
