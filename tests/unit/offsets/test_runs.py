"""A map holds what was appended, in order, and maps that grew from it never change it."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.offsets.errors import RangeOrderError
from anabranch.offsets.offset_map import MAX_OFFSET, MappedRange, OffsetMap

from .strategies import offset_maps, pairs, range_lists

pytestmark = pytest.mark.unit


@given(range_lists())
def test_a_map_holds_every_record_that_was_appended(ranges: list[MappedRange]) -> None:
    """Neighbours are joined, no record is lost or added, and the invariants hold after each step."""
    built = OffsetMap.of(ranges)
    assert pairs(built) == pairs(ranges)
    assert built.is_sound()
    assert built.records == len(pairs(ranges))
    assert all(not after.continues(before) for before, after in zip(built, list(built)[1:], strict=False))
    assert [built[n] for n in range(len(built))] == list(built)
    assert bool(built) == bool(ranges)
    if ranges:
        assert built.last == built[-1]
        assert (built.source_start, built.target_start) == (ranges[0].source, ranges[0].target)
        assert (built.source_end, built.target_end) == (ranges[-1].source_end, ranges[-1].target_end)


@given(offset_maps(), st.integers(-3, 60), st.integers(-3, 60), st.integers(1, 4))
def test_only_what_comes_after_is_appended(ranges: OffsetMap, source: int, target: int, length: int) -> None:
    """A run before either end is refused with the end's name, and any other is taken."""
    if source < 0 or target < 0:
        with pytest.raises(ValueError, match="no range begins"):
            MappedRange(source, target, length)
    elif source < ranges.source_end or target < ranges.target_end:
        with pytest.raises(RangeOrderError) as caught:
            ranges.append(MappedRange(source, target, length))
        assert caught.value.side == ("source" if source < ranges.source_end else "target")
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    else:
        longer = ranges.append(MappedRange(source, target, length))
        assert longer.is_sound()
        assert pairs(longer) == pairs(ranges) | pairs([MappedRange(source, target, length)])
        assert (longer.source_start, longer.target_start) == (ranges.source_start, ranges.target_start)


@given(offset_maps(), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 3)), max_size=5))
def test_maps_that_grow_from_one_leave_it_and_each_other_alone(
    ranges: OffsetMap, steps: list[tuple[int, int, int]]
) -> None:
    """Two branches of appends on one map share arrays and still are separate values."""
    before = list(ranges)

    def grown(shift: int) -> tuple[OffsetMap, list[MappedRange]]:
        result, extra = ranges, []
        for source_gap, target_gap, length in steps:
            mapped = MappedRange(result.source_end + source_gap + shift, result.target_end + target_gap, length)
            result = result.append(mapped)
            extra.append(mapped)
        return result, extra

    first, first_extra = grown(0)
    second, second_extra = grown(1)
    assert list(ranges) == before
    assert pairs(first) == pairs(before) | pairs(first_extra)
    assert pairs(second) == pairs(before) | pairs(second_extra)
    assert first.is_sound()
    assert second.is_sound()


@given(offset_maps(), st.integers(0, 60))
def test_truncation_leaves_exactly_the_copies_below(ranges: OffsetMap, target: int) -> None:
    """What lay at or above is gone, and the source end is that of what is left."""
    cut = ranges.truncate(target)
    before = pairs(ranges)
    assert pairs(cut) == {source: copy for source, copy in before.items() if copy < target}
    assert cut.is_sound()
    assert cut.target_end == min(target, ranges.target_end)
    lost = [source for source, copy in before.items() if copy >= target]
    kept = [source for source, copy in before.items() if copy < target]
    assert cut.source_end == (ranges.source_end if not lost else max(kept) + 1 if kept else ranges.source_start)
    assert pairs(ranges) == before
    again = cut.append(MappedRange(cut.source_end, cut.target_end, 1))
    assert again.is_sound()
    assert pairs(ranges) == before


@given(offset_maps())
def test_equal_maps_are_equal_however_they_were_made(ranges: OffsetMap) -> None:
    """By value: built again, pickled, or grown record by record."""
    single = OffsetMap(ranges.source_start, ranges.target_start)
    for source, target in pairs(ranges).items():
        single = single.append(MappedRange(source, target, 1))
    single = single.advance(ranges.source_end, ranges.target_end)
    for other in (single, pickle.loads(pickle.dumps(ranges))):
        assert other == ranges
        assert hash(other) == hash(ranges)
        assert repr(other) == repr(ranges)
    assert ranges != OffsetMap(ranges.source_start, ranges.target_start + 1)
    assert ranges != "runs"


def test_advancing_never_goes_back() -> None:
    """Ends only grow; an end behind the present one is refused."""
    ranges = OffsetMap.of([MappedRange(5, 7, 2)]).advance(10, 9)
    assert (ranges.source_end, ranges.target_end, ranges.records) == (10, 9, 2)
    for ends in ((9, 9), (10, 8)):
        with pytest.raises(RangeOrderError):
            ranges.advance(*ends)
    with pytest.raises(ValueError, match="past"):
        ranges.advance(MAX_OFFSET + 1, 9)


@pytest.mark.parametrize("numbers", [(-1, 0, 1), (0, -1, 1), (0, 0, 0), (MAX_OFFSET, 0, 1), (0, 1, MAX_OFFSET)])
def test_a_run_that_cannot_be_is_not_made(numbers: tuple[int, int, int]) -> None:
    """Offsets are int64 and not negative, a range holds at least one record."""
    with pytest.raises(ValueError, match="range"):
        MappedRange(*numbers)


def test_a_lane_begins_at_an_offset() -> None:
    """Nowhere else; and an empty map has no ranges at any index."""
    with pytest.raises(ValueError, match="no lane begins"):
        OffsetMap(-1, 0)
    with pytest.raises(IndexError):
        OffsetMap()[0]
    assert list(OffsetMap(3, 4)) == []
    assert OffsetMap(3, 4).last is None


def test_a_hundred_thousand_runs_take_no_more_than_their_numbers() -> None:
    """Three int64 a range, shared by every map that they grew through."""
    ranges = OffsetMap()
    for n in range(100_000):
        ranges = ranges.append(MappedRange(3 * n, 2 * n, 1))
    assert len(ranges) == ranges.records == 100_000
    assert sum(column.itemsize * len(column) for column in ranges.columns()) == 2_400_000
    assert ranges.find_source(3 * 77_777 + 1) == 77_777
    assert ranges.find_target(2 * 77_777 - 1) == 77_776


@given(offset_maps())
def test_the_way_back_of_a_map_holds_the_same_records(ranges: OffsetMap) -> None:
    """Each the other way round, with ends and starts; and the way back of that is the map itself."""
    back = ranges.inverse()
    assert back.is_sound()
    assert pairs(back) == {target: source for source, target in pairs(ranges).items()}
    assert (back.source_start, back.source_end) == (ranges.target_start, ranges.target_end)
    assert (back.target_start, back.target_end) == (ranges.source_start, ranges.source_end)
    assert back.inverse() == ranges
