"""Where partitions begin, whatever was committed, given out and told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.sdk.beginning import beginnings
from anabranch.sdk.names import Place
from tests.chance import examples

pytestmark = pytest.mark.unit
T = ("t", 0)
NOTHING = -1001
places = st.tuples(st.sampled_from("ab"), st.integers(0, 1))
offsets = st.integers(0, 4)
committed = st.dictionaries(places, st.just(NOTHING) | offsets)
positions = st.dictionaries(places, offsets)


def was_moved(place: Place, now: dict[Place, int], before: dict[Place, int], resumed: dict[Place, int]) -> bool:
    """Whether somebody else has moved the group: back, or past what the client gave out."""
    return now[place] < before.get(place, NOTHING) or now[place] > resumed[place]


@examples(400)
@given(committed, committed, positions, positions)
def test_each_partition_begins_by_its_law(
    now: dict[Place, int], before: dict[Place, int], resumed: dict[Place, int], started: dict[Place, int]
) -> None:
    """U2 where a switch was given up, U1 anywhere else; and nothing is said of a partition that was not asked for."""
    found = beginnings(now, before, resumed, started)
    assert found.keys() <= now.keys()
    for place, offset in now.items():
        begins = found.get(place, offset)
        if place in resumed and not was_moved(place, now, before, resumed):
            assert begins == resumed[place], "U2: at the message after the last one that was given out"
        elif offset >= 0:
            assert begins == offset, "U1, and U2 where the group was moved: at what is committed"
        elif place in started:
            assert begins == started[place], "U1: at the start that it was told"
        else:
            assert place not in found, "by the client's own default"


@examples(200)
@given(offsets, st.integers(0, 4), st.booleans())
def test_a_switch_that_is_given_up_repeats_nothing_and_leaves_nothing_out(
    first: int, given_out: int, is_new: bool
) -> None:
    """U2: however much of what was given out is committed meanwhile, by whichever thread of the application."""
    before, after = NOTHING if is_new else first, first + given_out
    for now in (before, *range(first, after + 1)):
        assert beginnings({T: now}, {T: before}, {T: after}, {}) == {T: after}


@examples(200)
@given(offsets, offsets, offsets)
def test_a_client_that_is_new_on_a_cluster_takes_what_its_group_has_there(now: int, start: int, other: int) -> None:
    """U1: what is committed wins over what it was told."""
    assert beginnings({T: now}, {}, {}, {T: start}) == {}
    assert beginnings({T: NOTHING}, {}, {}, {T: start, ("t", 1): other}) == {T: start}
