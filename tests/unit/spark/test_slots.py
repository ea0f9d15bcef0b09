"""How many tasks a micro-batch has while executors come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.spark.link.slots import AGAIN_S, SETTLE_S, Slots
from tests.unit.clock import Clock

pytestmark = pytest.mark.unit


@pytest.fixture
def clock() -> Clock:
    """The driver's."""
    return Clock()


def test_the_first_count_is_there_before_the_query(tmp_path: Path, clock: Clock) -> None:
    """A planner finds a number; where no executor has come yet, one task waits for it."""
    slots = Slots(tmp_path, clock=clock)
    assert not slots.follow(0)
    assert (slots.file.taken(), slots.file.take(), slots.file.taken()) == (None, 1, 1)


def test_leases_end_when_an_executor_has_gone_and_none_has_come_for_it(tmp_path: Path, clock: Clock) -> None:
    """Once: a lease that has no core waits for one that has, and would stand still for its length."""
    slots = Slots(tmp_path, clock=clock)
    slots.follow(3)
    assert slots.file.take() == 3
    assert not slots.follow(2), "another executor may take its place at once"
    clock.now += SETTLE_S
    assert slots.follow(2)
    slots.told()
    assert not slots.follow(2), "the next micro-batch is on its way"
    assert slots.file.take() == 2
    clock.now += 10 * AGAIN_S
    assert not slots.follow(2)


def test_an_executor_that_is_replaced_ends_no_lease(tmp_path: Path, clock: Clock) -> None:
    """Spark runs its task again on the new one."""
    slots = Slots(tmp_path, clock=clock)
    slots.follow(2)
    slots.file.take()
    for cores in (1, 2, 1, 2):
        assert not slots.follow(cores)
        clock.now += SETTLE_S / 2
    clock.now += SETTLE_S
    assert not slots.follow(2)


def test_leases_end_again_where_the_planner_took_the_old_number(tmp_path: Path, clock: Clock) -> None:
    """It may have read it in the moment before it changed."""
    slots = Slots(tmp_path, clock=clock)
    slots.follow(1)
    slots.file.take()
    slots.follow(2)
    clock.now += SETTLE_S
    assert slots.follow(2)
    slots.told()
    clock.now += AGAIN_S
    assert slots.follow(2)


def test_a_limit_is_the_most_and_never_more_than_there_are_cores(tmp_path: Path, clock: Clock) -> None:
    """More tasks than cores would stand still, one lease after the other."""
    slots = Slots(tmp_path, limit=2, clock=clock)
    slots.follow(8)
    assert slots.file.take() == 2
    slots.follow(1)
    clock.now += SETTLE_S
    assert slots.follow(1)
    assert slots.file.take() == 1
