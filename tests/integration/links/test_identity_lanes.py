"""Target offset = source offset wherever that can be had: logs that start above zero, gaps of transactions."""

from __future__ import annotations

import pytest

from anabranch.model.lane import LaneMode
from anabranch.protocol import gap_padding, head_padding
from anabranch.sandbox import SandboxCluster
from tests.integration.links.identity import assert_equal_offsets, begin_at, log_start
from tests.integration.links.lab import link
from tests.integration.links.topics import OLD_MS, create, fresh, newest_offset, numbered, produce, transaction

pytestmark = pytest.mark.test
FAR = 5_000_000


@pytest.mark.real
def test_a_log_that_starts_at_five_million_is_copied_to_the_same_offsets(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """The target log is padded and begins where the source's does; leases that end in between change nothing."""
    topic = create(old, fresh("far"))
    begin_at(old, topic, FAR)
    produce(old, topic, numbered(60), batch=7)
    with link(old, new, topic) as made, made.running(lease_seconds=0.5):
        lane = made.await_position(topic, FAR + 60)
        assert lane.mode is LaneMode.IDENTITY, lane.mode_reason
        assert "target offsets are the source's" in lane.mode_reason
        assert log_start(new, topic) == FAR
        assert made.assert_copied(topic) == 60
        assert_equal_offsets(old, new, topic)
        produce(old, topic, numbered(60, first=60), batch=7)
        made.await_position(topic, FAR + 120)
        assert made.assert_copied(topic) == 120
        assert [(run.source, run.target, run.length) for run in made.ranges(lane.lane)] == [(FAR, FAR, 120)]


@pytest.mark.real
@pytest.mark.full
def test_two_runs_pad_the_same_head(old: SandboxCluster, new: SandboxCluster) -> None:
    """Whoever is first at each offset: both make the same log."""
    topic = create(old, fresh("far"))
    begin_at(old, topic, 3_000_000)
    produce(old, topic, numbered(60), batch=7)
    with link(old, new, topic) as made, made.running(lease_seconds=0.4), made.running(lease_seconds=0.3):
        for turn in range(1, 5):
            made.await_position(topic, 3_000_000 + 60 * turn)
            produce(old, topic, numbered(60, first=60 * turn), batch=7)
        lane = made.await_position(topic, 3_000_000 + 300)
        assert lane.mode is LaneMode.IDENTITY, lane.mode_reason
        assert made.assert_copied(topic) == 300
        assert_equal_offsets(old, new, topic)


def test_a_head_that_is_too_long_to_pad_is_mapped_with_the_reason(
    old: SandboxCluster, new: SandboxCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is written."""
    monkeypatch.setattr(head_padding, "PAD_LIMIT", 1000)
    topic = create(old, fresh("far"))
    begin_at(old, topic, 1001)
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made, made.running():
        lane = made.await_position(topic, 1011)
        assert lane.mode is LaneMode.MAPPED
        assert "starts at source offset 1,001" in lane.mode_reason and "1,000 offsets at most" in lane.mode_reason
        assert made.assert_copied(topic) == 10


def test_an_empty_log_that_starts_above_zero_waits_at_its_end(old: SandboxCluster, new: SandboxCluster) -> None:
    """The first record, whenever it comes, has the same offset on both sides."""
    topic = create(old, fresh("far"))
    begin_at(old, topic, 12_345)
    with link(old, new, topic) as made, made.running():
        made.await_(lambda status: any(lane.position == 12_345 for lane in status.lanes))
        made.await_rounds(topic)
        produce(old, topic, numbered(3))
        assert made.await_position(topic, 12_348).mode is LaneMode.IDENTITY
        assert_equal_offsets(old, new, topic)


@pytest.mark.real
def test_a_log_with_few_transactions_is_copied_to_the_same_offsets(old: SandboxCluster, new: SandboxCluster) -> None:
    """Markers and aborted records become empty transactions, over many short leases."""
    topic = create(old, fresh("few"))
    produce(old, topic, numbered(200), batch=20)
    with link(old, new, topic) as made, made.running(lease_seconds=0.7):
        for turn in range(8):
            transaction(old, topic, [b"%d a" % turn, b"%d b" % turn], commit=turn % 3 != 1)
            transaction(old, topic, [b"%d c" % turn])
            produce(old, topic, numbered(30, first=1000 * turn), batch=11)
        end = newest_offset(old, topic)
        lane = made.await_position(topic, end)
        assert lane.mode is LaneMode.IDENTITY, lane.mode_reason
        made.assert_copied(topic)
        assert assert_equal_offsets(old, new, topic) == 200 + 8 * 31 + 2 * 5
    assert made.rebuilt(lane) == made.ranges(lane.lane)


def test_a_log_that_begins_with_aborted_records_is_copied_to_the_same_offsets(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """Before the first record, and with the markers of an earlier lease at the log's end."""
    topic = create(old, fresh("begins"))
    transaction(old, topic, [b"a"] * 20, commit=False)
    with link(old, new, topic) as made, made.running(lease_seconds=1):
        made.await_(lambda status: any(lane.position == 21 for lane in status.lanes))
        transaction(old, topic, [b"b"])
        made.await_(lambda status: any(lane.position == 23 for lane in status.lanes))
        made.await_plans()
        transaction(old, topic, [b"c"], commit=False)
        transaction(old, topic, [b"d"])
        lane = made.await_position(topic, 27)
        assert lane.mode is LaneMode.IDENTITY, lane.mode_reason
        assert assert_equal_offsets(old, new, topic) == 2


def test_two_runs_fill_the_same_gaps(old: SandboxCluster, new: SandboxCluster) -> None:
    """One waits, takes over and is taken over from: no gap is filled twice."""
    topic = create(old, fresh("few"))
    with link(old, new, topic) as made, made.running(lease_seconds=0.4), made.running(lease_seconds=0.3):
        for turn in range(12):
            transaction(old, topic, [b"%d a" % turn] * 3, commit=turn % 3 != 1)
            produce(old, topic, numbered(5, first=1000 * turn))
            made.await_plans(1)
        lane = made.await_position(topic, newest_offset(old, topic))
        assert lane.mode is LaneMode.IDENTITY, lane.mode_reason
        made.assert_copied(topic)
        assert_equal_offsets(old, new, topic)


def test_a_log_with_many_gaps_is_mapped_with_the_reason(
    old: SandboxCluster, new: SandboxCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told before the first of them is filled."""
    monkeypatch.setattr(gap_padding, "PADDING_BURST", 10)
    topic = create(old, fresh("many"))
    produce(old, topic, numbered(5))
    transaction(old, topic, [b"a"] * 20, commit=False)
    produce(old, topic, numbered(5, first=5))
    with link(old, new, topic) as made, made.running():
        lane = made.await_position(topic, 31)
        assert lane.mode is LaneMode.MAPPED
        assert "21 offsets without a record after offset 4" in lane.mode_reason
        assert made.assert_copied(topic) == 10


def test_a_lane_with_filled_gaps_turns_mapped_when_an_old_record_arrives(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """The jumps that were written for its gaps tell where it stood."""
    topic = create(old, fresh("turning"))
    for turn in range(4):
        transaction(old, topic, [b"%d" % turn] * 3)
    with link(old, new, topic) as made, made.running(lease_seconds=2):
        assert made.await_position(topic, 16).mode is LaneMode.IDENTITY
        produce(old, topic, numbered(10, timestamp=OLD_MS))
        made.await_position(topic, 26)
        made.await_(lambda status: status.lanes[0].mode is LaneMode.MAPPED)
        transaction(old, topic, [b"after"] * 3)
        lane = made.await_position(topic, 30)
        assert made.assert_copied(topic) == 25
        assert made.rebuilt(lane) == made.ranges(lane.lane)
