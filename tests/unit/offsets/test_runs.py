"""A map holds what was appended, in order, and maps that grew from it never change it."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.offsets.errors import RunOrderError
from anabranch.offsets.runs import MAX_OFFSET, Run, RunMap

from .strategies import pairs, run_lists, run_maps

pytestmark = pytest.mark.unit


@given(run_lists())
def test_a_map_holds_every_record_that_was_appended(runs: list[Run]) -> None:
    """Neighbours are joined, no record is lost or added, and the invariants hold after each step."""
    built = RunMap.of(runs)
    assert pairs(built) == pairs(runs)
    assert built.is_sound()
    assert built.records == len(pairs(runs))
    assert all(not after.continues(before) for before, after in zip(built, list(built)[1:], strict=False))
    assert [built[n] for n in range(len(built))] == list(built)
    assert bool(built) == bool(runs)
    if runs:
        assert built.last == built[-1]
        assert (built.source_start, built.target_start) == (runs[0].source, runs[0].target)
        assert (built.source_end, built.target_end) == (runs[-1].source_end, runs[-1].target_end)


@given(run_maps(), st.integers(-3, 60), st.integers(-3, 60), st.integers(1, 4))
def test_only_what_comes_after_is_appended(runs: RunMap, source: int, target: int, length: int) -> None:
    """A run before either end is refused with the end's name, and any other is taken."""
    if source < 0 or target < 0:
        with pytest.raises(ValueError, match="no run begins"):
            Run(source, target, length)
    elif source < runs.source_end or target < runs.target_end:
        with pytest.raises(RunOrderError) as caught:
            runs.append(Run(source, target, length))
        assert caught.value.side == ("source" if source < runs.source_end else "target")
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    else:
        longer = runs.append(Run(source, target, length))
        assert longer.is_sound()
        assert pairs(longer) == pairs(runs) | pairs([Run(source, target, length)])
        assert (longer.source_start, longer.target_start) == (runs.source_start, runs.target_start)


@given(run_maps(), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 3)), max_size=5))
def test_maps_that_grow_from_one_leave_it_and_each_other_alone(runs: RunMap, steps: list[tuple[int, int, int]]) -> None:
    """Two branches of appends on one map share arrays and still are separate values."""
    before = list(runs)

    def grown(shift: int) -> tuple[RunMap, list[Run]]:
        result, extra = runs, []
        for source_gap, target_gap, length in steps:
            run = Run(result.source_end + source_gap + shift, result.target_end + target_gap, length)
            result = result.append(run)
            extra.append(run)
        return result, extra

    first, first_extra = grown(0)
    second, second_extra = grown(1)
    assert list(runs) == before
    assert pairs(first) == pairs(before) | pairs(first_extra)
    assert pairs(second) == pairs(before) | pairs(second_extra)
    assert first.is_sound()
    assert second.is_sound()


@given(run_maps(), st.integers(0, 60))
def test_truncation_leaves_exactly_the_copies_below(runs: RunMap, target: int) -> None:
    """What lay at or above is gone, and the source end is that of what is left."""
    cut = runs.truncate(target)
    before = pairs(runs)
    assert pairs(cut) == {source: copy for source, copy in before.items() if copy < target}
    assert cut.is_sound()
    assert cut.target_end == min(target, runs.target_end)
    lost = [source for source, copy in before.items() if copy >= target]
    kept = [source for source, copy in before.items() if copy < target]
    assert cut.source_end == (runs.source_end if not lost else max(kept) + 1 if kept else runs.source_start)
    assert pairs(runs) == before
    again = cut.append(Run(cut.source_end, cut.target_end, 1))
    assert again.is_sound()
    assert pairs(runs) == before


@given(run_maps())
def test_equal_maps_are_equal_however_they_were_made(runs: RunMap) -> None:
    """By value: built again, pickled, or grown record by record."""
    single = RunMap(runs.source_start, runs.target_start)
    for source, target in pairs(runs).items():
        single = single.append(Run(source, target, 1))
    single = single.advance(runs.source_end, runs.target_end)
    for other in (single, pickle.loads(pickle.dumps(runs))):
        assert other == runs
        assert hash(other) == hash(runs)
        assert repr(other) == repr(runs)
    assert runs != RunMap(runs.source_start, runs.target_start + 1)
    assert runs != "runs"


def test_advancing_never_goes_back() -> None:
    """Ends only grow; an end behind the present one is refused."""
    runs = RunMap.of([Run(5, 7, 2)]).advance(10, 9)
    assert (runs.source_end, runs.target_end, runs.records) == (10, 9, 2)
    for ends in ((9, 9), (10, 8)):
        with pytest.raises(RunOrderError):
            runs.advance(*ends)
    with pytest.raises(ValueError, match="past"):
        runs.advance(MAX_OFFSET + 1, 9)


@pytest.mark.parametrize("numbers", [(-1, 0, 1), (0, -1, 1), (0, 0, 0), (MAX_OFFSET, 0, 1), (0, 1, MAX_OFFSET)])
def test_a_run_that_cannot_be_is_not_made(numbers: tuple[int, int, int]) -> None:
    """Offsets are int64 and not negative, a run holds at least one record."""
    with pytest.raises(ValueError, match="run"):
        Run(*numbers)


def test_a_lane_begins_at_an_offset() -> None:
    """Nowhere else; and an empty map has no runs at any index."""
    with pytest.raises(ValueError, match="no lane begins"):
        RunMap(-1, 0)
    with pytest.raises(IndexError):
        RunMap()[0]
    assert list(RunMap(3, 4)) == []
    assert RunMap(3, 4).last is None


def test_a_hundred_thousand_runs_take_no_more_than_their_numbers() -> None:
    """Three int64 a run, shared by every map that they grew through."""
    runs = RunMap()
    for n in range(100_000):
        runs = runs.append(Run(3 * n, 2 * n, 1))
    assert len(runs) == runs.records == 100_000
    assert sum(column.itemsize * len(column) for column in runs.columns()) == 2_400_000
    assert runs.find_source(3 * 77_777 + 1) == 77_777
    assert runs.find_target(2 * 77_777 - 1) == 77_776
