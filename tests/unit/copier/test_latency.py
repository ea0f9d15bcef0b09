"""How long records take from their own timestamp to the target, as a lane tells it."""

from __future__ import annotations

import pytest

from anabranch.copier.lane.tally import Tally

pytestmark = pytest.mark.unit


def copied(tally: Tally, records: int, *ages: int) -> None:
    """Some records more, in batches that were so old when they were acknowledged."""
    tally.records += records
    tally.bytes += 100 * records
    for age in ages:
        tally.note_age(age)


def test_it_is_the_longest_of_the_last_second_in_which_something_was_copied() -> None:
    """A later second that copied nothing does not forget it at once, and a slower one before does not count."""
    tally = Tally()
    tally.measure(10.0)
    assert tally.latency_ms is None
    copied(tally, 20, 900)
    tally.measure(11.0)
    copied(tally, 20, 7, 31, 12)
    tally.measure(12.0)
    tally.measure(13.0)
    assert tally.latency_ms == 31


def test_of_a_lane_that_copies_nothing_it_is_not_known() -> None:
    """It goes with the rate: of a lane that stands still nothing is persisted again and again."""
    tally = Tally()
    tally.measure(10.0)
    copied(tally, 5, 4)
    for second in range(11, 60):
        tally.measure(float(second))
    assert (tally.records_per_s, tally.latency_ms) == (0.0, None)


def test_clocks_that_differ_give_no_negative_time() -> None:
    """The clock of who wrote the record may be ahead of the worker's."""
    tally = Tally()
    tally.measure(10.0)
    copied(tally, 5, -3_000)
    tally.measure(11.0)
    assert tally.latency_ms == 0
