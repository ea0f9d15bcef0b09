"""An answer makes a reader see exactly what it has not read; held against a dictionary of single records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.offsets.bulk import NOWHERE, Kind, to_source_bulk, to_target_bulk
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.offsets.translate import (
    After,
    Answer,
    Before,
    Copied,
    Exact,
    NoRecord,
    Unmapped,
    record_to_source,
    record_to_target,
    to_source,
    to_target,
)

from .strategies import offset_maps, pairs

pytestmark = pytest.mark.unit
OFFSETS = st.integers(-2, 150)
KINDS = {Exact: Kind.EXACT, Before: Kind.BEFORE, After: Kind.AFTER, Unmapped: Kind.UNMAPPED}


@given(offset_maps(), OFFSETS)
def test_a_reader_sees_exactly_the_copies_that_it_has_not_read(ranges: OffsetMap, offset: int) -> None:
    """At the answer, the copies still ahead are those of the source records still ahead: no more, no fewer."""
    answer = to_target(ranges, offset)
    copies = pairs(ranges)
    if offset < ranges.source_start:
        ahead = min(copies.values(), default=ranges.target_end)
        assert answer == Before(ranges.source_start, ahead)
    elif offset > ranges.source_end:
        assert answer == After(ranges.source_end, ranges.target_end)
    else:
        assert isinstance(answer, Exact)
        unread = {target for source, target in copies.items() if source >= offset}
        assert {target for target in copies.values() if target >= answer.offset} == unread
        assert answer.offset == min(unread, default=ranges.target_end)
        expected = None if offset in copies else NoRecord.END if offset == ranges.source_end else NoRecord.GAP
        assert answer.reason is expected


@given(offset_maps(), OFFSETS)
def test_the_way_back_is_as_exact(ranges: OffsetMap, offset: int) -> None:
    """From the target: the source records still ahead are those whose copies are still ahead."""
    answer = to_source(ranges, offset)
    copies = pairs(ranges)
    if offset < ranges.target_start:
        assert answer == Before(ranges.target_start, min(copies, default=ranges.source_end))
    elif offset > ranges.target_end:
        assert answer == After(ranges.target_end, ranges.source_end)
    else:
        assert isinstance(answer, Exact)
        unread = {source for source, target in copies.items() if target >= offset}
        assert {source for source in copies if source >= answer.offset} == unread
        assert answer.offset == min(unread, default=ranges.source_end)
        own = offset in copies.values()
        expected = None if own else NoRecord.END if offset == ranges.target_end else NoRecord.FOREIGN
        assert answer.reason is expected


@given(offset_maps(), OFFSETS)
def test_a_record_is_found_or_named_with_its_neighbours(ranges: OffsetMap, offset: int) -> None:
    """In both directions: the counterpart, or why there is none and what lies around."""
    copies = pairs(ranges)
    everything = [Copied(*pair) for pair in copies.items()]
    forward, back = record_to_target(ranges, offset), record_to_source(ranges, offset)

    def expected(here: str, start: int, end: int, reason: NoRecord, outside: Answer) -> Answer:
        own = [copy for copy in everything if getattr(copy, here) == offset]
        other = "target" if here == "source" else "source"
        if own:
            return Exact(getattr(own[0], other))
        if offset < start or offset >= end:
            return outside
        below = [copy for copy in everything if getattr(copy, here) < offset]
        above = [copy for copy in everything if getattr(copy, here) > offset]
        return Unmapped(reason, below[-1] if below else None, above[0] if above else None)

    after_target, after_source = (
        After(ranges.source_end, ranges.target_end),
        After(ranges.target_end, ranges.source_end),
    )
    before_target = Before(ranges.source_start, min(copies.values(), default=ranges.target_end))
    before_source = Before(ranges.target_start, min(copies, default=ranges.source_end))
    assert forward == expected(
        "source",
        ranges.source_start,
        ranges.source_end,
        NoRecord.GAP,
        before_target if offset < ranges.source_start else after_target,
    )
    assert back == expected(
        "target",
        ranges.target_start,
        ranges.target_end,
        NoRecord.FOREIGN,
        before_source if offset < ranges.target_start else after_source,
    )


@given(offset_maps())
def test_both_directions_undo_each_other_on_copied_records(ranges: OffsetMap) -> None:
    """There and back again, for positions and records alike."""
    for source, target in pairs(ranges).items():
        assert to_target(ranges, source) == record_to_target(ranges, source) == Exact(target)
        assert to_source(ranges, target) == record_to_source(ranges, target) == Exact(source)


@given(offset_maps())
def test_going_there_and_back_only_skips_gaps(ranges: OffsetMap) -> None:
    """The position that comes back is at or after the first, with no copied record in between; and order is kept."""
    copies = pairs(ranges)
    previous = -1
    for offset in range(ranges.source_start, ranges.source_end + 1):
        there = to_target(ranges, offset)
        assert isinstance(there, Exact)
        back = to_source(ranges, there.offset)
        assert isinstance(back, Exact)
        assert back.offset >= offset
        assert not any(offset <= source < back.offset for source in copies)
        assert there.offset >= previous
        previous = there.offset


@given(offset_maps(), st.lists(OFFSETS, max_size=60), st.booleans())
def test_bulk_says_what_single_questions_say(ranges: OffsetMap, offsets: list[int], records: bool) -> None:
    """Offset and kind agree with the single answer, for both directions and both questions."""
    array = np.array(offsets, dtype=np.int64)
    for bulk, position, record in (
        (to_target_bulk, to_target, record_to_target),
        (to_source_bulk, to_source, record_to_source),
    ):
        found, kinds = bulk(ranges, array, records=records)
        for n, offset in enumerate(offsets):
            answer = record(ranges, offset) if records else position(ranges, offset)
            assert kinds[n] == KINDS[type(answer)]
            assert found[n] == (answer.offset if isinstance(answer, Exact) else NOWHERE)


def test_bulk_keeps_the_shape_it_was_given() -> None:
    """Arrays of any shape, also of none, and of an empty map."""
    offsets = np.array([[5, 6], [7, 99]], dtype=np.int64)
    found, kinds = to_target_bulk(OffsetMap.of([MappedRange(5, 50, 3)]), offsets)
    assert found.tolist() == [[50, 51], [52, -1]]
    assert kinds.tolist() == [[Kind.EXACT, Kind.EXACT], [Kind.EXACT, Kind.AFTER]]
    found, kinds = to_target_bulk(OffsetMap(5, 50), np.array([4, 5, 6]))
    assert found.tolist() == [-1, 50, -1]
    assert kinds.tolist() == [Kind.BEFORE, Kind.EXACT, Kind.AFTER]
    assert to_source_bulk(OffsetMap(), np.array([], dtype=np.int64))[0].size == 0


LANE = OffsetMap.of([MappedRange(100, 7, 4), MappedRange(105, 12, 2)], 98, 7).advance(110, 16)


@pytest.mark.parametrize(
    ("offset", "answer"),
    [
        (97, Before(98, 7)),
        (98, Exact(7, NoRecord.GAP)),
        (100, Exact(7)),
        (103, Exact(10)),
        (104, Exact(12, NoRecord.GAP)),
        (105, Exact(12)),
        (107, Exact(16, NoRecord.GAP)),
        (110, Exact(16, NoRecord.END)),
        (111, After(110, 16)),
    ],
)
def test_the_picture_in_the_documentation_holds(offset: int, answer: Answer) -> None:
    """Two runs with a gap between them, one before the first and one behind the last."""
    assert to_target(LANE, offset) == answer


@pytest.mark.parametrize(
    ("offset", "answer"),
    [
        (6, Before(7, 100)),
        (10, Exact(103)),
        (11, Exact(105, NoRecord.FOREIGN)),
        (14, Exact(110, NoRecord.FOREIGN)),
        (16, Exact(110, NoRecord.END)),
        (17, After(16, 110)),
    ],
)
def test_a_marker_in_the_target_is_stepped_over(offset: int, answer: Answer) -> None:
    """A reader whose position stands on a fence's marker, or behind the last one, has an exact place to go back to."""
    assert to_source(LANE, offset) == answer


def test_a_refusal_names_its_neighbours() -> None:
    """The record in the gap, the one behind the last, and the marker."""
    assert record_to_target(LANE, 104) == Unmapped(NoRecord.GAP, Copied(103, 10), Copied(105, 12))
    assert record_to_target(LANE, 108) == Unmapped(NoRecord.GAP, Copied(106, 13), None)
    assert record_to_target(LANE, 99) == Unmapped(NoRecord.GAP, None, Copied(100, 7))
    assert record_to_source(LANE, 11) == Unmapped(NoRecord.FOREIGN, Copied(103, 10), Copied(105, 12))
    assert record_to_target(LANE, 110) == After(110, 16)
    assert record_to_source(LANE, 16) == After(16, 110)
