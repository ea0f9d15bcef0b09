"""Finding a position in a copy by the records around it, on logs of numbers."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.operations.mirrormaker.content import RecordSpan, SeenRecord, matching_positions

pytestmark = pytest.mark.unit


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[SeenRecord], list[SeenRecord]]:
    """A source with gaps and contents that may repeat, and its copy at other offsets."""
    contents = draw(st.lists(st.integers(0, 3), min_size=1, max_size=40))
    at, source = draw(st.integers(0, 100)), []
    for time, content in enumerate(contents):
        at += draw(st.integers(1, 3))
        source.append(SeenRecord(at, time // 4, content))
    first = draw(st.integers(0, 1000))
    return source, [one._replace(offset=first + number) for number, one in enumerate(source)]


@given(logs(), st.data())
def test_the_true_position_is_always_among_those_found(
    both: tuple[list[SeenRecord], list[SeenRecord]], data: st.DataObject
) -> None:
    """Whatever repeats, the place where the record really went is found, with its timestamps."""
    source, copy = both
    index = data.draw(st.integers(0, len(source)))
    count = data.draw(st.integers(1, 8))
    before, after = source[max(0, index - count) : index], source[index : index + count]
    exact = copy[index].offset if index < len(copy) else copy[-1].offset + 1
    assert (exact, True) in matching_positions(before, after, RecordSpan(copy, True, True))


@given(logs(), st.data())
def test_a_copy_that_is_behind_or_began_later_is_told_by_what_it_has(
    both: tuple[list[SeenRecord], list[SeenRecord]], data: st.DataObject
) -> None:
    """At the copy's ends fewer records agree, and the true position is still found where the copy has reached it."""
    source, copy = both
    begin = data.draw(st.integers(0, len(copy) - 1))
    end = data.draw(st.integers(begin + 1, len(copy)))
    index = data.draw(st.integers(begin, end))
    before, after = source[max(0, index - 8) : index], source[index : index + 8]
    exact = copy[index].offset if index < end else copy[end - 1].offset + 1
    assert (exact, True) in matching_positions(before, after, RecordSpan(copy[begin:end], True, True))


def test_a_position_that_the_copy_has_not_reached_is_nowhere() -> None:
    """All records before the position must be there."""
    source = [SeenRecord(number, number, number) for number in range(20)]
    assert matching_positions(source[8:16], source[16:], RecordSpan(source[:12], True, True)) == []


def test_records_that_repeat_are_found_as_often_as_they_are_there() -> None:
    """Equal records with equal times cannot be told apart, and the caller is told so."""
    source = [SeenRecord(number, 0, 7) for number in range(30)]
    found = matching_positions(source[10:11], source[11:12], RecordSpan(source, False, False))
    assert len(found) == 29 and all(same for _, same in found)
    assert all(low < high for (low, _), (high, _) in pairwise(found))


def test_another_time_is_another_record_to_those_who_ask() -> None:
    """A copy with its broker's clock is found by content, and that its times differ is said."""
    source = [SeenRecord(number, number, number) for number in range(20)]
    copy = [SeenRecord(number + 5, 99, number) for number in range(20)]
    assert matching_positions(source[2:10], source[10:18], RecordSpan(copy, True, True)) == [(15, False)]
