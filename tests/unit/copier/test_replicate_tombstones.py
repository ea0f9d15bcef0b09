"""When a lane is so far behind that the source may drop tombstones before it comes to them."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.tombstones import findings, followed, unchecked
from anabranch.model.topics import TopicId, TopicPartition

pytestmark = pytest.mark.unit

HOUR_MS = 3_600_000
NOW = 1_760_000_000_000
SOURCE_END = 32
A = TopicPartition("orders", 0)
RETENTIONS = {A.topic: 24 * HOUR_MS}
LANE = LaneProgress(
    lane=LaneKey("link", TopicId(UUID(int=7)), 0),
    source=A,
    target=A,
    state=LaneState.FOLLOWING,
    mode=LaneMode.MAPPED,
    mode_reason="",
    position=SOURCE_END,
    log_start=0,
    stable=SOURCE_END,
    high_watermark=SOURCE_END,
    target_end=SOURCE_END,
    records=SOURCE_END,
    bytes=1,
    records_per_s=0.0,
    bytes_per_s=0.0,
    lag_bytes=0,
    lag_seconds=0.0,
    owner="run-1",
    updated_at_ms=NOW,
    source_seen_ms=NOW - 1_000,
)


@pytest.mark.parametrize(
    ("changes", "late"),
    [
        ({}, False),
        ({"source_seen_ms": NOW - 25 * HOUR_MS}, True),
        ({"source_seen_ms": None}, False),
        ({"position": SOURCE_END - 1, "lag_seconds": 23 * 3600.0}, False),
        ({"position": SOURCE_END - 1, "lag_seconds": 25 * 3600.0}, True),
        ({"position": SOURCE_END - 1, "lag_seconds": None}, False),
        ({"position": 0, "lag_seconds": 25 * 3600.0}, False),
    ],
)
def test_a_lane_is_late_where_it_is_behind_for_longer_than_tombstones_stay(
    changes: dict[str, object], late: bool
) -> None:
    """By the age of what it copies next, or since its source was last asked; not before it has copied anything."""
    persisted = replace(LANE, **changes)  # type: ignore[arg-type]
    found = followed({}, [persisted], RETENTIONS, NOW)
    assert found == ({str(LANE.lane): None} if late else {})
    assert followed({}, [persisted], {}, NOW) == {}
    told = findings("link", found, [persisted], RETENTIONS)
    assert len(told) == late
    if late:
        assert f"{A} has been behind by more than delete.retention.ms of the source (24.0 h)" in told[0].what
        assert told[0].fix.endswith("verify start link --fresh"), "what was equal once is looked at again"


def test_a_lane_that_has_caught_up_is_remembered_until_it_was_compared() -> None:
    """Its keys stay alive: up to where its source ended as it was late no more, and that does not move again."""
    key = str(LANE.lane)
    caught_up = followed({key: None}, [LANE], RETENTIONS, NOW)
    assert caught_up == {key: SOURCE_END}
    later = replace(LANE, position=SOURCE_END + 9, stable=SOURCE_END + 9)
    assert followed(caught_up, [later], RETENTIONS, NOW) == {key: SOURCE_END}
    assert followed(caught_up, [later], {}, NOW) == {key: SOURCE_END}, "its topic is compacted no more"
    assert followed(caught_up, [replace(LANE, source_seen_ms=NOW - 25 * HOUR_MS)], RETENTIONS, NOW) == {key: None}
    assert unchecked(caught_up, {}) == unchecked(caught_up, {key: SOURCE_END - 1}) == caught_up
    assert unchecked(caught_up, {key: SOURCE_END}) == {}
    assert unchecked({key: None}, {key: SOURCE_END + 99}) == {key: None}, "it is late still"
    assert "(24.0 h)" not in findings("link", caught_up, [later], {})[0].what


def test_a_lane_that_is_gone_is_remembered_no_more() -> None:
    """Nobody could compare it."""
    assert followed({str(LANE.lane): None}, [], RETENTIONS, NOW) == {}
