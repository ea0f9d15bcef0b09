"""Where records are lost or a topic is made again, a lane waits for a person's word, and then goes on exactly."""

from __future__ import annotations

import pytest

from anabranch.errors import InvalidFieldError
from anabranch.model.decisions import Cause
from anabranch.model.lane import LaneMode
from anabranch.model.plans import PlanChangedError
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.offsets.translate import Exact, NoRecord, Unmapped, record_to_target, to_target
from anabranch.operations.links import accept
from anabranch.operations.links.accept import NothingToAcceptError
from anabranch.sandbox import SandboxCluster
from qa import links as engine
from qa.blocking import between
from qa.logcompare import read_log
from tests.integration.links.lab import Link, link
from tests.integration.links.topics import create, delete_records, drop, fresh, numbered, produce

pytestmark = pytest.mark.test


def values(cluster: SandboxCluster, topic: str) -> list[str]:
    """The value of each record of a partition, in order."""
    found = read_log({"bootstrap.servers": cluster.internal_bootstrap}, topic, 0)
    return [entry.preview.partition("=b'")[2].removesuffix("'") for entry in found]


def refuses(made: Link, where: str | None = None) -> None:
    """Nothing waits for a decision."""
    with pytest.raises(NothingToAcceptError):
        engine.accept(made.source, made.target, made.id, where)


@pytest.mark.real
def test_a_lane_goes_on_behind_records_that_expired_once_that_was_accepted(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """It stops with the range, goes on at its end without a restart, and its runs answer for what is missing."""
    topic = create(old, fresh("given-up"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made:
        with made.running():
            made.await_position(topic, 10)
            refuses(made)
        # Not while it is paused: a fetch that waits when the pause comes may still be answered.
        produce(old, topic, numbered(30, first=10), batch=10)
        delete_records(old, topic, 25)
        with made.running():
            made.await_stopped(topic)
            refuses(made, "another-topic")
            seen = engine.plan_accept(made.source, made.target, made.id, f"{topic}-0")
            (choice,) = seen.pending
            assert (choice.cause, choice.given_up, choice.twice) == (Cause.SOURCE_EXPIRED, (10, 25), None)
            assert "offsets 10 to 24 are given up" in choice.means
            delete_records(old, topic, 30)
            with pytest.raises(PlanChangedError):
                between(made.source, made.target, lambda here, there: accept.apply(here, there, seen))
            assert made.accept(topic).pending[0].given_up == (10, 30)
            lane = made.await_position(topic, 40)
            produce(old, topic, numbered(5, first=40))
            lane = made.await_position(topic, 45)
            assert lane.lane.generation == 0
            ranges = made.ranges(lane.lane)
            assert [(run.source, run.length) for run in ranges] == [(0, 10), (30, 15)]
            assert made.rebuilt(lane) == ranges
            found = OffsetMap.of(ranges)
            assert isinstance(record_to_target(found, 12), Unmapped)
            assert to_target(found, 12) == Exact(ranges[1].target, NoRecord.GAP)
            assert values(new, topic) == [*values_of(range(10)), *values_of(range(30, 45))]
            refuses(made)


def values_of(numbers: range) -> list[str]:
    """What ``numbered`` wrote."""
    return [f"record {n}" for n in numbers]


def test_a_source_topic_made_again_is_copied_behind_the_old_one_once_that_was_accepted(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """New lanes under the new topic id, with runs of their own; the old runs stay persisted."""
    topic = create(old, fresh("reborn"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made, made.running(lease_seconds=5):
        before = made.await_position(topic, 10)
        drop(old, topic)
        create(old, topic)
        produce(old, topic, numbered(30, first=500))
        made.await_finding("made again", f"anabranch link accept {made.id} {topic}")
        with pytest.raises(InvalidFieldError):
            engine.accept(made.source, made.target, made.id, f"{topic}-0")
        plan = made.accept(topic)
        assert [choice.cause for choice in plan.pending] == [Cause.SOURCE_MADE_AGAIN]
        assert "copied from its offset 0 on, after the 10 offsets" in plan.pending[0].means
        lane = made.await_position(topic, 30)
        assert lane.lane.topic_id != before.lane.topic_id
        assert len(made.status().lanes) == 1
        assert made.ranges(before.lane) == [MappedRange(0, 0, 10)]
        assert [(run.source, run.length) for run in made.ranges(lane.lane)] == [(0, 30)]
        assert values(new, topic) == [*values_of(range(10)), *values_of(range(500, 530))]
        made.await_(lambda _: made.findings() == "")
        refuses(made)


@pytest.mark.parametrize(("there", "first"), [("made again", 3), ("deleted", 0)])
def test_a_lost_target_topic_is_filled_again_once_that_was_accepted(
    old: SandboxCluster, new: SandboxCluster, there: str, first: int
) -> None:
    """The next generation copies from the start, in a new topic as identity again; what the source lost is named."""
    topic = create(old, fresh("refilled"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made, made.running(lease_seconds=5):
        before = made.await_position(topic, 10)
        assert before.mode is LaneMode.IDENTITY
        drop(new, topic)
        if there == "made again":
            create(new, topic)
        produce(old, topic, numbered(5, first=10))
        if first:
            delete_records(old, topic, first)
        made.await_(
            lambda _: f"topic {topic} was {'deleted and made again' if first else 'deleted'}" in made.findings()
        )
        plan = made.accept()
        (choice,) = plan.pending
        assert choice.cause is (Cause.TARGET_MADE_AGAIN if first else Cause.TARGET_DELETED)
        assert (choice.lane.generation, choice.decision.start) == (1, first)
        assert choice.given_up == ((0, first) if first else None)
        lane = made.await_position(topic, 15)
        assert lane.lane == choice.lane
        assert values(new, topic) == values_of(range(first, 15))
        assert sum(run.length for run in made.ranges(lane.lane)) == 15 - first
        if not first:
            assert lane.mode is LaneMode.IDENTITY, lane.mode_reason
        produce(old, topic, numbered(5, first=15))
        made.await_position(topic, 20)
        assert values(new, topic) == values_of(range(first, 20))
        refuses(made)
