"""Someone else writes to a target partition: the lane goes on exactly, and says who it is."""

from __future__ import annotations

import pytest

from anabranch.model.lane import LaneMode, LaneProgress
from anabranch.model.link import ModePolicy
from anabranch.sandbox import SandboxCluster
from tests.integration.links.lab import link
from tests.integration.links.topics import create, fresh, numbered, produce, transaction

pytestmark = pytest.mark.test

WORDS = "someone else writes to the target partition (producer id "


def named_in(lane: LaneProgress) -> bool:
    """Whether the reason of the mode names a stranger."""
    return WORDS in lane.mode_reason


def test_a_stranger_in_a_mapped_lanes_target_is_named_and_its_records_are_left_out(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """With producer id and offset, once, also over leases; the runs stay exact around its records."""
    topic = create(old, fresh("invaded"))
    produce(old, topic, numbered(10))
    with link(old, new, topic, mode=ModePolicy.MAPPED) as made, made.running(lease_seconds=6):
        lane = made.await_position(topic, 10)
        produce(old, topic, numbered(10, first=10))
        made.await_position(topic, 20)
        assert not named_in(made.lane(topic))
        end = made.lane(topic).target_end
        produce(new, topic, [{"value": b"foreign"}] * 3, batch=3)
        produce(old, topic, numbered(10, first=20))
        made.await_position(topic, 30)
        made.await_(lambda status: named_in(status.lanes[0]))
        lane = made.lane(topic)
        assert lane.mode is LaneMode.MAPPED
        assert f"at offset {end:,})" in lane.mode_reason
        reason = lane.mode_reason
        made.await_(
            lambda status: status.plan is not None and status.lanes[0].updated_at_ms > lane.updated_at_ms + 8000
        )
        transaction(new, topic, [b"foreign too"])
        produce(old, topic, numbered(10, first=30))
        made.await_position(topic, 40)
        assert made.lane(topic).mode_reason == reason
        assert made.assert_copied(topic) == 40
        assert made.rebuilt(lane) == made.ranges(lane.lane)


def test_takeovers_markers_are_no_strangers(old: SandboxCluster, new: SandboxCluster) -> None:
    """What shutting out earlier owners leaves in the log is the lane's own."""
    topic = create(old, fresh("alone"))
    produce(old, topic, numbered(10))
    with link(old, new, topic, mode=ModePolicy.MAPPED) as made:
        for copied in (10, 20, 30):
            with made.running():
                made.await_position(topic, copied)
                produce(old, topic, numbered(10, first=copied))
                made.await_position(topic, copied + 10)
        assert not named_in(made.lane(topic))
        assert made.assert_copied(topic) == 40
