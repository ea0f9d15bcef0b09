"""Pieces tile their pin on both sides, and sums do not depend on how a chunk was read."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from faulty import mapped
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.offsets.translate import to_source
from anabranch.verify.pins import CHUNK, LogEnds, Pin, by_shift, chunk_of, chunks_pin, gather, holds, pieces, pin
from anabranch.verify.sums import Sum, differing, fold
from anabranch.verify.work import ComparisonWork

pytestmark = pytest.mark.unit

WHERE = TopicPartition("t", 0)
FAR = 1 << 40
RUNS = st.lists(
    st.tuples(st.integers(0, 2 * CHUNK), st.integers(0, 100), st.integers(1, CHUNK)), min_size=1, max_size=8
)


def wide(ranges: list[tuple[int, int, int]]) -> Pin:
    """A pin of all of a map."""
    made = OffsetMap(3, 5)
    for gap, foreign, length in ranges:
        made = made.append(MappedRange(made.source_end + gap, made.target_end + foreign, length))
    return pin("lane", WHERE, WHERE, made, LogEnds(0, FAR), LogEnds(0, FAR))


@given(RUNS, st.integers(1, 3 * CHUNK), st.integers(0, 9), st.integers(0, 4))
def test_pieces_tile_both_sides(ranges: list[tuple[int, int, int]], size: int, behind: int, ahead: int) -> None:
    """Each piece begins where the one before it ends, in source and target; only the last ends inside of a chunk.

    What others wrote before the first record and behind the last one is in the first and in the last piece.
    """
    whole = wide(ranges)
    whole = replace(whole, target_from=whole.target_from - ahead, target_to=whole.target_to + behind)
    cut = list(pieces(whole, size))
    assert (cut[0].source_from, cut[0].target_from) == (whole.source_from, whole.target_from)
    assert (cut[-1].source_to, cut[-1].target_to) == (whole.source_to, whole.target_to)
    for before, after in pairwise(cut):
        assert (before.source_to, before.target_to) == (after.source_from, after.target_from)
        assert before.source_to % CHUNK == 0


@given(RUNS, st.data())
def test_a_target_offset_lies_in_the_chunk_of_its_position(
    ranges: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    """Copied or foreign, a target offset lies in the target range of the chunk that its position is in."""
    whole = wide(ranges)
    offset = data.draw(st.integers(whole.target_from, whole.target_to - 1))
    position = to_source(whole.ranges, offset).offset  # type: ignore[union-attr]
    chunk = chunk_of(min(position, whole.source_to - 1))
    part = chunks_pin(whole, chunk, chunk)
    assert part.target_from <= offset < part.target_to


def test_what_a_log_has_lost_before_is_not_compared() -> None:
    """A source or a target that begins later pins both sides later."""
    ranges = OffsetMap.of([MappedRange(0, 10, 100), MappedRange(120, 130, 50)])
    late = pin("lane", WHERE, WHERE, ranges, LogEnds(40, FAR), LogEnds(0, FAR))
    assert (late.source_from, late.target_from) == (40, 50)
    late = pin("lane", WHERE, WHERE, ranges, LogEnds(0, FAR), LogEnds(115, FAR))
    assert (late.source_from, late.target_from) == (120, 115)
    late = pin("lane", WHERE, WHERE, ranges, LogEnds(0, FAR), LogEnds(500, FAR))
    assert late.empty


def test_what_a_map_tells_of_no_more_is_not_compared() -> None:
    """Its oldest runs were retired since the last comparison; a leader that lost less must not make records missing."""
    ranges = OffsetMap.of([MappedRange(100, 50, 10)])
    for starts in ((90, 40), (100, 50), (90, 50), (100, 40)):
        found = pin("lane", WHERE, WHERE, ranges, *(LogEnds(start, FAR) for start in starts), since=(10, 5))
        assert (found.source_from, found.target_from) == (100, 50)


def test_one_number_tells_positions_only_where_each_target_offset_is_a_copy_from_within_the_pin() -> None:
    """Not with a foreign record, nor with a copy of what lies before or behind it."""
    one = wide([(0, 0, 100)])
    assert one.shift == 2
    assert replace(one, source_from=one.source_from + 1).shift is None
    assert replace(one, source_to=one.source_to - 1).shift is None
    assert replace(one, target_from=one.target_from + 1, target_to=one.target_to - 1).shift == 2
    assert wide([(0, 0, 100), (0, 1, 100)]).shift is None
    assert replace(one, target_to=one.target_from).shift == 0


def test_a_part_up_to_the_ends_of_a_pin_has_all_that_others_wrote_there() -> None:
    """No foreign record is in no part, nor in two."""
    ranges = OffsetMap.of([MappedRange(10, 20, 5), MappedRange(15, 30, 5)])
    whole = Pin("lane", WHERE, WHERE, 10, 20, 17, 40, ranges)
    parts = [whole.part(*ends) for ends in ((10, 12), (12, 15), (15, 20))]
    assert [(part.target_from, part.target_to) for part in parts] == [(17, 22), (22, 25), (25, 40)]
    assert whole.part(0, 99) == replace(whole, source_from=0, source_to=99)
    assert [whole.part(at, at).offsets for at in (10, 15, 20)] == [0, 0, 0]


def test_a_pin_with_nothing_on_either_side_is_read_in_no_piece() -> None:
    """One with foreign records only is read."""
    one = wide([(0, 0, 100)])
    behind = replace(one, source_from=one.source_to, target_from=one.target_to)
    assert behind.empty and list(pieces(behind, CHUNK)) == []
    foreign = replace(behind, target_to=one.target_to + 3)
    assert not foreign.empty and list(pieces(foreign, CHUNK)) == [foreign]
    assert by_shift(foreign, 9) == [foreign]
    copies = replace(one, target_from=one.target_to)
    assert not copies.empty and list(pieces(copies, CHUNK)) == [copies]


def test_a_second_run_begins_where_the_first_ended() -> None:
    """A record in a gap right behind the first run's end is still looked at by the second."""
    ranges = OffsetMap.of([MappedRange(0, 0, 100), MappedRange(120, 130, 50)])
    later = pin("lane", WHERE, WHERE, ranges, LogEnds(0, FAR), LogEnds(0, FAR), since=(100, 100))
    assert (later.source_from, later.target_from) == (100, 100)


@given(st.lists(st.integers(0, 60), unique=True).map(sorted), st.integers(1, 5))
def test_gathered_ranges_hold_every_chunk(chunks: list[int], most: int) -> None:
    """No chunk is left out, and there are no more ranges than asked for."""
    ranges = gather(chunks, most)
    assert len(ranges) <= most
    assert all(holds(ranges, chunk) for chunk in chunks)
    assert sum(last - first + 1 for first, last in ranges) >= len(chunks)


RECORDS = st.lists(
    st.tuples(st.integers(0, 4 * CHUNK), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)), max_size=40
)


@given(RECORDS, st.randoms(), st.integers(0, 40))
def test_sums_do_not_depend_on_order_or_cut(records: list[tuple[int, int, int]], random: object, cut: int) -> None:
    """Shuffled and read in two parts, the sums are those of one read in order."""
    shuffled = list(records)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    parts = [summed(shuffled[:cut]), summed(shuffled[cut:])]
    joined = {chunk: parts[0].get(chunk, Sum()).plus(parts[1].get(chunk, Sum())) for chunk in {*parts[0], *parts[1]}}
    assert joined == summed(sorted(records))
    assert differing(joined, summed(records)) == []


@given(RECORDS.filter(bool), st.data())
def test_any_change_is_seen_in_its_chunk(records: list[tuple[int, int, int]], data: st.DataObject) -> None:
    """Another digest, another offset, a record less or twice: the sums of just that chunk differ."""
    at = data.draw(st.integers(0, len(records) - 1))
    offset, first, second = records[at]
    for changed in ([(offset, first ^ 1, second)], [(offset, first, second ^ (1 << 63))], [], [records[at]] * 2):
        other = [*records[:at], *changed, *records[at + 1 :]]
        assert differing(summed(records), summed(other)) == [chunk_of(offset)]
    moved = [*records[:at], (offset ^ 1, first, second), *records[at + 1 :]]
    assert differing(summed(records), summed(moved)) == [chunk_of(offset)]


def test_a_chunk_is_equal_only_if_it_is_so_at_each_isolation_level() -> None:
    """What one level hides differs, however right the other is."""
    one, other = summed([(5, 1, 2)]), summed([(5, 1, 3)])
    assert differing(one, one, one) == []
    assert differing(one, other, one) == differing(one, one, other) == differing(one, one, {}) == [0]


def summed(records: list[tuple[int, int, int]]) -> dict[int, Sum]:
    """Sums by chunk."""
    columns = np.array(records, dtype=np.uint64).reshape(-1, 3)
    sizes = np.ones(len(records), dtype=np.int64)
    sums = fold(columns[:, 0].astype(np.int64), columns[:, 1], columns[:, 2], sizes)
    return {
        int(chunk): Sum(int(records), int(size), int(first), int(second), int(total))
        for chunk, records, size, first, second, total in zip(
            sums.chunks, sums.records, sums.bytes, sums.firsts, sums.seconds, sums.totals, strict=True
        )
    }


@given(st.lists(st.integers(1, 5 * CHUNK), min_size=1, max_size=6), st.data())
def test_rounds_of_any_size_read_every_lane_once_and_in_order(lengths: list[int], data: st.DataObject) -> None:
    """However the size changes between rounds; a round is not much more than its size, or a chunk."""
    lanes = [wide([(0, 0, length)]) for length in lengths]
    work = ComparisonWork(lanes, {}, {}, data.draw(st.integers(1, 8 * CHUNK)))
    at = [lane.source_from for lane in lanes]
    for parts in work.rounds():
        assert len({part.lane for part in parts}) == len(parts)
        assert sum(part.pin.offsets for part in parts) <= max(CHUNK, work.size) + CHUNK * len(parts)
        assert len(parts) <= max(1, work.size // CHUNK)
        for part in parts:
            assert part.pin.source_from == at[part.lane]
            at[part.lane] = part.pin.source_to
        work.finish(parts, [{}, {}])
        work.size = data.draw(st.integers(1, 8 * CHUNK))
    assert at == [lane.source_to for lane in lanes]
    assert work.done == work.offsets == sum(lengths)


def test_what_differed_once_is_looked_at_again_and_is_no_progress() -> None:
    """Each range of an earlier comparison comes first, and the lane goes on where it had been verified up to."""
    whole = wide([(0, 0, 6 * CHUNK)])
    since = (whole.source_from + 4 * CHUNK, whole.target_from + 4 * CHUNK)
    work = ComparisonWork([whole], {"lane": since}, {"lane": ((0, 0), (2, 2))}, CHUNK)
    seen = []
    for parts in work.rounds():
        seen += [(part.pin.source_from, part.pin.source_to, part.is_new) for part in parts]
        work.finish(parts, [{}, {}])
        if not parts[-1].is_new:
            assert (work.lanes[0].source_done, work.lanes[0].target_done) == since
    assert seen[:2] == [(3, CHUNK, False), (2 * CHUNK, 3 * CHUNK, False)]
    assert (seen[2][0], seen[-1][1]) == (since[0], whole.source_to)
    assert all(new for *_, new in seen[2:])


def test_the_sums_of_a_lane_are_those_of_all_its_rounds_and_a_differing_chunk_is_remembered() -> None:
    """At each isolation level; a lane that had nothing to read is where its pin ends."""
    whole, other = wide([(0, 0, 2 * CHUNK)]), replace(wide([(0, 0, 5)]), lane="other")
    nothing = replace(whole, lane="none", source_from=whole.source_to, target_from=whole.target_to)
    work = ComparisonWork([whole, other, nothing], {"lane": (0, 0), "other": (FAR, FAR)}, {}, CHUNK)
    assert [(one.begins, one.source_done, one.target_done) for one in work.lanes] == [
        (3, 3, 5),
        (8, 8, 10),
        (2 * CHUNK + 3, 2 * CHUNK + 3, 2 * CHUNK + 5),
    ]
    first, more = Sum(1, 10, 1, 2, 3), Sum(2, 20, 4, 5, 6)
    seen = []
    for parts in work.rounds():
        for part in parts:
            seen.append((part.lane, part.pin.source_from, part.pin.source_to))
            chunk = chunk_of(part.pin.source_from)
            equal = {part.lane: {chunk: first}}
            work.finish([part], [equal, equal, equal if chunk != 2 else {part.lane: {chunk: more}}])
    assert seen == [(0, 3, 2 * CHUNK), (0, 2 * CHUNK, 2 * CHUNK + 3)]
    lane = work.lanes[0]
    assert (lane.source, lane.target, lane.uncommitted) == (first.plus(first), first.plus(first), first.plus(more))
    assert lane.ranges == ((2, 2),) and work.lanes[1].ranges == ()
    assert (lane.source_done, lane.target_done) == (whole.source_to, whole.target_to)
    assert work.done == work.offsets == 2 * CHUNK


def test_synthetic_logs_have_as_many_records_as_their_map() -> None:
    """The builder of the other tests makes what it says."""
    logs = mapped([(1, 2, 3), (0, 1, 4)])
    assert len(logs.source) == len(logs.target) == logs.ranges.records == 7
