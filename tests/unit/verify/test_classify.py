"""Each planted fault gets its name at its exact offset, and nothing else does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from faulty import Logs, Record, altered, identity, kinds, mapped, shifted
from hypothesis import given
from hypothesis import strategies as st

from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.verify.classify import classify, longest_rise
from anabranch.verify.findings import FindingKind, RecordField
from anabranch.verify.rows import rows
from tests.chance import examples

pytestmark = pytest.mark.unit

NONE = RecordField(0)
FIELDS = st.integers(1, 15).map(RecordField)
RUNS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 12)), min_size=1, max_size=8)


@given(RUNS, st.integers(0, 5), st.integers(0, 5))
def test_nothing_is_found_where_nothing_is_wrong(ranges: list[tuple[int, int, int]], source: int, target: int) -> None:
    """Logs that are as their map says have no strays and no findings."""
    assert mapped(ranges, (source, target)).named() == []


@given(RUNS, st.data())
def test_a_record_that_the_target_lacks_at_its_place_is_missing(
    ranges: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    """One record is taken out of the target: it is missing, at its source offset."""
    logs = mapped(ranges)
    offset = data.draw(st.sampled_from(sorted(logs.source)))
    del logs.target[_place(logs, offset)]
    assert logs.named() == [(FindingKind.MISSING, offset, -1, NONE)]


@given(RUNS, FIELDS, st.data())
def test_an_altered_record_is_named_with_its_fields(
    ranges: list[tuple[int, int, int]], fields: RecordField, data: st.DataObject
) -> None:
    """A record with some fields changed is altered, at both of its offsets, and exactly those fields are named."""
    logs = mapped(ranges)
    offset = data.draw(st.sampled_from(sorted(logs.source)))
    place = _place(logs, offset)
    logs.target[place] = altered(logs.target[place], fields)
    assert logs.named() == [(FindingKind.MODIFIED, offset, place, fields)]


@given(RUNS, st.data())
def test_two_records_that_changed_places_are_reordered(ranges: list[tuple[int, int, int]], data: st.DataObject) -> None:
    """Exchanged records, neighbours or far apart, are both reordered, where they are."""
    logs = mapped([*ranges, (0, 0, 2)])
    a, b = sorted(data.draw(st.lists(st.sampled_from(sorted(logs.source)), min_size=2, max_size=2, unique=True)))
    at, by = _place(logs, a), _place(logs, b)
    logs.target[at], logs.target[by] = logs.target[by], logs.target[at]
    assert logs.named() == [(FindingKind.REORDERED, a, by, NONE), (FindingKind.REORDERED, b, at, NONE)]


@given(RUNS, st.data())
def test_a_foreign_copy_of_a_record_is_a_repeat(ranges: list[tuple[int, int, int]], data: st.DataObject) -> None:
    """A target offset that no run holds and whose record is another's copy repeats that one."""
    logs = mapped([*ranges, (0, 1, 1)])
    offset = data.draw(st.sampled_from(sorted(logs.source)))
    foreign = _foreign(logs)
    where = data.draw(st.sampled_from(foreign))
    logs.target[where] = logs.source[offset]
    assert logs.named() == [(FindingKind.DUPLICATE, offset, where, NONE)]


@given(RUNS, st.data())
def test_a_record_that_the_source_never_had_is_extra(ranges: list[tuple[int, int, int]], data: st.DataObject) -> None:
    """A foreign record is extra, at its target offset."""
    logs = mapped([*ranges, (0, 1, 1)])
    where = data.draw(st.sampled_from(_foreign(logs)))
    logs.target[where] = Record(10_000)
    assert logs.named() == [(FindingKind.UNEXPECTED, -1, where, NONE)]


@given(RUNS, st.data())
def test_a_record_in_a_gap_of_the_map_is_missing(ranges: list[tuple[int, int, int]], data: st.DataObject) -> None:
    """A source record that no run holds was not copied: it is missing, whatever the map believes."""
    logs = mapped([*ranges, (1, 0, 1)])
    gaps = [o for o in range(logs.ranges.source_start, logs.ranges.source_end) if o not in logs.source]
    offset = data.draw(st.sampled_from(gaps))
    logs.source[offset] = Record(10_000)
    assert logs.named() == [(FindingKind.MISSING, offset, -1, NONE)]


@given(st.integers(2, 60), st.data())
def test_a_record_left_out_before_others_displaces_them(count: int, data: st.DataObject) -> None:
    """Where the map does not know that a record is missing, all behind it are displaced, and only it is missing."""
    logs = identity(count, first=3)
    gap = data.draw(st.integers(3, count + 2))
    found = shifted(logs, [record for offset, record in logs.source.items() if offset != gap]).named()
    assert found == [
        (FindingKind.MISSING, gap, -1, NONE),
        *((FindingKind.DISPLACED, offset, offset - 1, NONE) for offset in range(gap + 1, count + 3)),
    ]


@given(st.integers(2, 60), st.data())
def test_a_record_written_twice_before_others_displaces_them(count: int, data: st.DataObject) -> None:
    """Where the map does not know of a repeat, all behind it are displaced, the last to beyond the pin."""
    logs = identity(count)
    twice = data.draw(st.integers(0, count - 1))
    records = list(logs.source.values())
    found = shifted(logs, [*records[: twice + 1], *records[twice:]]).named()
    assert found == [
        (FindingKind.DUPLICATE, twice, twice + 1, NONE),
        *((FindingKind.DISPLACED, offset, offset + 1, NONE) for offset in range(twice + 1, count)),
    ]


@given(st.integers(4, 60), FIELDS, st.data())
def test_an_altered_record_among_displaced_ones_is_named(count: int, fields: RecordField, data: st.DataObject) -> None:
    """One record is left out and one behind it altered: the second is found though its place is another."""
    logs = identity(count)
    gap = data.draw(st.integers(0, count - 3))
    changed = data.draw(st.integers(gap + 2, count - 1))
    target = [
        altered(record, fields) if offset == changed else record
        for offset, record in logs.source.items()
        if offset != gap
    ]
    found = shifted(logs, target).named()
    assert [one for one in found if one[0] is not FindingKind.DISPLACED] == [
        (FindingKind.MISSING, gap, -1, NONE),
        (FindingKind.MODIFIED, changed, changed - 1, fields),
    ]
    assert kinds(found)[FindingKind.DISPLACED] == count - 2 - gap


@given(st.integers(1, 40), st.integers(1, 40))
def test_a_tail_that_was_cut_off_is_missing(kept: int, lost: int) -> None:
    """The target ends too early: exactly its tail is missing."""
    logs = identity(kept + lost)
    for offset in range(kept, kept + lost):
        del logs.target[offset]
    assert logs.named() == [(FindingKind.MISSING, offset, -1, NONE) for offset in range(kept, kept + lost)]


@given(st.integers(5, 60), st.data())
def test_a_record_that_was_carried_far_is_the_only_one_reordered(count: int, data: st.DataObject) -> None:
    """One record moves three or more places on; those that it passed move up, and stay in order."""
    logs = identity(count)
    start = data.draw(st.integers(0, count - 4))
    end = data.draw(st.integers(start + 3, count - 1))
    records = list(logs.source.values())
    moved = records.pop(start)
    records.insert(end, moved)
    found = shifted(logs, records).named()
    assert [one for one in found if one[0] is FindingKind.REORDERED] == [(FindingKind.REORDERED, start, end, NONE)]
    assert kinds(found) == {FindingKind.REORDERED: 1, FindingKind.DISPLACED: end - start}


def test_a_record_overwritten_by_its_neighbour_is_missing_and_the_other_repeated() -> None:
    """The contents decide: what stands in a record's place but is another's copy is a repeat, not an alteration."""
    logs = identity(8)
    logs.target[5] = logs.source[4]
    assert logs.named() == [(FindingKind.MISSING, 5, -1, NONE), (FindingKind.DUPLICATE, 4, 5, NONE)]


def test_what_retention_took_is_gone_and_not_missing() -> None:
    """Below the first offset of today nothing is missing, on either side."""
    logs = identity(20)
    for offset in range(5):
        del logs.target[offset]
    for offset in range(5, 9):
        del logs.source[offset]
    logs.target_start, logs.source_start = 5, 9
    assert kinds(logs.named()) == {FindingKind.GONE_TARGET_RETENTION: 5, FindingKind.GONE_SOURCE_RETENTION: 4}


def test_the_first_record_of_a_log_is_not_expired() -> None:
    """Retention has taken what lies below the first offset, and not the record that should stand there."""
    logs = identity(20)
    del logs.target[5], logs.source[9]
    logs.target_start, logs.source_start = 5, 9
    assert logs.named() == [(FindingKind.MISSING, 5, -1, NONE), (FindingKind.UNEXPECTED, -1, 9, NONE)]


def test_a_copy_of_what_lies_before_the_pin_is_displaced() -> None:
    """It is no second copy of a record that was compared."""
    logs = identity(20)
    stray = rows([15], [-1], [(77, 0)])
    lane = replace(logs.lane(), source=(10, 20), target=(10, 20))
    assert classify(rows([], [], []), stray, lane, {(77, 0): 3}) == [(FindingKind.DISPLACED, 3, 15, NONE)]
    assert classify(rows([], [], []), stray, lane, {(77, 0): 13}) == [(FindingKind.DUPLICATE, 13, 15, NONE)]


@pytest.mark.parametrize("copy", [9, 20])
def test_a_copy_right_beside_the_pin_is_displaced(copy: int) -> None:
    """The record is there, before or behind what was compared: it is not missing."""
    stray = rows([15], [15], [(77, 0)])
    lane = replace(identity(20).lane(), source=(10, 20), target=(10, 20))
    found = classify(stray, rows([], [], []), lane, in_target={(77, 0): copy})
    assert found == [(FindingKind.DISPLACED, 15, copy, NONE)]


def test_what_the_cleaner_may_have_taken_is_gone() -> None:
    """Excused absences are no differences; one that is not excused is."""
    logs = identity(10)
    del logs.target[3], logs.target[4], logs.source[6]
    logs.excused_source, logs.excused_target = frozenset({3}), frozenset({6})
    assert logs.named() == [
        (FindingKind.MISSING, 4, -1, NONE),
        (FindingKind.GONE_SOURCE_COMPACTION, 6, 6, NONE),
        (FindingKind.GONE_TARGET_COMPACTION, 3, 3, NONE),
    ]


def test_a_move_past_untouched_records_is_a_reordering() -> None:
    """The map knows both the gap and the foreign offset; the record still lies behind others."""
    source = {n: Record(n) for n in range(10)}
    ranges = OffsetMap.of([MappedRange(0, 0, 2), MappedRange(3, 2, 5), MappedRange(8, 8, 2)])
    target = {n: Record(n) for n in (0, 1)} | {n - 1: Record(n) for n in range(3, 8)} | {7: Record(2)}
    target |= {8: Record(8), 9: Record(9)}
    assert Logs(source, target, ranges).named() == [(FindingKind.REORDERED, 2, 7, NONE)]


@examples(300)
@given(st.lists(st.integers(0, 6), max_size=25), st.lists(st.integers(0, 6), max_size=25))
def test_every_stray_has_exactly_one_name(ours: list[int], theirs: list[int]) -> None:
    """Whatever the contents, constant ones too: each source stray is named once, and each target stray."""
    logs = identity(max(len(ours), len(theirs)))
    logs.source = {at: Record(number) for at, number in enumerate(ours)}
    logs.target = {at: Record(number) for at, number in enumerate(theirs)}
    source, target = logs.strays()
    found = logs.named()
    named_source = sorted(one[1] for one in found if one[0] not in {FindingKind.DUPLICATE, FindingKind.UNEXPECTED})
    named_target = sorted(one[2] for one in found if one[0] is not FindingKind.MISSING)
    assert named_source == source.offsets.tolist()
    assert named_target == target.offsets.tolist()
    assert (found == []) == (ours == theirs)


@given(st.lists(st.integers(0, 30), max_size=30))
def test_the_longest_rise_is_one_and_is_longest(numbers: list[int]) -> None:
    """It rises strictly, and no longer one exists (checked by the quadratic method)."""
    picked = [numbers[at] for at in longest_rise(numbers)]
    assert picked == sorted(set(picked))
    best: list[int] = []
    for at, number in enumerate(numbers):
        best.append(1 + max((best[before] for before in range(at) if numbers[before] < number), default=0))
    assert len(picked) == max(best, default=0)


def _place(logs: Logs, offset: int) -> int:
    run = logs.ranges[logs.ranges.find_source(offset)]
    return run.target + offset - run.source


def _foreign(logs: Logs) -> list[int]:
    return [at for at in range(logs.ranges.target_start, logs.ranges.target_end) if at not in logs.target]
