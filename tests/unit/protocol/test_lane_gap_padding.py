"""Filling holes: one marker for each offset, after a jump that every owner would write alike, within a budget."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from anabranch.model.lane import LaneMode
from anabranch.protocol import Claim, ClaimState, JumpLog, LogEnd, Pause, ReadEnd, Tenure, TenureEnded
from anabranch.protocol.effects import AppendJumps, EmptyTransaction, Filler, StartFiller
from anabranch.protocol.endings import Ending
from anabranch.protocol.fill import FILL_BURST, Budget, Hole, fill, jumps_over
from anabranch.protocol.holes import Jump, Stretch

pytestmark = pytest.mark.unit

CLAIM = Claim("t-0", 9, LaneMode.IDENTITY, "me", None, 0, ClaimState.CLAIMED, 0, 0)
TENURE = Tenure("t-0", LaneMode.IDENTITY, CLAIM, 1, 4, 1 << 30, 50, 50, 50, 50, None, frozenset(), "young")


@dataclass
class Target:
    """A log that ends somewhere, and a coordinator; ``extra`` markers come with the first."""

    end: int = 50
    code: int = 0
    started: int = 0
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
            case AppendJumps():
                return self.known
            case StartFiller():
                return Filler(self.started, 900, 3)
            case EmptyTransaction():
                self.end += 1 + self.extra
                self.extra = 0
                return self.code
            case ReadEnd():
                return LogEnd(0, self.end, self.end)
            case Pause():
                return None
        raise AssertionError(effect)

    def count(self, kind: type) -> int:
        """How often something was asked for."""
        return sum(isinstance(one, kind) for one in self.asked)


HOLE = Hole(50, 53, 50)


def test_each_offset_of_a_hole_takes_one_marker_after_the_jump_and_the_fence() -> None:
    """In this order, until the log ends where the hole does."""
    target = Target()
    target.run(fill(TENURE, HOLE, jumps_over(TENURE, HOLE, has_jumped=True)))
    assert target.end == 53 and target.count(EmptyTransaction) == 3
    kinds = [type(one) for one in target.asked if not isinstance(one, ReadEnd)]
    assert kinds[:3] == [AppendJumps, StartFiller, EmptyTransaction]


def test_what_others_have_filled_is_not_filled_again() -> None:
    """The end is read after the fence."""
    target = Target(end=52)
    target.run(fill(TENURE, HOLE, ()))
    assert target.end == 53 and target.count(EmptyTransaction) == 1


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (Target(extra=1), Ending.BASE_OFFSET),
        (Target(end=54), Ending.BASE_OFFSET),
        (Target(code=90), Ending.FENCED),
        (Target(known=False), Ending.JOURNAL),
        (Target(started=53), Ending.NOT_IDENTITY),
        (Target(end=49), Ending.UNSETTLED),
    ],
)
def test_any_doubt_ends_the_tenure(target: Target, reason: Ending) -> None:
    """A doubled marker, another owner, a jump that may not be written; without the permission the lane is mapped."""
    with pytest.raises(TenureEnded) as ended:
        target.run(fill(TENURE, HOLE, jumps_over(TENURE, HOLE, has_jumped=True)))
    assert ended.value.reason is reason


def test_two_owners_write_the_same_jumps_for_the_same_hole() -> None:
    """Whatever they know of each other; a batch before and behind is told by them."""
    first = jumps_over(TENURE, HOLE, has_jumped=False)
    assert jumps_over(TENURE, HOLE, has_jumped=True) == first[1:]
    log = JumpLog((at, jump.key, jump) for at, jump in enumerate(first))
    assert log.tell("t-0", 9, 40, 10, 0) == (Stretch(40, 10),)
    assert log.tell("t-0", 9, 50, 4, 0) == (Stretch(53, 4),)


def test_a_hole_before_the_first_record_is_the_first_jump() -> None:
    """It begins at the lane's start."""
    tenure = replace(TENURE, claim=replace(CLAIM, start=50))
    assert jumps_over(tenure, HOLE, has_jumped=False) == (Jump("t-0", 9, 50, 0, (Stretch(53, 1),)),)


def test_a_budget_is_spent_and_comes_back_and_says_how_long_it_would_take() -> None:
    """A burst at once; what an estimate says is coming counts before any of it is filled."""
    budget = Budget(0.0)
    assert budget.take(Hole(0, FILL_BURST, 0), 0, 0.0) == ""
    assert "2 offsets without a record behind offset 4" in budget.take(Hole(5, 7, 5), 0, 0.0)
    assert budget.take(Hole(5, 7, 5), 0, 1.0) == ""
    why = Budget(0.0).take(Hole(5, 7, 5), 5000, 0.0)
    assert "about 5,000 offsets" in why and "100 s" in why
