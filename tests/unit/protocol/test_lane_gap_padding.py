"""Filling gaps: one marker for each offset, after a gap record that every owner would write alike, within a budget."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from anabranch.model.lane import LaneMode
from anabranch.protocol import (
    Claim,
    ClaimState,
    GapRecordLog,
    LaneStopped,
    LogEnd,
    Ownership,
    OwnershipEnded,
    Pause,
    ReadEnd,
)
from anabranch.protocol.effects import AppendGapRecords, EmptyTransaction, PaddingProducer, StartPadding
from anabranch.protocol.endings import Ending
from anabranch.protocol.gap_padding import PADDING_BURST, OffsetGap, PaddingBudget, fill, gap_records_over
from anabranch.protocol.gap_records import GapRecord, OffsetSpan

pytestmark = pytest.mark.unit

CLAIM = Claim("t-0", 9, LaneMode.IDENTITY, "me", None, 0, ClaimState.CLAIMED, 0, 0)
OWNERSHIP = Ownership("t-0", LaneMode.IDENTITY, CLAIM, 1, 4, 1 << 30, 50, 50, 50, 50, None, frozenset(), "young")


@dataclass
class Target:
    """A log that ends somewhere, and a coordinator; ``extra`` markers come with the first."""

    end: int = 50
    code: int = 0
    started: int = 0
    lag: int = 0
    extra: int = 0
    known: bool = True
    asked: list[Any] = field(default_factory=list)

    def run(self, steps: Any) -> None:
        """Drive the filling to its end."""
        answer = None
        while True:
            try:
                effect = steps.send(answer)
            except StopIteration:
                return
            self.asked.append(effect)
            answer = self.perform(effect)

    def perform(self, effect: Any) -> Any:
        match effect:
            case AppendGapRecords():
                return self.known
            case StartPadding():
                return PaddingProducer(self.started, 900, 3)
            case EmptyTransaction():
                self.end += 1 + self.extra
                self.extra = 0
                return self.code
            case ReadEnd():
                return LogEnd(0, self.end - self.lag, self.end)
            case Pause():
                return None
        raise AssertionError(effect)

    def count(self, kind: type) -> int:
        """How often something was asked for."""
        return sum(isinstance(one, kind) for one in self.asked)


GAP = OffsetGap(50, 53, 50)


def test_each_offset_of_a_gap_takes_one_marker_after_the_gap_record_and_the_fence() -> None:
    """In this order, until the log ends where the gap does."""
    target = Target()
    target.run(fill(OWNERSHIP, GAP, gap_records_over(OWNERSHIP, GAP, has_gap_record=True)))
    assert target.end == 53 and target.count(EmptyTransaction) == 3
    kinds = [type(one) for one in target.asked if not isinstance(one, ReadEnd)]
    assert kinds[:3] == [AppendGapRecords, StartPadding, EmptyTransaction]


def test_what_others_have_filled_is_not_filled_again() -> None:
    """The end is read after the fence."""
    target = Target(end=52)
    target.run(fill(OWNERSHIP, GAP, ()))
    assert target.end == 53 and target.count(EmptyTransaction) == 1


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (Target(extra=1), Ending.BASE_OFFSET),
        (Target(end=54), Ending.BASE_OFFSET),
        (Target(code=90), Ending.FENCED),
        (Target(known=False), Ending.JOURNAL),
        (Target(started=53), Ending.NOT_IDENTITY),
        (Target(started=29), Ending.NOT_IDENTITY),
        (Target(started=31), Ending.NOT_IDENTITY),
        (Target(started=51), Ending.BROKER),
        (Target(code=29), Ending.NOT_IDENTITY),
        (Target(code=31), Ending.NOT_IDENTITY),
        (Target(code=53), Ending.NOT_IDENTITY),
        (Target(end=49), Ending.UNSETTLED),
        (Target(lag=1), Ending.UNSETTLED),
    ],
)
def test_any_doubt_ends_the_ownership(target: Target, reason: Ending) -> None:
    """A doubled marker, another owner, a gap record that may not be written; without the permission the lane is
    mapped.
    """
    with pytest.raises(OwnershipEnded) as ended:
        target.run(fill(OWNERSHIP, GAP, gap_records_over(OWNERSHIP, GAP, has_gap_record=True)))
    assert ended.value.reason is reason


def test_a_gap_record_without_a_gap_is_written_and_no_marker() -> None:
    """The lane's numbering may jump where no offset lies between."""
    target = Target()
    gap = OffsetGap(50, 50, 50)
    target.run(fill(OWNERSHIP, gap, gap_records_over(OWNERSHIP, gap, has_gap_record=True)))
    assert [type(one) for one in target.asked] == [AppendGapRecords] and target.end == 50


def test_what_is_needed_to_fill_a_gap_is_named() -> None:
    """With the transactional id that all owners of the lane share, and the offset that the gap begins behind."""
    with pytest.raises(OwnershipEnded) as ended:
        Target(started=53).run(fill(OWNERSHIP, GAP, ()))
    assert "after offset 49" in str(ended.value)
    assert "WRITE on transactional id anabranch.t-0.fill" in str(ended.value)
    assert ended.value.code == 53


@pytest.mark.parametrize("target", [Target(started=87), Target(code=87)])
def test_a_lasting_refusal_to_fill_stops_the_lane_before_the_gap(target: Target) -> None:
    """Going on would leave records out."""
    with pytest.raises(LaneStopped) as stopped:
        target.run(fill(OWNERSHIP, GAP, ()))
    assert (stopped.value.offset, stopped.value.code) == (50, 87)


def test_two_owners_write_the_same_gap_records_for_the_same_gap() -> None:
    """Whatever they know of each other; a batch before and behind is told by them."""
    first = gap_records_over(OWNERSHIP, GAP, has_gap_record=False)
    assert gap_records_over(OWNERSHIP, GAP, has_gap_record=True) == first[1:]
    log = GapRecordLog((at, gap_record.key, gap_record) for at, gap_record in enumerate(first))
    assert log.tell("t-0", 9, 40, 10, 0) == (OffsetSpan(40, 10),)
    assert log.tell("t-0", 9, 50, 4, 0) == (OffsetSpan(53, 4),)


def test_a_gap_before_the_first_record_is_the_first_gap_record() -> None:
    """It begins at the lane's start."""
    ownership = replace(OWNERSHIP, claim=replace(CLAIM, start=50))
    assert gap_records_over(ownership, GAP, has_gap_record=False) == (GapRecord("t-0", 9, 50, 0, (OffsetSpan(53, 1),)),)


def test_a_budget_is_spent_and_comes_back_and_says_how_long_it_would_take() -> None:
    """A burst at once; what an estimate says is coming counts before any of it is filled."""
    budget = PaddingBudget(0.0)
    assert budget.take(OffsetGap(0, PADDING_BURST, 0), 0, 0.0) == ""
    assert "2 offsets without a record after offset 4" in budget.take(OffsetGap(5, 7, 5), 0, 0.0)
    assert budget.take(OffsetGap(5, 7, 5), 0, 1.0) == ""
    why = PaddingBudget(0.0).take(OffsetGap(5, 7, 5), 5000, 0.0)
    assert "about 5,000 offsets" in why and "100 s" in why
