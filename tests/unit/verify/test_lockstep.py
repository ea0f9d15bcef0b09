"""Stored batches are matched exactly where they are equal, and everything else is compared as records."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.verify.lockstep import MOST_RANGES, StoredBatch, apart, match
from anabranch.verify.pins import LogEnds, Pin, pieces, pin

pytestmark = pytest.mark.unit

WHERE = TopicPartition("t", 0)
FAR = 1 << 40
SIZES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(1, 6)), min_size=1, max_size=20)


def batch(first: int, count: int, contents: object = None, **changes: object) -> StoredBatch:
    """A plain batch whose bytes are told by what it contains."""
    digest = hashlib.sha256(repr(first if contents is None else contents).encode()).digest()[:16]
    return StoredBatch(first, first + count - 1, True, 3, (5, 9), 100 * count, digest)._replace(**changes)  # type: ignore[arg-type]


def mirror(sizes: list[tuple[int, int, int]]) -> tuple[Pin, list[StoredBatch], list[StoredBatch]]:
    """Batches behind (source gap, target gap), the same on both sides."""
    ranges, source, target = OffsetMap(0, 0), [], []
    for number, (gap, foreign, count) in enumerate(sizes):
        run = MappedRange(ranges.source_end + gap, ranges.target_end + foreign, count)
        ranges = ranges.append(run)
        source.append(batch(run.source, count, number))
        target.append(batch(run.target, count, number))
    return pin("lane", WHERE, WHERE, ranges, LogEnds(0, FAR), LogEnds(0, FAR)), source, target


@given(SIZES)
def test_equal_batches_need_no_second_look(sizes: list[tuple[int, int, int]]) -> None:
    """Everything is matched, and counted."""
    whole, source, target = mirror(sizes)
    matched = match(whole, whole, source, target)
    assert matched.undecided == []
    assert sum(one.records for one in matched.sums.values()) == whole.ranges.records


@given(SIZES, st.data())
def test_an_unequal_batch_is_compared_as_records(sizes: list[tuple[int, int, int]], data: st.DataObject) -> None:
    """Another digest, time, codec or size, a transaction, or none at all: its offsets are in the rest."""
    whole, source, target = mirror(sizes)
    at = data.draw(st.integers(0, len(source) - 1))
    changes = data.draw(
        st.sampled_from(
            [{"digest": b"x"}, {"times": (5, 10)}, {"kind": 4}, {"size": 1}, {"plain": False}, {"last": FAR}, None]
        )
    )
    if changes is None:
        del target[at]
    elif "last" in changes:
        target[at] = target[at]._replace(last=target[at].last + 1)
    else:
        target[at] = target[at]._replace(**changes)
    matched = match(whole, whole, source, target)
    assert any(first <= source[at].first and source[at].last < last for first, last in matched.undecided)
    assert covered(matched.sums, matched.undecided, source)


@given(SIZES, st.integers(0, 60), st.data())
def test_a_foreign_batch_is_compared_as_records(
    sizes: list[tuple[int, int, int]], count: int, data: st.DataObject
) -> None:
    """A batch that only the target has lies in the target range of the rest."""
    whole, source, target = mirror([*sizes, (0, 3, 1)])
    taken = {offset for one in target for offset in range(one.first, one.last + 1)}
    free = [at for at in range(whole.target_from, whole.target_to) if at not in taken]
    where = data.draw(st.sampled_from(free))
    matched = match(whole, whole, source, [*target, batch(where, 1, "foreign")])
    parts = [whole.part(*one) for one in matched.undecided]
    assert any(part.target_from <= where < part.target_to for part in parts), (matched.undecided, where, count)


@given(st.lists(st.integers(1, 40_000), min_size=2, max_size=12), st.data())
def test_a_batch_over_the_edge_of_parts_is_looked_at_once(sizes: list[int], data: st.DataObject) -> None:
    """Parts cut where chunks end: each record is matched or left over exactly once, changed or not."""
    whole, source, target = mirror([(0, 0, size) for size in sizes])
    at = data.draw(st.integers(0, len(target) - 1))
    if data.draw(st.booleans()):
        target[at] = target[at]._replace(digest=b"other")
    records, rest = 0, []
    for number, part in enumerate(pieces(whole, 1)):
        ours = [one for one in source if part.source_from <= one.first < part.source_to]
        theirs = [one for one in target if part.target_from <= one.first < part.target_to]
        assert number or ours
        matched = match(whole, part, ours, theirs)
        records += sum(one.records for one in matched.sums.values())
        rest += matched.undecided
    assert records + sum(last - first for first, last in rest) == sum(sizes)


def test_a_batch_that_reaches_out_of_the_pin_is_compared_as_records() -> None:
    """Equal or not, only some of its records are meant."""
    whole, source, target = mirror([(0, 0, 10), (0, 0, 10), (0, 0, 10)])
    late = pin("lane", WHERE, WHERE, whole.ranges, LogEnds(0, FAR), LogEnds(0, FAR), since=(5, 5)).up_to(25, 25)
    matched = match(late, late, source, target)
    assert sum(one.records for one in matched.sums.values()) == 10
    assert matched.undecided == [(5, 10), (20, 25)]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), max_size=40),
    st.lists(st.tuples(st.integers(0, 250), st.integers(0, 6)), max_size=30),
)
def test_what_is_equal_and_what_is_not_decided_share_no_offset(
    lengths: list[tuple[int, int]], rest: list[tuple[int, int]]
) -> None:
    """However many ranges there are, a few of them hold all of the rest that lies within, and whole batches."""
    equal: list[StoredBatch] = []
    for gap, count in lengths:
        equal.append(batch((equal[-1].last + 1 if equal else 0) + gap, count))
    kept, ranges = apart(equal, [(first, first + count) for first, count in rest], (10, 200))
    assert len(ranges) <= MOST_RANGES and ranges == sorted(ranges)
    told = [at for first, last in ranges for at in range(first, last)]
    assert len(set(told)) == len(told)
    held = set(told)
    assert held >= {at for first, count in rest for at in range(max(first, 10), min(first + count, 200))}
    assert kept == [one for one in equal if held.isdisjoint(range(one.first, one.last + 1))]
    assert all(one in kept or held >= set(range(one.first, one.last + 1)) for one in equal)


def test_the_widest_gaps_between_undecided_ranges_are_left_out() -> None:
    """What lies in the narrowest ones is compared as records, too."""
    rest = [(100 * at, 100 * at + 10) for at in range(MOST_RANGES + 1)]
    rest[3] = (rest[2][1] + 1, rest[3][1])
    between = batch(rest[2][1], 1)
    kept, ranges = apart([between, batch(150, 5)], rest, (0, 10_000))
    assert ranges == [*rest[:2], (rest[2][0], rest[3][1]), *rest[4:]]
    assert kept == [batch(150, 5)]
    assert apart([between], rest[1:], (0, 10_000)) == ([between], rest[1:])


def covered(sums: object, rest: list[tuple[int, int]], source: list[StoredBatch]) -> bool:
    """Whether every source record is matched or left over."""
    matched = sum(one.records for one in sums.values())  # type: ignore[attr-defined]
    left = sum(
        1 for one in source for offset in range(one.first, one.last + 1) if any(a <= offset < b for a, b in rest)
    )
    return matched + left == sum(one.last - one.first + 1 for one in source)
