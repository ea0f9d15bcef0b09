"""What need not be read at both isolation levels, and how offsets are moved where one subtraction does it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.topics import TopicPartition
from anabranch.offsets.bulk import to_source_bulk
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.verify.pace import ReadPace
from anabranch.verify.pins import CHUNK, CHUNK_BITS, LogEnds, Pin, by_shift, chunks_pin, pieces, pin
from anabranch.verify.sums import Sum, fold, hashed
from anabranch.verify.visibility import split
from tests.chance import examples

pytestmark = pytest.mark.unit

WHERE = TopicPartition("t", 0)
FAR = 1 << 40
RUNS = st.lists(
    st.tuples(st.sampled_from((0, 1, CHUNK)), st.sampled_from((0, 1, 70)), st.integers(1, 3 * CHUNK)),
    min_size=1,
    max_size=4,
)


def whole(ranges: list[tuple[int, int, int]]) -> Pin:
    """A pin of all of a map."""
    made = OffsetMap(3, 5)
    for gap, foreign, length in ranges:
        made = made.append(MappedRange(made.source_end + gap, made.target_end + foreign, length))
    return pin("lane", WHERE, WHERE, made, LogEnds(0, FAR), LogEnds(0, FAR))


def position(pinned: Pin, offsets: np.ndarray) -> np.ndarray:
    """As the Python tasks place target offsets."""
    found, _ = to_source_bulk(pinned.ranges, offsets)
    return np.clip(found, pinned.source_from, pinned.source_to - 1)


def seen(pinned: Pin, offsets: np.ndarray) -> dict[int, Sum]:
    """Sums of records at these target offsets."""
    zeros = np.zeros(len(offsets), dtype=np.uint64)
    sums = fold(position(pinned, offsets), zeros, zeros, np.ones(len(offsets), dtype=np.int64))
    columns = (sums.chunks, sums.records, sums.bytes, sums.firsts, sums.seconds, sums.totals)
    return {row[0]: Sum(*row[1:]) for row in zip(*(column.tolist() for column in columns), strict=True)}


@given(RUNS, st.integers(1, 2 * CHUNK))
def test_a_shift_says_what_the_map_says(ranges: list[tuple[int, int, int]], size: int) -> None:
    """Where a part has a shift, subtracting it is translating; a map of one run has one in every part."""
    lane = whole(ranges)
    parts = list(pieces(lane, size))
    for part in parts:
        offsets = np.arange(part.target_from, part.target_to, dtype=np.int64)
        if part.shift is not None and len(offsets):
            np.testing.assert_array_equal(offsets - part.shift, position(lane, offsets))
    if len(lane.ranges) == 1 and (ranges[0][:2]) == (0, 0):
        assert None not in {part.shift for part in parts}


def test_a_part_with_a_gap_has_no_shift() -> None:
    """Not even where both sides have the same gap, for a foreign record may lie in it."""
    lane = whole([(0, 0, 10), (1, 1, 10)])
    assert lane.shift is None
    assert lane.part(lane.source_from, 13).shift == 2
    assert lane.part(14, lane.source_to).shift is None, "the gap's offset belongs to what follows"


@given(RUNS, st.integers(1, 9))
def test_cut_by_shift_a_part_is_still_all_of_it(ranges: list[tuple[int, int, int]], most: int) -> None:
    """The pieces tile both sides, and a chunk with a shift is in a piece with a shift unless nothing was cut."""
    lane = whole(ranges)
    cut = by_shift(lane, most)
    assert len(cut) <= most
    assert (cut[0].source_from, cut[0].target_from) == (lane.source_from, lane.target_from)
    assert (cut[-1].source_to, cut[-1].target_to) == (lane.source_to, lane.target_to)
    for before, after in pairwise(cut):
        assert (before.source_to, before.target_to) == (after.source_from, after.target_from)
        assert before.source_to % CHUNK == 0
    for piece in cut if len(cut) > 1 else []:
        for chunk in range(piece.source_from >> CHUNK_BITS, ((piece.source_to - 1) >> CHUNK_BITS) + 1):
            assert chunks_pin(lane, chunk, chunk).shift == piece.shift


def test_one_gap_costs_one_chunk() -> None:
    """The chunks before and behind it keep their shifts."""
    lane = whole([(0, 0, 3 * CHUNK), (1, 0, 3 * CHUNK)])
    assert [piece.shift for piece in by_shift(lane, 4)] == [2, None, 1]
    assert by_shift(lane, 2) == [lane]


@examples(50)
@given(RUNS, st.integers(1, 3 * CHUNK), st.sets(st.integers(0, 4 * CHUNK), max_size=5), st.data())
def test_only_chunks_that_a_committed_reader_saw_whole_are_decided(
    ranges: list[tuple[int, int, int]], size: int, unseen: set[int], data: st.DataObject
) -> None:
    """Whatever a committed reader did not see lies in what is read again; what is decided and what is not tile all."""
    lane = whole(ranges)
    parts = [(4, part) for part in pieces(lane, size)]
    parts = data.draw(st.lists(st.sampled_from(parts), min_size=1, unique_by=lambda one: one[1].source_from))
    read = np.concatenate([np.arange(one.target_from, one.target_to, dtype=np.int64) for _, one in parts])
    committed = np.setdiff1d(read, [lane.target_from + one for one in unseen])
    undecided, decided = split(parts, {4: seen(lane, committed)})
    again = [np.arange(one.target_from, one.target_to, dtype=np.int64) for _, one in undecided]
    again_offsets = np.concatenate(again) if again else np.zeros(0, dtype=np.int64)
    assert len(np.unique(again_offsets)) == len(again_offsets), "nothing is read twice"
    assert not len(np.setdiff1d(np.setdiff1d(read, committed), again_offsets))
    uncommitted = seen(lane, again_offsets)
    chunks = decided.get(4, {})
    assert not uncommitted.keys() & chunks.keys()
    assert {**uncommitted, **chunks} == seen(lane, read)


def test_a_log_without_gaps_is_not_read_again() -> None:
    """A mirror whose every offset a committed consumer sees costs one scan."""
    lane = whole([(0, 0, 3 * CHUNK)])
    offsets = np.arange(lane.target_from, lane.target_to, dtype=np.int64)
    assert split([(0, lane)], {0: seen(lane, offsets)}) == ([], {0: seen(lane, offsets)})
    undecided, decided = split([(0, lane)], {})
    assert [one.offsets for _, one in undecided] == [lane.offsets] and decided == {0: {}}


def test_a_part_of_foreign_records_only_is_read_again() -> None:
    """Its records count to a chunk of the part before it."""
    lane = whole([(0, 0, CHUNK - 3)])
    end = Pin("lane", WHERE, WHERE, CHUNK, CHUNK, lane.target_to, lane.target_to + 5, lane.ranges)
    assert split([(0, end)], {0: {0: Sum(5)}}) == ([(0, end)], {})


def test_sums_of_chunks_that_were_not_asked_for_decide_nothing() -> None:
    """They cannot tell which offsets were meant, so all is read again; of the other lanes what was seen counts."""
    lane, other = whole([(0, 0, CHUNK)]), whole([(0, 0, 10)])
    offsets = np.arange(other.target_from, other.target_to, dtype=np.int64)
    committed = {0: {**seen(lane, np.arange(5, CHUNK + 5)), 9: Sum(1)}, 1: seen(other, offsets)}
    assert split([(0, lane), (1, other)], committed) == ([(0, lane)], {1: seen(other, offsets)})


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_words_are_hashed_as_the_specification_says(word: int, seed: int) -> None:
    """XXH64 of eight bytes in plain integers, step by step."""
    most = (1 << 64) - 1
    primes = (
        11400714785074694791,
        14029467366897019727,
        1609587929392839161,
        9650029242287828579,
        2870177450012600261,
    )

    def rolled(value: int, bits: int) -> int:
        return ((value << bits) | (value >> (64 - bits))) & most

    value = (seed + primes[4] + 8) & most
    value ^= rolled(word * primes[1] & most, 31) * primes[0] & most
    value = (rolled(value, 27) * primes[0] + primes[3]) & most
    value = (value ^ (value >> 33)) * primes[1] & most
    value = (value ^ (value >> 29)) * primes[2] & most
    value ^= value >> 32
    found = hashed(np.array([word], dtype=np.uint64), np.array([seed], dtype=np.uint64))
    assert found.tolist() == [value]


@given(st.lists(st.tuples(st.integers(0, 10_000_000), st.floats(0, 2)), min_size=1), st.integers(1, 10**9))
def test_a_reader_that_waits_as_told_stays_below_its_rate(reads: list[tuple[int, float]], rate: int) -> None:
    """By the clock that it is given: after each wait, the bytes so far fit into the time so far."""
    now = 100.0
    pace = ReadPace(rate, lambda: now)
    for size, took in reads:
        now += took
        now += pace.passed(size)
        assert pace.bytes <= (now - 100.0) * rate * (1 + 1e-9) + rate * 1e-6
    assert pace.bytes == sum(size for size, _ in reads)
    assert ReadPace(None, lambda: now).passed(1 << 40) == 0.0
