"""Target offset = source offset wherever that can be had: logs that start above zero, holes of transactions."""

from __future__ import annotations

import time

import pytest
from tests.integration.links.identity import assert_equal_offsets, begin_at, log_start
from tests.integration.links.lab import link
from tests.integration.links.topics import create, fresh, numbered, produce

from anabranch.model.lane import LaneMode
from anabranch.replicate import headgap
from anabranch.sandbox import Cluster

pytestmark = pytest.mark.integration
FAR = 5_000_000


def test_a_log_that_starts_at_five_million_is_copied_to_the_same_offsets(old: Cluster, new: Cluster) -> None:
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
        assert [(run.source, run.target, run.length) for run in made.runs(lane.lane)] == [(FAR, FAR, 120)]


def test_two_runs_pad_the_same_head(old: Cluster, new: Cluster) -> None:
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
    old: Cluster, new: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is written."""
    monkeypatch.setattr(headgap, "PAD_LIMIT", 1000)
    topic = create(old, fresh("far"))
    begin_at(old, topic, 1001)
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made, made.running():
        lane = made.await_position(topic, 1011)
        assert lane.mode is LaneMode.MAPPED
        assert "starts at source offset 1001" in lane.mode_reason and "1000 offsets at most" in lane.mode_reason
        assert made.assert_copied(topic) == 10


def test_an_empty_log_that_starts_above_zero_waits_at_its_end(old: Cluster, new: Cluster) -> None:
    """The first record, whenever it comes, has the same offset on both sides."""
    topic = create(old, fresh("far"))
    begin_at(old, topic, 12_345)
    with link(old, new, topic) as made, made.running():
        made.await_(lambda status: any(lane.position == 12_345 for lane in status.lanes))
        time.sleep(1)
        produce(old, topic, numbered(3))
        assert made.await_position(topic, 12_348).mode is LaneMode.IDENTITY
        assert_equal_offsets(old, new, topic)
