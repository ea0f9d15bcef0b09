"""What a decision may say, and how one follows another."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import InvalidFieldError
from anabranch.model.decisions import LaneDecision, SourcePartition, beginning, skipping
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart, StartKind
from anabranch.model.topics import TopicId, TopicPartition

pytestmark = pytest.mark.unit

TOPIC = TopicId(UUID(int=7))
LANE = LaneKey("link", TOPIC, 3)


@pytest.mark.parametrize(
    ("generation", "start", "skip", "why"),
    [
        (0, None, None, "why"),
        (1, None, (0, 5), "why"),
        (0, None, (5, 5), "why"),
        (0, None, (-1, 5), "why"),
        (0, -1, None, "why"),
        (-1, 0, None, "why"),
        (0, 3, None, ""),
    ],
)
def test_a_decision_that_is_none_is_refused(
    generation: int, start: int | None, skip: tuple[int, int] | None, why: str
) -> None:
    """It decides something, about offsets that there can be, and says why."""
    with pytest.raises(InvalidFieldError):
        LaneDecision("link", SourcePartition(TOPIC, 3), generation, start, skip, 0, why)


@given(st.integers(0, 100), st.integers(0, 50), st.integers(1, 50))
def test_only_a_position_within_what_was_given_up_goes_on_behind_it(position: int, first: int, length: int) -> None:
    """What is lost before the range or behind it was not accepted, and is not skipped."""
    skip = (first, first + length)
    place = TopicPartition("orders", 3)
    lane = LaneAssignment(LANE, place, place, TOPIC, LaneStart(), ModePolicy.AUTO, skip)
    assert lane.onward(position) == (skip[1] if position in range(*skip) else position)


def test_giving_offsets_up_keeps_the_generation_and_its_start() -> None:
    """A lane that began anew and then loses records stays in its generation."""
    again = LaneKey("link", TOPIC, 3, 2)
    before = beginning(again, 40, 1, "truncated")
    after = skipping(before, again, (50, 60), 2, "expired")
    assert (after.lane, after.start, after.skip, after.why) == (again, 40, (50, 60), "expired")
    first = skipping(None, LANE, (5, 6), 2, "expired")
    assert (first.lane, first.start, first.skip) == (LANE, None, (5, 6))
    with pytest.raises(InvalidFieldError):
        skipping(None, again, (5, 6), 2, "expired")


def test_a_decided_start_stands_above_the_links() -> None:
    """Only where a decision says nothing of it, the link's own start holds."""
    latest = LaneStart(StartKind.LATEST)
    assert beginning(LANE, 12, 1, "made again").start_or(latest) == LaneStart(StartKind.OFFSETS, 12)
    assert skipping(None, LANE, (5, 6), 2, "expired").start_or(latest) == latest
