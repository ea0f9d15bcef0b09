"""The runs of a lane while it is copied: filed in segments, cut, and read back."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chance import examples

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.kafka.log import Entry
from anabranch.model.lane import LaneKey
from anabranch.model.topics import TopicId
from anabranch.offsets import codec
from anabranch.offsets.errors import RunOrderError
from anabranch.offsets.runs import Run, RunMap
from anabranch.replicate.control import Runs
from anabranch.replicate.runs import HELD, SEGMENT_RUNS, OlderRunsError, RunBook, in_order

pytestmark = pytest.mark.unit

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 3), st.integers(1, 9)),
        st.tuples(st.just("cut"), st.integers(0, 40), st.just(0)),
        st.tuples(st.just("file"), st.booleans(), st.just(0)),
    ),
    max_size=40,
)


class Store:
    """The compacted topic with the segments."""

    def __init__(self) -> None:
        self.segments: dict[int, tuple[Run, ...]] = {}
        self.stored: dict[int, bytes] = {}

    def file(self, book: RunBook, *, fails: bool) -> None:
        """File what changed, as a worker does."""
        unfiled = book.unfiled()
        if not unfiled:
            return
        book.filed()
        if fails:
            book.refile(unfiled[0][0])
            return
        for number, stored in unfiled:
            self.segments.pop(number, None)
            self.stored[number] = stored
            if stored:
                self.segments[number] = tuple(codec.decode(stored))


@examples(200)
@given(STEPS, st.integers(1, 4), st.integers(1, 3))
def test_what_was_filed_is_every_run_after_any_appends_cuts_and_failures(
    steps: list[tuple[str, int, int]], segment: int, held: int
) -> None:
    """Whatever failed, one filing that succeeds brings the store level; cut runs do not come back, and what a book no
    longer holds is in the store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("anabranch.replicate.runs.SEGMENT_RUNS", segment)
        patch.setattr("anabranch.replicate.runs.HELD", held)
        book, store, whole = RunBook(), Store(), RunMap()
        for kind, first, length in steps:
            last = book.last
            if kind == "append":
                # Behind a cut the log begins again where it was cut, which may be behind the last run that is left.
                source, target = (last.source_end, book.map.target_end) if last else (0, 0)
                before = book._last
                book.append(Run(source, target + first, length))
                if book._last > before:  # a segment was closed, and older ones let go where they are filed
                    assert book._last - book.first < 2 * held or book.first in book._dirty | book._under_way
                whole = whole.append(Run(source, target + first, length)) if last else RunMap.of([book.map[0]])
            elif kind == "cut":
                end = max(0, (last.target_end if last else 0) - first)
                if book.first and end <= book.map[0].target:
                    with pytest.raises(OlderRunsError):
                        book.cut(end)
                    continue
                book.cut(end)
                whole = whole.truncate(end)
            else:
                store.file(book, fails=bool(first))
        store.file(book, fails=False)
        assert in_order(store.segments) == list(whole)
        again = RunBook.of_segments(store.segments)
        assert again.last == book.last and again._last == book._last
        assert all(book.is_as_filed(number, store.stored[number]) for number in store.stored)
        assert book.unfiled() == []


def test_the_bytes_of_a_segment_that_grows_are_those_of_its_map() -> None:
    """One map has one encoding, however it came to be."""
    writer, runs = codec.Writer(), [Run(5 + 7 * at, 3 + 6 * at, 1 + at % 5) for at in range(40)]
    for at, run in enumerate(runs):
        assert writer.with_last(run) == codec.encode(RunMap.of(runs[: at + 1]))
        writer.append(run)
        assert writer.close() == codec.encode(RunMap.of(runs[: at + 1]))
    assert codec.begins(writer.close()) == (5, 3)


def test_only_the_last_segment_is_written_again() -> None:
    """However long the lane has grown, filing an appended run costs one segment."""
    book = RunBook()
    for number in range(3 * SEGMENT_RUNS):
        book.append(Run(number, 2 * number, 1))
    assert [number for number, _ in book.unfiled()] == [0, 1, 2]
    book.filed()
    book.append(Run(3 * SEGMENT_RUNS, 6 * SEGMENT_RUNS, 1))
    assert [number for number, _ in book.unfiled()] == [3]


def test_batches_that_follow_each_other_are_one_run() -> None:
    """A lane without holes and fences has one run."""
    book = RunBook()
    for number in range(100):
        book.append(Run(10 * number, 7 + 10 * number, 10))
    assert list(book.map) == [Run(0, 7, 1000)]


def test_a_segment_that_somebody_overwrote_is_filed_again() -> None:
    """What is to be filed in any case is not compared; what was filed must be there as it was."""
    book = RunBook(Run(2 * at, at, 1) for at in range(SEGMENT_RUNS + 2))
    book.refile(0)
    (_, first), (_, second) = book.unfiled()
    book.filed()
    assert book.is_as_filed(0, first) and book.is_as_filed(1, second)
    assert not book.is_as_filed(0, second) and not book.is_as_filed(1, b"")
    book.append(Run(9000, 9000, 1))
    assert book.is_as_filed(1, second) and not book.is_as_filed(0, second)
    book.refile(0)
    assert [number for number, _ in book.unfiled()] == [0, 1]


def test_a_segment_that_somebody_stored_above_all_others_is_forgotten() -> None:
    """A late request from before a truncation: left there, it would contradict what the lane has there one day."""
    book, stray = RunBook([Run(0, 0, 9)]), codec.encode(RunMap.of([Run(7000, 7000, 5)]))
    assert not book.is_as_filed(5, stray)
    book.append(Run(20, 9, 1))
    assert not book.is_as_filed(5, stray), "what is to be filed does not reach it"
    book.refile(5)
    assert book.unfiled()[-1] == (5, b"")
    book.filed()
    assert book.is_as_filed(5, b"")


def test_maps_that_follow_each_other_are_joined_and_others_refused() -> None:
    """As if each run had been appended, also where two are one."""
    runs = [Run(5 + 7 * at, 3 + 6 * at, 1 + at % 5) for at in range(30)]
    parts = [RunMap.of(runs[:10]), RunMap(), RunMap.of(runs[10:25]), RunMap.of(runs[25:])]
    assert RunMap.joined(parts) == RunMap.of(runs) and RunMap.joined([]) == RunMap()
    assert RunMap.joined([RunMap.of([Run(0, 0, 5)]), RunMap.of([Run(5, 5, 2)])]) == RunMap.of([Run(0, 0, 7)])
    for bad in (Run(4, 50, 1), Run(50, 4, 1)):
        with pytest.raises(RunOrderError):
            RunMap.joined([RunMap.of([Run(0, 0, 5)]), RunMap.of([bad])])


def test_a_cut_below_the_segments_that_are_held_is_known_to_leave_others() -> None:
    """An empty book would be taken for a lane that nobody filed."""
    runs = Runs(Cluster(Transport("c", "User:ANONYMOUS"), []), HELD)
    lane = LaneKey("l", TopicId(uuid.UUID(int=9)), 0)
    key = str(lane).encode()
    stored = [codec.encode(RunMap.of([Run(100 * at, 10 * at, 5)])) for at in range(10)]

    def take(number: int, value: bytes | None) -> None:
        runs._take(Entry(number, key + b"/%d" % number, value))

    assert not runs.lacks(lane)
    for number in range(10):
        take(number, stored[number])
    assert not runs.lacks(lane)
    take(5, codec.encode(RunMap.of([Run(500, 50, 1)])))
    for number in range(6, 10):
        take(number, None)
    assert runs.lacks(lane)
    take(6, stored[6])
    assert not runs.lacks(lane) and runs.book(lane).first == 6
