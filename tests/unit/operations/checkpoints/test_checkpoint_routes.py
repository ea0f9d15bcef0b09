"""Routes: where positions lead by maps, by given offsets, and every reason why one leads nowhere."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.offsets.align.gaps import Unclear
from anabranch.offsets.align.gaps import Why as Doubt
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.offsets.translate import Exact, to_target
from anabranch.operations.checkpoints.live import batches
from anabranch.operations.checkpoints.routes import (
    ExplicitRoute,
    MappedLane,
    MapRoute,
    TargetSnapshot,
    records_of,
    same_place,
    target_offset,
    unequal,
)
from anabranch.operations.checkpoints.unmodified_restart import ReadableRange, copied, unmodified_restart

pytestmark = pytest.mark.unit

OLD, NEW = TopicPartition("orders", 0), TopicPartition("eu.orders", 0)
LOG = ReadableRange(0, 100, 100)
MAP = OffsetMap.of([MappedRange(10, 0, 10), MappedRange(22, 12, 10)], 10, 0).advance(40, 25)
"""Source 10..20 at 0..10, a gap of 2, foreign 10 and 11, source 22..32 at 12..22, all told up to 40 and 25."""


def position(
    offset: int | SymbolicOffset | None, role: OffsetRole = OffsetRole.NEXT, partition: TopicPartition = OLD
) -> Position:
    """A position of source 0."""
    return Position("0", partition, offset, role, "offsets/4")


def route(
    ranges: OffsetMap = MAP, log: ReadableRange = LOG, unclear: tuple[Unclear, ...] = (), source_start: int = 0
) -> MapRoute:
    """A route of one lane."""
    lane = MappedLane("link eu", OLD, NEW, ranges, unclear, source_start, "wait: anabranch link show eu")
    target = TargetSnapshot({NEW: log}, {"eu.orders": frozenset({0})})
    return MapRoute("link eu", {"orders": "eu.orders", "empty": "eu.empty"}, {OLD: lane}, target, frozenset({"stays"}))


def why(answer: TranslatedPosition | Reason | None) -> ReasonKind:
    """The kind of a refusal."""
    assert isinstance(answer, Reason), answer
    return answer.why


@pytest.mark.parametrize(("old", "new"), [(10, 0), (19, 9), (20, 12), (21, 12), (22, 12), (31, 21), (32, 25), (40, 25)])
def test_a_position_leads_to_the_first_copy_that_was_not_read(old: int, new: int) -> None:
    """Inside of runs, in gaps, and at the map's end."""
    found = route().move(position(old))
    assert isinstance(found, TranslatedPosition)
    assert (found.partition, found.offset) == (NEW, new)


def test_every_reason_is_of_its_kind_and_names_its_numbers() -> None:
    """What is past the map, before it, expired on the target, unknown, or only a marker is refused with its numbers."""
    past = route().move(position(41))
    assert why(past) is ReasonKind.NOT_COPIED
    assert isinstance(past, Reason) and "copied up to 40" in past.what and "link show eu" in past.fix
    assert why(route().move(position(5))) is ReasonKind.BEFORE_START
    assert why(route(log=ReadableRange(5, 100, 100)).move(position(12))) is ReasonKind.EXPIRED
    assert why(route(log=ReadableRange(0, 11, 100)).move(position(22))) is ReasonKind.NOT_COPIED
    assert why(route(log=ReadableRange(0, 24, 24)).move(position(12))) is ReasonKind.IN_DOUBT
    assert why(route().move(position(SymbolicOffset.LATEST))) is ReasonKind.MARKER
    assert why(route().move(position(3, partition=TopicPartition("other", 0)))) is ReasonKind.NOT_IN_LINK
    assert why(route().move(position(3, partition=TopicPartition("empty", 0)))) is ReasonKind.NOT_COPIED
    assert why(route().move(position(3, partition=TopicPartition("orders", 7)))) is ReasonKind.NOT_COPIED


def test_what_expired_on_both_sides_leads_to_the_target_s_start() -> None:
    """Nothing is lost that the old cluster still had, and the answer says so."""
    found = route(source_start=10).move(position(5))
    assert isinstance(found, TranslatedPosition) and found.offset == 0 and "expired on both" in found.note
    found = route(log=ReadableRange(5, 100, 100), source_start=15).move(position(12))
    assert isinstance(found, TranslatedPosition) and found.offset == 5 and "expired on both" in found.note


def test_a_partition_of_which_nothing_was_read_begins_at_the_first_record_that_the_source_has() -> None:
    """As the job would have, had it stayed; and where the link begins later, it is refused."""
    found = route(source_start=20).move(position(SymbolicOffset.EARLIEST))
    assert isinstance(found, TranslatedPosition)
    assert (found.offset, found.repeated, "first record" in found.note) == (12, 10, True)
    assert why(route(source_start=5).move(position(SymbolicOffset.EARLIEST))) is ReasonKind.BEFORE_START
    assert why(route().move(position(SymbolicOffset.COMMITTED))) is ReasonKind.MARKER


def test_a_topic_that_stays_is_left_alone() -> None:
    """It keeps its old position, whatever the maps say."""
    assert route().move(position(5, partition=TopicPartition("stays", 0))) is None


def test_a_position_without_an_offset_gets_its_partition_only() -> None:
    """An assigned partition has no place in a log."""
    assert route().move(position(None, OffsetRole.ASSIGNED)) == TranslatedPosition(NEW, None)


def test_a_partition_that_was_not_read_yet_begins_where_an_offset_is_given() -> None:
    """A file may have one for it; a map has none, nor has what was read to its end any use for one."""
    by_file = ExplicitRoute("a file", {NEW: 7}, {OLD.topic: NEW.topic}, TargetSnapshot({NEW: LOG}))
    waiting = by_file.move(position(None, OffsetRole.UNASSIGNED))
    assert isinstance(waiting, TranslatedPosition) and (waiting.partition, waiting.offset) == (NEW, 7)
    assert by_file.move(position(None, OffsetRole.ASSIGNED)) == TranslatedPosition(NEW, None)
    assert replace(by_file, offsets={}).move(position(None, OffsetRole.UNASSIGNED)) == TranslatedPosition(NEW, None)
    assert (
        why(replace(by_file, offsets={NEW: 101}).move(position(None, OffsetRole.UNASSIGNED))) is ReasonKind.OUTSIDE_LOG
    )
    assert route().move(position(None, OffsetRole.UNASSIGNED)) == TranslatedPosition(NEW, None)


@pytest.mark.parametrize(("offset", "refused"), [(10, False), (19, False), (20, True), (21, True), (22, False)])
def test_an_unclear_stretch_refuses_what_would_be_read_next_in_it(offset: int, refused: bool) -> None:
    """Positions before it whose next record may be in it, and those inside; what follows it is exact."""
    found = route(unclear=(Unclear(20, 22, 10, 12, Doubt.SEVERAL),)).move(position(offset))
    assert isinstance(found, Reason) is refused
    if refused:
        assert why(found) is ReasonKind.IN_DOUBT


def test_an_unclear_end_refuses_positions_at_the_map_s_end() -> None:
    """Nobody knows which records behind the last run were copied."""
    assert why(route(unclear=(Unclear(32, 40, 22, 25, Doubt.ORDER),)).move(position(32))) is ReasonKind.IN_DOUBT


def test_a_naive_move_is_counted_in_records_of_the_map() -> None:
    """Markers and strangers between do not count; past the map's end each offset does."""
    assert unmodified_restart(5, 15, LOG, MAP) == (5 + 3, 0, "")
    assert unmodified_restart(15, 5, LOG, MAP) == (0, 5 + 3, "")
    assert unmodified_restart(30, 20, LOG, MAP) == (0, 2 + 5, "")
    assert unmodified_restart(9, 9, LOG, MAP) == (0, 0, "")
    assert unmodified_restart(9, 12, LOG) == (3, 0, "")
    for old in (4, 101):
        told = unmodified_restart(old, 12, ReadableRange(5, 100, 100), MAP)
        assert told.repeated is None and told.skipped is None and "5 to 100" in told.text


def test_ranges_are_equal_only_where_every_offset_is_a_copy() -> None:
    """A gap or a stranger between is no proof; a look into the logs may be one."""
    plain = route()
    assert plain.equal(OLD, 12, 18) is None
    assert plain.equal(OLD, 12, 12) is None
    assert why(plain.equal(OLD, 12, 25)) is ReasonKind.NOT_EQUAL
    assert why(plain.equal(OLD, 35, 50)) is ReasonKind.NOT_COPIED
    assert why(plain.equal(TopicPartition("x", 0), 1, 2)) is ReasonKind.NOT_IN_LINK
    proven = MapRoute(plain.what, plain.topics, plain.lanes, plain.target, proofs={(OLD, 12, 25): None})
    assert proven.equal(OLD, 12, 25) is None


def test_without_the_source_what_lies_behind_the_map_is_where_it_ends() -> None:
    """It is told, and a range is equal to what was copied of it; what lies before the end is as ever."""
    cut = replace(route(), is_cut=True)
    found = cut.move(position(90))
    assert isinstance(found, TranslatedPosition)
    assert (found.offset, found.note) == (
        25,
        "90 was read, and all was copied up to 40 only: it goes on where the copies end",
    )
    for offset in (10, 21, 40):
        assert cut.move(position(offset)) == route().move(position(offset))
    assert why(cut.move(position(5))) is ReasonKind.BEFORE_START
    assert (cut.cut_at(OLD), cut.cut_at(NEW), route().cut_at(OLD)) == (40, None, None)
    dense = replace(route(OffsetMap.of([MappedRange(0, 0, 40)])), is_cut=True)
    assert dense.equal(OLD, 30, 90) is None and dense.equal(OLD, 50, 90) is None
    assert why(cut.equal(OLD, 22, 90)) is ReasonKind.NOT_EQUAL


def test_given_offsets_are_taken_where_the_log_has_them() -> None:
    """By the topic's new name; a marker is looked up by them, and outside of the log or without one is refused."""
    given_ = ExplicitRoute(
        "the file", {NEW: 7}, {"orders": "eu.orders"}, TargetSnapshot({NEW: LOG}, {"eu.orders": frozenset({0})})
    )
    found = given_.move(position(3))
    assert isinstance(found, TranslatedPosition) and (found.partition, found.offset, found.repeated) == (NEW, 7, 4)
    found = given_.move(position(SymbolicOffset.EARLIEST))
    assert isinstance(found, TranslatedPosition) and found.offset == 7 and found.repeated is None
    for role in (OffsetRole.STOP, OffsetRole.BATCH_START, OffsetRole.BATCH_END):
        assert why(given_.move(position(3, role))) is ReasonKind.UNSUPPORTED
    assert why(given_.equal(OLD, 1, 2)) is ReasonKind.NOT_EQUAL
    other = TopicPartition("eu.orders", 1)
    none = ExplicitRoute(
        "the file", {NEW: 7}, {"orders": "eu.orders"}, TargetSnapshot({other: LOG, NEW: ReadableRange(8, 9, 9)})
    )
    assert why(none.move(position(3))) is ReasonKind.OUTSIDE_LOG
    assert why(none.move(position(3, partition=TopicPartition("orders", 1)))) is ReasonKind.NOT_IN_LINK


@pytest.mark.parametrize(("given_offset", "inside"), [(7, False), (8, True), (90, True), (91, False)])
def test_a_given_offset_lies_between_the_start_and_the_stable_end(given_offset: int, inside: bool) -> None:
    """Both ends are positions; before, behind, and in a transaction that is still open there is none."""
    target = TargetSnapshot({NEW: ReadableRange(8, 90, 100)}, {"eu.orders": frozenset({0})})
    found = ExplicitRoute("the file", {NEW: given_offset}, {"orders": "eu.orders"}, target).move(position(3))
    assert (
        found.offset == given_offset if isinstance(found, TranslatedPosition) else why(found) is ReasonKind.OUTSIDE_LOG
    )
    assert isinstance(found, TranslatedPosition) is inside


def test_a_target_topic_that_is_not_there_is_the_reason() -> None:
    """The topic's own refusal is the answer for each of its partitions."""
    gone = Reason(ReasonKind.OUTSIDE_LOG, "topic eu.orders is not there")
    there = TargetSnapshot({}, {"eu.orders": gone})
    assert ExplicitRoute("x", {NEW: 7}, {"orders": "eu.orders"}, there).move(position(3)) is gone
    assert there.partitions("eu.orders") is gone


def test_batches_that_have_begun_are_found_by_source_and_partition() -> None:
    """A start and an end of one source and partition make a range; empty ones and those without a start do not."""
    found = batches(
        [
            position(5, OffsetRole.BATCH_START),
            position(9, OffsetRole.BATCH_END),
            position(3, OffsetRole.BATCH_END, TopicPartition("orders", 1)),
            position(9),
        ]
    )
    assert found == [(OLD, 5, 9)]


@st.composite
def maps(draw: st.DrawFn) -> OffsetMap:
    """A small map with gaps and strangers."""
    ranges, source, target = [], draw(st.integers(0, 5)), draw(st.integers(0, 5))
    start = (source, target)
    for _ in range(draw(st.integers(0, 4))):
        source += draw(st.integers(0, 3))
        target += draw(st.integers(0, 3))
        length = draw(st.integers(1, 4))
        ranges.append(MappedRange(source, target, length))
        source, target = source + length, target + length
    built = OffsetMap.of(ranges, *start)
    return built.advance(max(built.source_end, source + draw(st.integers(0, 2))), target + draw(st.integers(0, 2)))


@given(maps(), st.data())
def test_counts_are_those_of_single_records(ranges: OffsetMap, data: st.DataObject) -> None:
    """Records of ranges on both sides, equal places and equal ranges agree with a dictionary of single records."""
    pairs = {run.source + i: run.target + i for run in ranges for i in range(run.length)}
    lane = MappedLane("m", OLD, NEW, ranges)
    low, high = sorted(data.draw(st.tuples(st.integers(0, 30), st.integers(0, 30))))
    assert records_of(ranges, low, high) == sum(low <= at < high for at in pairs)
    if high <= ranges.target_end:
        assert copied(ranges, low, high) == sum(low <= at < high for at in pairs.values())
        assert same_place(lane, low, high) is not any(low <= at < high for at in pairs.values())
    log = ReadableRange(0, ranges.target_end, ranges.target_end)
    for at in (low, high):
        told = to_target(ranges, at)
        if isinstance(told, Exact):
            assert target_offset(lane, at, log) == told.offset
    if unequal(lane, low, high, log) is None:
        first, last = (to_target(ranges, at) for at in (low, high))
        assert isinstance(first, Exact) and isinstance(last, Exact)
        assert [pairs.get(at) for at in range(low, high)] == list(range(first.offset, last.offset))
