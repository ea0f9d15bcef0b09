"""What changes while a link runs, and what must not: wanted state, topics, configs, and what ``link show`` says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import KafkaException

from anabranch.model.configs import LONG_MAX
from anabranch.model.lane import LaneState
from anabranch.model.link import UnknownLinkError
from anabranch.model.plugins import PluginSpec
from anabranch.sandbox import SandboxCluster
from qa import links as engine
from tests.integration.links.lab import TIMEOUT_S, Link, link
from tests.integration.links.topics import (
    OLD_MS,
    configs_of,
    configure,
    create,
    ends,
    fresh,
    grow,
    newest_offset,
    numbered,
    produce,
)

pytestmark = pytest.mark.test

HELD = {
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "message.timestamp.before.max.ms": LONG_MAX,
    "message.timestamp.after.max.ms": LONG_MAX,
}


def await_configs(cluster: SandboxCluster, topic: str, wanted: dict[str, str]) -> dict[str, str]:
    """Wait until a topic has these settings; returns all that were made on it."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            found = configs_of(cluster, topic)
        except KafkaException as error:
            found = {"error": str(error)}
        if wanted.items() <= found.items():
            return found
        assert time.monotonic() < deadline, (found, wanted)
        time.sleep(0.2)


def await_expired(cluster: SandboxCluster) -> None:
    """Wait until the cluster has looked for records that are too old, and taken those of a topic that nobody holds."""
    topic = create(cluster, fresh("expires"), configs={"retention.ms": "604800000", "segment.ms": "1000"})
    produce(cluster, topic, numbered(50, timestamp=OLD_MS), batch=10)
    deadline = time.monotonic() + TIMEOUT_S
    while ends(cluster, topic)[0] == 0:
        assert time.monotonic() < deadline, "nothing expires"
        time.sleep(0.2)


@contextmanager
def running_until_deleted(made: Link) -> Iterator[None]:
    """A run with short leases that ends because its link is deleted in the block."""
    with pytest.raises(UnknownLinkError), made.running(lease_seconds=1.5) as run:  # noqa: PT012
        yield
        run.await_failure()


@pytest.mark.real
def test_pause_filter_and_resume_take_hold_inside_a_lease(old: SandboxCluster, new: SandboxCluster) -> None:
    """A paused link takes nothing, not even later; a topic that is filtered out stands still; all of it goes on."""
    kept, left = create(old, fresh("kept")), create(old, fresh("left"))
    with link(old, new, [kept, left]) as made, made.running(lease_seconds=60):
        produce(old, kept, numbered(10))
        produce(old, left, numbered(10))
        made.await_position(kept, 10)
        made.await_position(left, 10)

        engine.pause(made.target, made.id)
        made.await_(lambda status: all(lane.state is LaneState.PAUSED for lane in status.lanes))
        produce(old, kept, numbered(10, first=10))
        made.await_(lambda status: any(lane.source.topic == kept and lane.lag_records == 10 for lane in status.lanes))
        made.await_rounds(kept)
        assert newest_offset(new, kept) == 10
        assert made.lane(kept).state is LaneState.PAUSED

        engine.resume(made.target, made.id)
        made.await_position(kept, 20)

        engine.set_wanted(made.target, made.id, filter=PluginSpec("regex", {"include": [kept]}))
        made.await_(lambda status: status.plan is not None and status.plan.lanes == 1)
        produce(old, left, numbered(10, first=10))
        produce(old, kept, numbered(10, first=20))
        made.await_position(kept, 30)
        assert newest_offset(new, left) == 10
        engine.set_wanted(made.target, made.id, filter=PluginSpec("regex", {"include": [kept, left]}))
        made.await_position(left, 20)
        for topic in (kept, left):
            made.assert_copied(topic)


def test_a_rate_limit_takes_hold_inside_a_lease_and_is_lifted_again(old: SandboxCluster, new: SandboxCluster) -> None:
    """At three kilobytes a second the link is far behind; without the limit it catches up in the same lease."""
    topic = create(old, fresh("slow"))
    produce(old, topic, [{"value": b"x" * 1000} for _ in range(1000)], batch=10)
    with link(old, new, topic, rate_limit=3_000) as made, made.running(lease_seconds=600):
        made.await_position(topic, 10)
        lane = made.await_rounds(topic)
        assert 10 <= lane.position < 1000
        made.await_(lambda status: status.lanes[0].bytes_per_s > 0)
        lane = made.lane(topic)
        assert lane.bytes_per_s < 60_000 and lane.position < 1000
        engine.set_wanted(made.target, made.id, rate_limit=None)
        made.await_position(topic, 1000)
        made.assert_copied(topic)


def test_new_topics_partitions_and_configs_follow_without_a_restart(old: SandboxCluster, new: SandboxCluster) -> None:
    """Topics come with their partitions and explicit configs; growth and changes follow; two settings stay ours."""
    name = fresh("follow")
    first = create(
        old,
        name + "-a",
        3,
        {"retention.ms": "3600000000", "max.message.bytes": "2000000", "compression.type": "zstd"},
    )
    with link(old, new, name + "-.*", replication_factor=1) as made, running_until_deleted(made):
        await_configs(new, first, {"max.message.bytes": "2000000", **HELD})
        assert "compression.type" not in configs_of(new, first)
        second = create(old, name + "-b", 2, {"cleanup.policy": "compact,delete"})
        produce(old, second, [{"key": b"k", "value": b"v", "partition": p} for p in (0, 1)])
        made.await_position(second, 1, 1)
        assert configs_of(new, second)["cleanup.policy"] == "compact,delete"

        grow(old, first, 5)
        changes = {"max.message.bytes": "1500000", "retention.ms": "7200000", "message.timestamp.type": "LogAppendTime"}
        configure(old, first, changes)
        await_configs(new, first, {"max.message.bytes": "1500000", **HELD})
        assert configs_of(new, first)["message.timestamp.type"] == "CreateTime"
        configure(old, first, {"message.timestamp.type": None, "max.message.bytes": None})
        produce(old, first, [{"value": b"v", "partition": 4}])
        made.await_position(first, 1, 4)
        deadline = time.monotonic() + TIMEOUT_S
        while "max.message.bytes" in configs_of(new, first):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        made.await_(lambda status: len(status.lanes) == 7)

        plan = engine.plan_delete(made.target, made.id)
        assert plan.restore[first]["retention.ms"] == "7200000"
        engine.delete(made.target, made.id)
    with pytest.raises(UnknownLinkError):
        engine.show(made.target, made.id)
    assert await_configs(new, first, {"retention.ms": "7200000"}) == {"retention.ms": "7200000"}


def test_old_timestamps_do_not_vanish_while_the_link_runs_and_do_when_it_is_deleted(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """The target's retention is held open over its checks; the wanted retention comes back with the deletion."""
    topic = create(old, fresh("history"), configs={"segment.ms": "1000"})
    produce(old, topic, numbered(50, timestamp=OLD_MS), batch=10)
    # The source says a week now and checks once a second, but its active segment keeps the records for the test.
    with link(old, new, topic) as made:
        with made.running():
            made.await_position(topic, 50)
            made.assert_copied(topic)
            configure(old, topic, {"retention.ms": "604800000"})
        with made.running(lease_seconds=1.5):
            for _ in range(2):  # the second one came after a check, and is taken by the next
                await_expired(new)
            assert ends(new, topic)[0] == 0
            assert configs_of(new, topic)["retention.ms"] == "-1"
            made.await_(
                lambda status: engine.plan_delete(made.target, made.id).restore[topic]["retention.ms"] == "604800000"
            )
        assert not engine.delete(made.target, made.id).findings
    deadline = time.monotonic() + TIMEOUT_S
    while ends(new, topic)[0] == 0:
        assert time.monotonic() < deadline, "the wanted retention does not hold after the deletion"
        time.sleep(0.3)


def test_show_counts_what_was_copied_and_what_is_behind(old: SandboxCluster, new: SandboxCluster) -> None:
    """Positions, ends, records, bytes and lags of a link that is caught up, then paused behind its source."""
    topic = create(old, fresh("shown"))
    produce(old, topic, numbered(100), batch=10)
    with link(old, new, topic) as made:
        assert (made.status().running, made.status().lanes) == (False, ())
        with made.running():
            made.await_position(topic, 100)
            made.await_(lambda status: status.lanes[0].state is LaneState.FOLLOWING)
            lane = made.lane(topic)
            assert (lane.position, lane.high_watermark, lane.target_end, lane.records) == (100, 100, 100, 100)
            assert (lane.lag_records, lane.lag_bytes, lane.lag_seconds) == (0, 0, 0.0)
            assert 100 * 15 < lane.bytes < 100 * 60
            assert made.status().running
            engine.set_wanted(made.target, made.id, rate_limit=1)
            engine.pause(made.target, made.id)
            made.await_(lambda status: status.lanes[0].state is LaneState.PAUSED)  # who obeys has read of the limit too
            produce(old, topic, numbered(60, first=100, timestamp=int(time.time() * 1000) - 60_000), batch=10)
            engine.resume(made.target, made.id)
            status = made.await_(
                lambda status: status.lanes[0].high_watermark == 160 and status.lanes[0].lag_seconds is not None
            )
            lane = status.lanes[0]
            assert lane.lag_records == 160 - lane.position > 0
            assert lane.lag_bytes == pytest.approx(lane.lag_records * lane.bytes / lane.records, rel=0.005)
            assert lane.lag_seconds is not None
            assert 50 < lane.lag_seconds < 600
        with made.running():
            pass
        assert made.lane(topic).records == made.lane(topic).position


def test_a_source_that_grows_behind_a_pause_shows_as_lag(old: SandboxCluster, new: SandboxCluster) -> None:
    """A paused link still tells how far it is behind."""
    topic = create(old, fresh("behind"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made, made.running():
        made.await_position(topic, 10)
        engine.pause(made.target, made.id)
        made.await_(lambda status: status.lanes[0].state is LaneState.PAUSED)
        produce(old, topic, numbered(25, first=10))
        status = made.await_(lambda status: status.lanes[0].lag_records == 25)
        assert status.lanes[0].position == 10


def test_a_deleted_link_ends_its_workers(old: SandboxCluster, new: SandboxCluster) -> None:
    """Workers of a link that is deleted while it runs write nothing more, and file nothing back."""
    topic = create(old, fresh("ended"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made:
        with pytest.raises(UnknownLinkError), made.running() as run:  # noqa: PT012
            made.await_position(topic, 10)
            engine.delete(made.target, made.id)
            run.await_end()
            produce(old, topic, numbered(10, first=10))  # its workers are closed: what they had sent was answered
            assert newest_offset(new, topic) == 10
        assert all(status.spec.id != made.id for status in engine.list_links(made.target))
        made.create()
        assert made.status().lanes == ()
