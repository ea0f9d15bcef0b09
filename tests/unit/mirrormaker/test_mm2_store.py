"""The restated rules of MirrorMaker 2's offset translation."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.mirrormaker.store import (
    SLOTS,
    CopiedRange,
    OffsetSync,
    OffsetSyncStore,
    most_between,
    offset_syncs,
    translate,
)
from tests.chance import examples

pytestmark = pytest.mark.unit


@st.composite
def copies(draw: st.DrawFn) -> list[CopiedRange]:
    """Runs as a copier of a log with gaps makes them: both sides ascending, the target dense."""
    source, target, ranges = draw(st.integers(0, 1000)), draw(st.integers(0, 1000)), []
    for gap, length in draw(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 300)), min_size=1, max_size=12)):
        ranges.append(CopiedRange(source, target, length))
        source, target = source + length + gap, target + length
    return ranges


def exact(ranges: list[CopiedRange], position: int) -> int:
    """The target offset of the first copied record at or after ``position``."""
    for run in ranges:
        if position < run.source + run.length:
            return run.target + max(0, position - run.source)
    return ranges[-1].target + ranges[-1].length


def test_a_sync_is_written_for_the_first_record_and_then_once_the_answer_is_100_records_old() -> None:
    """The answer of a sync is one past it, so with the default limit every 101st record of a dense copy has one."""
    assert [sync.source for sync in offset_syncs([CopiedRange(0, 0, 350)])] == [0, 101, 202, 303, 349]


def test_a_gap_in_the_source_writes_a_sync_for_the_record_after_it() -> None:
    """Transaction markers and compaction make syncs; the counting starts again at each."""
    ranges = [CopiedRange(0, 0, 10), CopiedRange(12, 10, 150)]
    assert [(s.source, s.target) for s in offset_syncs(ranges)] == [(0, 0), (12, 10), (113, 111), (161, 159)]


def test_a_run_that_goes_on_where_the_last_one_ended_is_no_gap() -> None:
    """How a copy is cut into runs does not change the syncs."""
    cut = [CopiedRange(0, 0, 30), CopiedRange(30, 30, 100), CopiedRange(130, 130, 220)]
    assert list(offset_syncs(cut)) == list(offset_syncs([CopiedRange(0, 0, 350)]))


def test_offset_lag_max_zero_writes_a_sync_for_each_record() -> None:
    """The smallest limit, which some users set in the hope of exact answers."""
    assert list(offset_syncs([CopiedRange(5, 0, 4)], 0)) == [OffsetSync(5 + n, n) for n in range(4)]


def test_a_position_between_syncs_is_answered_with_one_past_the_older_sync() -> None:
    """Never more than one past: MirrorMaker 2 does not interpolate, so it never skips."""
    syncs = [OffsetSync(100, 1100), OffsetSync(200, 1200)]
    assert [translate(syncs, p) for p in (100, 101, 199, 200, 201, 10**6)] == [1100, 1101, 1101, 1200, 1201, 1201]


def test_a_position_older_than_every_sync_has_no_answer() -> None:
    """MirrorMaker 2 drops such a checkpoint, and the group gets no position at all."""
    assert translate([OffsetSync(100, 1100)], 99) is None
    assert translate([], 99) is None


def test_a_sync_with_an_older_source_offset_forgets_all_others() -> None:
    """A source topic that was made again starts over."""
    store = OffsetSyncStore()
    for sync in (OffsetSync(100, 0), OffsetSync(200, 100), OffsetSync(50, 200)):
        store.add(sync)
    assert set(store.slots) == {OffsetSync(50, 200)}


def test_a_group_far_behind_is_answered_with_a_position_thousands_of_records_old() -> None:
    """The case of the demo: a dense partition, a sync every 101 records, a group 100,000 records behind the end."""
    ranges = [CopiedRange(0, 0, 300_000)]
    answer = translate(offset_syncs(ranges), 200_000)
    assert answer is not None
    assert 200_000 - answer > 10_000


@settings(deadline=None)
@given(copies(), st.sampled_from([0, 10, 100]), st.data())
def test_an_answer_never_skips_a_record(ranges: list[CopiedRange], lag: int, data: st.DataObject) -> None:
    """For every position up to the end of what was copied, the answer is at most the exact one."""
    position = data.draw(st.integers(ranges[0].source, ranges[-1].source + ranges[-1].length))
    answer = translate(offset_syncs(ranges, lag), position)
    assert answer is None or answer <= exact(ranges, position)


@examples(50)
@given(copies(), st.sampled_from([0, 10, 100]))
def test_the_slots_keep_their_distances(ranges: list[CopiedRange], lag: int) -> None:
    """The store's invariants hold after each sync: newest first, none too old for its slot, none too close."""
    store = OffsetSyncStore()
    for sync in offset_syncs(ranges, lag):
        store.add(sync)
        slots = store.slots
        assert slots[0] is sync and len(slots) == SLOTS
        # Neighbours are enough: both bounds add up along the slots.
        for i, (newer, older) in enumerate(pairwise(slots)):
            assert newer.source <= older.source + (1 << i)
            assert newer == older or newer.source >= older.source + (1 << max(i - 2, 0))


@settings(deadline=None)
@given(copies(), st.sampled_from([0, 10, 100]))
def test_the_newest_sync_and_the_oldest_kept_one_are_answered_exactly(ranges: list[CopiedRange], lag: int) -> None:
    """A position that equals a sync still held is exact; the drained end is one past the newest sync."""
    syncs = list(offset_syncs(ranges, lag))
    end = ranges[-1]
    assert translate(syncs, syncs[-1].source) == syncs[-1].target
    assert translate(syncs, end.source + end.length) == end.target + end.length
    store = OffsetSyncStore()
    for sync in syncs:
        store.add(sync)
    assert all(store.translate(sync.source) == sync.target for sync in store.slots)


@examples(200)
@given(copies(), st.data())
def test_the_bound_holds_wherever_the_copy_stands(ranges: list[CopiedRange], data: st.DataObject) -> None:
    """Also where the copy lags behind the commit, and where compaction has left only some of the syncs."""
    committed = data.draw(st.integers(ranges[0].source, ranges[-1].source + ranges[-1].length))
    seen = data.draw(st.integers(1, len(ranges)))
    written = list(offset_syncs(ranges[:seen]))
    answer = translate(written, committed)
    assert answer is not None
    kept = written[data.draw(st.integers(0, len(written) - 1)) :]
    most = most_between(kept, answer, committed)
    assert most is not None and exact(ranges, committed) - answer <= most


def test_a_copy_that_lags_bounds_nothing_by_its_end() -> None:
    """Numbers of a real run: the copy ended 6,735 offsets behind the answer, and the position was 9,798 away."""
    syncs = list(offset_syncs([CopiedRange(0, 0, 10_202)]))
    assert most_between(syncs, 3_467, 13_265) == 9_798
    assert most_between([], 3_467, 13_265) is None


def test_a_copier_that_went_back_is_counted_from_there() -> None:
    """What it wrote before that is not where a group goes on: the later copies are."""
    syncs = [OffsetSync(0, 0), OffsetSync(1000, 1000), OffsetSync(900, 1050)]
    assert most_between(syncs, 1001, 1000) == 1150 - 1001
