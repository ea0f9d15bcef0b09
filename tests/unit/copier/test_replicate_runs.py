"""The runs of a lane while it is copied: persisted in segments, cut, and read back."""

from __future__ import annotations

import random
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.kafka.log import LogEntry
from anabranch.model.lane import LaneKey
from anabranch.model.topics import TopicId
from anabranch.offsets import codec
from anabranch.offsets.errors import RangeOrderError
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.state.segments.index import HELD, SEGMENT_RANGES, OffsetMapIndex, OlderRangesError, in_order
from anabranch.state.segments.retiring import MARKS, SegmentStarts, Starts
from anabranch.state.topics.control import MappedRanges
from tests.chance import examples, seed

pytestmark = pytest.mark.unit

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 3), st.integers(1, 9)),
        st.tuples(st.just("grow"), st.integers(0, 3), st.integers(1, 9)),
        st.tuples(st.just("cut"), st.integers(0, 40), st.just(0)),
        st.tuples(st.just("file"), st.booleans(), st.just(0)),
        st.tuples(st.just("retire"), st.integers(0, 60), st.integers(0, 60)),
        st.tuples(st.just("late"), st.integers(0, 9), st.just(0)),
    ),
    max_size=40,
)


class Store:
    """The compacted topic with the segments."""

    def __init__(self) -> None:
        self.segments: dict[int, tuple[MappedRange, ...]] = {}
        self.stored: dict[int, bytes] = {}
        self.retired: dict[int, bytes] = {}
        self.begins = SegmentStarts()

    def put(self, number: int, stored: bytes) -> None:
        """One segment; an empty one is forgotten."""
        self.segments.pop(number, None)
        self.stored[number] = stored
        if stored:
            self.segments[number] = tuple(codec.decode(stored))
            self.begins.keep(number, stored)
        else:
            self.begins.drop(number)

    def retire(self, starts: Starts, book: OffsetMapIndex) -> None:
        """Forget what lies below both starts, as a worker does; the rest begins at or below them."""
        numbers = self.begins.retirable(starts, book.first)
        for run in in_order({number: self.segments.get(number, ()) for number in numbers}):
            assert run.source_end <= starts.source and run.target_end <= starts.target
        for number in numbers:
            if number in self.stored:
                self.retired[number] = self.stored.pop(number)
                self.segments.pop(number, None)
        self.begins.retired(numbers.stop)
        if numbers and (left := in_order(self.segments)):
            assert left[0].source <= starts.source and left[0].target <= starts.target

    def file(self, book: OffsetMapIndex, *, fails: bool) -> None:
        """File what changed, as a worker does."""
        unpersisted = book.unpersisted()
        if not unpersisted:
            return
        book.persisted()
        if fails:
            book.persist_again(unpersisted[0][0])
            return
        for number, stored in unpersisted:
            self.put(number, stored)


def hold(steps: list[tuple[str, int, int]], segment: int, held: int) -> int:
    """What must hold of a book and its store after these steps; returns how many segments were retired."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("anabranch.state.segments.index.SEGMENT_RANGES", segment)
        patch.setattr("anabranch.state.segments.index.HELD", held)
        book, store, whole, starts = OffsetMapIndex(), Store(), OffsetMap(), Starts(0, 0)
        for kind, first, length in steps:
            if kind in {"append", "grow"}:
                for _ in range(12 if kind == "grow" else 1):
                    last, before = book.last, book._last
                    # Behind a cut the log begins again where it was cut, which may be behind the last run that is left.
                    source, target = (last.source_end, book.map.target_end) if last else (0, 0)
                    run = MappedRange(source + (kind == "grow"), target + first, length)
                    book.append(run)
                    if book._last > before:  # a segment was closed, and older ones let go where they are persisted
                        assert book._last - book.first < 2 * held or book.first in book._dirty | book._under_way
                    whole = whole.append(run) if last else OffsetMap.of([run])
            elif kind == "cut":
                end = max(starts.target, (book.last.target_end if book.last else 0) - first)
                if book.first and end <= book.map[0].target:
                    with pytest.raises(OlderRangesError):
                        book.cut(end)
                    continue
                book.cut(end)
                whole = whole.truncate(end)
            elif kind == "retire":
                source, target = (
                    min(starts.source + first, whole.source_end),
                    min(starts.target + length, whole.target_end),
                )
                starts = Starts(max(starts.source, source), max(starts.target, target))
                store.retire(starts, book)
            elif kind == "late" and store.retired:
                number = sorted(store.retired)[first % len(store.retired)]
                if number not in store.segments:
                    store.put(number, store.retired[number])
            elif kind == "file":
                store.file(book, fails=bool(first))
        store.file(book, fails=False)
        late = store.segments.keys() & store.retired.keys()
        left = in_order({number: ranges for number, ranges in store.segments.items() if number not in late})
        below = list(whole)[: len(whole) - len(left)]
        assert below + left == list(whole)
        assert all(run.source_end <= starts.source and run.target_end <= starts.target for run in below)
        again = OffsetMapIndex.of_segments(store.segments)
        assert again.last == book.last and again._last == book._last
        assert all(book.is_as_persisted(number, store.stored[number]) for number in store.stored)
        assert book.unpersisted() == []
        store.retire(Starts(whole.source_end, whole.target_end), book)
        for _ in range(20):  # what came late is retired once the owner holds none below the next segment that is noted
            if not late & store.segments.keys():
                break
            for _ in range(12):
                source, target = (book.last.source_end, book.last.target_end) if book.last else (0, 0)
                book.append(MappedRange(source + 1, target + 1, 1))
            store.file(book, fails=False)
            store.retire(Starts(book.map.source_end, book.map.target_end), book)
        assert not late & store.segments.keys()
        return len(store.retired)


@examples(200)
@given(STEPS, st.integers(1, 4), st.integers(1, 3))
def test_what_was_persisted_is_every_run_after_any_appends_cuts_and_failures(
    steps: list[tuple[str, int, int]], segment: int, held: int
) -> None:
    """Whatever failed, one write of progress that succeeds brings the store level; cut runs do not come back, and what
    a book no
    longer holds is in the store."""
    hold(steps, segment, held)


def test_what_is_retired_lies_below_both_starts_and_all_else_stays() -> None:
    """Also where an earlier owner stores again, late, what was retired; and what is left begins below both starts."""
    retired = 0
    for number in range(25):
        chance = random.Random(seed(number))
        steps = [
            (chance.choice(("grow", "grow", "file", "file", "append", "cut", "retire", "retire", "late")), 0, 0)
            for _ in range(30)
        ]
        drawn = {"cut": 6, "file": 1, "retire": 60}
        some = [
            (kind, chance.randint(0, drawn.get(kind, 3)), chance.randint(1, drawn.get(kind, 9))) for kind, _, _ in steps
        ]
        retired += hold(some, chance.randint(1, 3), chance.randint(1, 2))
    assert retired > 20


def test_of_a_map_of_any_length_some_begins_are_noted_and_a_sixteenth_is_retired_late() -> None:
    """A week of a busy lane is thousands of segments; each is retired in the end."""
    begins, length = SegmentStarts(), 5_000
    for number in range(length):
        begins.keep(number, codec.encode(OffsetMap.of([MappedRange(100 * number, 10 * number, 5)])))
    assert len(begins._noted) <= MARKS
    everything = Starts(100 * length, 10 * length)
    half = begins.retirable(Starts(100 * length // 2, 10 * length), length)
    assert half.start == 0 and length // 2 - length // 16 <= half.stop <= length // 2
    assert begins.retirable(Starts(100 * length, 99), length).stop == 0
    assert begins.retirable(everything, 9).stop <= 9
    begins.retired(half.stop)
    assert begins.retirable(everything, length).start == half.stop
    begins.keep(7, codec.encode(OffsetMap.of([MappedRange(700, 70, 5)])))
    assert begins.retirable(everything, length).start == 7
    begins.drop(7)
    assert begins.retirable(everything, length).start == 8


def test_the_bytes_of_a_segment_that_grows_are_those_of_its_map() -> None:
    """One map has one encoding, however it came to be."""
    writer, ranges = codec.Writer(), [MappedRange(5 + 7 * at, 3 + 6 * at, 1 + at % 5) for at in range(40)]
    for at, run in enumerate(ranges):
        assert writer.with_last(run) == codec.encode(OffsetMap.of(ranges[: at + 1]))
        writer.append(run)
        assert writer.close() == codec.encode(OffsetMap.of(ranges[: at + 1]))
    assert codec.begins(writer.close()) == (5, 3)


def test_only_the_last_segment_is_written_again() -> None:
    """However long the lane has grown, persisting an appended run costs one segment."""
    book = OffsetMapIndex()
    for number in range(3 * SEGMENT_RANGES):
        book.append(MappedRange(number, 2 * number, 1))
    assert [number for number, _ in book.unpersisted()] == [0, 1, 2]
    book.persisted()
    book.append(MappedRange(3 * SEGMENT_RANGES, 6 * SEGMENT_RANGES, 1))
    assert [number for number, _ in book.unpersisted()] == [3]


def test_batches_that_follow_each_other_are_one_run() -> None:
    """A lane without gaps and fences has one run."""
    book = OffsetMapIndex()
    for number in range(100):
        book.append(MappedRange(10 * number, 7 + 10 * number, 10))
    assert list(book.map) == [MappedRange(0, 7, 1000)]


def test_a_segment_that_somebody_overwrote_is_persisted_again() -> None:
    """What is to be persisted in any case is not compared; what was persisted must be there as it was."""
    book = OffsetMapIndex(MappedRange(2 * at, at, 1) for at in range(SEGMENT_RANGES + 2))
    book.persist_again(0)
    (_, first), (_, second) = book.unpersisted()
    book.persisted()
    assert book.is_as_persisted(0, first) and book.is_as_persisted(1, second)
    assert not book.is_as_persisted(0, second) and not book.is_as_persisted(1, b"")
    book.append(MappedRange(9000, 9000, 1))
    assert book.is_as_persisted(1, second) and not book.is_as_persisted(0, second)
    book.persist_again(0)
    assert [number for number, _ in book.unpersisted()] == [0, 1]


def test_a_segment_that_somebody_stored_above_all_others_is_forgotten() -> None:
    """A late request from before a truncation: left there, it would contradict what the lane has there one day."""
    book, stray = OffsetMapIndex([MappedRange(0, 0, 9)]), codec.encode(OffsetMap.of([MappedRange(7000, 7000, 5)]))
    assert not book.is_as_persisted(5, stray)
    book.append(MappedRange(20, 9, 1))
    assert not book.is_as_persisted(5, stray), "what is to be persisted does not reach it"
    book.persist_again(5)
    assert book.unpersisted()[-1] == (5, b"")
    book.persisted()
    assert book.is_as_persisted(5, b"")


def test_maps_that_follow_each_other_are_joined_and_others_refused() -> None:
    """As if each run had been appended, also where two are one."""
    ranges = [MappedRange(5 + 7 * at, 3 + 6 * at, 1 + at % 5) for at in range(30)]
    parts = [OffsetMap.of(ranges[:10]), OffsetMap(), OffsetMap.of(ranges[10:25]), OffsetMap.of(ranges[25:])]
    assert OffsetMap.joined(parts) == OffsetMap.of(ranges) and OffsetMap.joined([]) == OffsetMap()
    assert OffsetMap.joined(
        [OffsetMap.of([MappedRange(0, 0, 5)]), OffsetMap.of([MappedRange(5, 5, 2)])]
    ) == OffsetMap.of([MappedRange(0, 0, 7)])
    for bad in (MappedRange(4, 50, 1), MappedRange(50, 4, 1)):
        with pytest.raises(RangeOrderError):
            OffsetMap.joined([OffsetMap.of([MappedRange(0, 0, 5)]), OffsetMap.of([bad])])


def test_a_cut_below_the_segments_that_are_held_is_known_to_leave_others() -> None:
    """An empty book would be taken for a lane that nobody persisted."""
    ranges = MappedRanges(Cluster(Transport("c", "User:ANONYMOUS"), []), HELD)
    lane = LaneKey("l", TopicId(uuid.UUID(int=9)), 0)
    key = str(lane).encode()
    stored = [codec.encode(OffsetMap.of([MappedRange(100 * at, 10 * at, 5)])) for at in range(10)]

    def take(number: int, value: bytes | None) -> None:
        ranges._take(LogEntry(number, key + b"/%d" % number, value))

    assert not ranges.lacks(lane)
    for number in range(10):
        take(number, stored[number])
    assert not ranges.lacks(lane)
    take(5, codec.encode(OffsetMap.of([MappedRange(500, 50, 1)])))
    for number in range(6, 10):
        take(number, None)
    assert ranges.lacks(lane)
    take(6, stored[6])
    assert not ranges.lacks(lane) and ranges.book(lane).first == 6
