"""Spreading lanes over tasks."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anabranch.copier.planning.balance import SLACK, balance

pytestmark = pytest.mark.unit

WEIGHTS = st.dictionaries(st.integers(0, 500), st.floats(1, 1e12), max_size=60)


@given(WEIGHTS, st.integers(1, 9))
def test_each_lane_is_in_exactly_one_list(weights: dict[int, float], slots: int) -> None:
    """Nothing is lost and nothing is copied twice by planning."""
    lists = balance(weights, slots)
    assert len(lists) == slots
    assert sorted(key for keys in lists for key in keys) == sorted(weights)


def best(weights: Sequence[int], slots: int) -> int:
    """The sum of the longest list where that is as small as can be: every spreading is tried."""
    reached = {(0,) * slots}
    for weight in sorted(weights, reverse=True):
        reached = {
            tuple(sorted((*loads[:at], loads[at] + weight, *loads[at + 1 :])))
            for loads in reached
            for at in range(slots)
        }
    return min(loads[-1] for loads in reached)


@given(st.lists(st.integers(1, 12), max_size=9), st.integers(1, 4))
@example([3, 3, 2, 2, 2], 2)
@example([1] * 9, 4)
def test_the_longest_list_is_at_most_a_third_above_the_best_possible(weights: list[int], slots: int) -> None:
    """Heaviest first into the lightest, held against all ways to spread so few lanes."""
    lists = balance({key: float(weight) for key, weight in enumerate(weights)}, slots)
    longest = max(sum(weights[key] for key in keys) for keys in lists)
    assert 3 * longest <= 4 * best(weights, slots)


@given(WEIGHTS, st.integers(1, 9))
@example(dict.fromkeys(range(11), 1.0), 5)
def test_no_list_is_above_the_mean_by_more_than_its_lightest_lane(weights: dict[int, float], slots: int) -> None:
    """Where that lane is light against the mean, as among many lanes, this is far closer than a third."""
    total = sum(weights.values())
    for keys in balance(weights, slots):
        lightest = min((weights[key] for key in keys), default=0.0)
        above = sum(weights[key] for key in keys) - lightest
        assert above <= (total - lightest) / slots * (1 + 1e-9)


@given(WEIGHTS, st.integers(1, 9), st.data())
def test_a_lane_stays_where_it_was_unless_that_slot_is_too_heavy(
    weights: dict[int, float], slots: int, data: st.DataObject
) -> None:
    """A lane moves only where staying would put its slot a quarter above the mean."""
    before = data.draw(st.dictionaries(st.sampled_from(sorted(weights) or [0]), st.integers(-1, 12)))
    lists = balance(weights, slots, before)
    mean = sum(weights.values()) / slots
    for slot, keys in enumerate(lists):
        stayed = sum(weights[key] for key in keys if before.get(key) == slot)
        for key, wanted in before.items():
            if 0 <= wanted < slots and key in weights and key not in lists[wanted]:
                assert sum(weights[one] for one in lists[wanted]) + weights[key] > mean * SLACK * (1 - 1e-9)
        assert stayed >= 0


@given(WEIGHTS, st.integers(1, 9))
def test_planning_again_moves_nothing(weights: dict[int, float], slots: int) -> None:
    """Equal input gives equal output, in whatever order the lanes come."""
    again = dict(sorted(weights.items(), key=lambda item: -item[0]))
    assert balance(weights, slots) == balance(again, slots)


def test_equal_lanes_are_spread_evenly() -> None:
    """Two hundred empty lanes on two slots are a hundred each."""
    assert [len(keys) for keys in balance(dict.fromkeys(range(200), 1.0), 2)] == [100, 100]


def test_no_slots_are_refused() -> None:
    """There is nobody to copy."""
    with pytest.raises(ValueError, match="0 slots"):
        balance({1: 1.0}, 0)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40), st.integers(1, 8), st.randoms())
def test_lanes_that_only_follow_stay_where_they_are(rates: list[float], slots: int, chance: Random) -> None:
    """What arrives just then moves no lane that is spread evenly by number."""
    before = {key: key % slots for key in range(len(rates))}
    weights = {key: 1.0 + rate * chance.random() for key, rate in enumerate(rates)}
    lists = balance(weights, slots, before)
    assert all(before[key] == slot for slot, keys in enumerate(lists) for key in keys)


def test_lanes_spread_when_there_are_more_slots() -> None:
    """Lanes that follow do not stay together because they were."""
    lists = balance(dict.fromkeys(range(8), 1.0), 4, dict.fromkeys(range(8), 0))
    assert max(len(keys) for keys in lists) <= 4
    assert all(lists)
