"""What is read of persisted runs while many read them: nothing older for newer, and no news lost."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
import uuid
from collections.abc import Callable
from typing import Any, cast

import pytest

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.reporting.progress_writer import ProgressWriter
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.kafka.log import LogEntry
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.errors import RangeOrderError
from anabranch.offsets.offset_map import MappedRange
from anabranch.sandbox import ClusterSpec
from anabranch.state.codecs import ranges as range_codec
from anabranch.state.codecs.topics import RUNS
from anabranch.state.segments.index import HELD, SEGMENT_RANGES, OffsetMapIndex, OlderRangesError, Segments
from anabranch.state.topics.control import MappedRanges, ensure_topics
from tests.simulated import Simulated
from tests.unit.asking import on

pytestmark = pytest.mark.unit

TOPIC = TopicId(uuid.UUID(int=9))
KEY = LaneKey("l", TOPIC, 0)
OLDER, NEWER = (MappedRange(0, 0, 3),), (MappedRange(0, 0, 3), MappedRange(5, 3, 4))


class Log:
    """A control topic that looks for its end at once and answers when it may."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self.position = 0
        self.held: list[asyncio.Event] = []

    def add(self, number: int, ranges: tuple[MappedRange, ...], epoch: int = 0) -> None:
        """Somebody files a segment of the lane."""
        self.entries.append(
            LogEntry(len(self.entries), range_codec.range_key(KEY, number), range_codec.encode(ranges, epoch))
        )

    async def fold(self, take: Callable[[LogEntry], None]) -> None:
        """Hand out what is there as of now, after waiting for as long as the test wants."""
        at, end = self.position, len(self.entries)
        if self.held:
            await self.held.pop(0).wait()
        for entry in self.entries[at:end]:
            take(entry)
        self.position = end


def made() -> tuple[MappedRanges, Log]:
    """Runs over such a topic."""
    ranges, log = MappedRanges(Cluster(Transport("c", "User:ANONYMOUS"), [])), Log()
    ranges._log = cast(Any, log)
    return ranges, log


def test_a_reading_that_ends_late_puts_nothing_older_over_what_is_newer() -> None:
    """Takeovers of many lanes read at once, each whenever it comes to it."""

    async def play() -> dict[int, tuple[MappedRange, ...]]:
        ranges, log = made()
        slow = asyncio.Event()
        log.held.append(slow)
        log.add(0, OLDER)
        first = asyncio.create_task(ranges.sync())
        await asyncio.sleep(0)
        log.add(0, NEWER)
        second = asyncio.create_task(ranges.sync())
        for _ in range(10):
            await asyncio.sleep(0)
        slow.set()
        await asyncio.gather(first, second)
        return ranges.segments[KEY]

    assert asyncio.run(play()) == {0: NEWER}


def test_what_an_earlier_owner_overwrote_is_noticed_whoever_read_it() -> None:
    """The takeover of another lane may read it, or it may come while this lane is just taken over again: gap records
    are
    forgotten only behind runs that are there."""

    async def play() -> list[set[str]]:
        ranges, log = made()
        log.add(0, NEWER)
        await ranges.sync()
        lane = Lane(
            LaneAssignment(KEY, TopicPartition("t", 0), TopicPartition("t", 0), TOPIC, LaneStart(), ModePolicy.AUTO)
        )
        lane.copied.book = ranges.book(KEY)
        lane.phase = LanePhase.RUNNING
        none = cast(Any, None)
        writer = ProgressWriter("me", [lane], ranges, none, none, none, WriteGate())
        found = [await writer._check_persisted()]
        log.add(0, OLDER)
        await ranges.sync()  # a colleague, for a lane of its own
        lane.phase = LanePhase.TAKING
        found.append(await writer._check_persisted())
        lane.phase = LanePhase.RUNNING
        found.append(await writer._check_persisted())
        assert lane.copied.book.unpersisted() == [(0, range_codec.encode(NEWER))]
        return found

    assert asyncio.run(play()) == [set(), set(), {str(KEY)}]


def test_runs_of_an_earlier_owner_that_come_late_are_no_newer_ones() -> None:
    """They are persisted over once more, for compaction would leave them; what a later owner cut stays cut."""

    async def play() -> None:
        ranges, log = made()
        log.add(0, OLDER, epoch=3)
        log.add(0, NEWER, epoch=7)
        log.add(0, OLDER, epoch=3)
        await ranges.sync()
        assert ranges.segments[KEY] == {0: NEWER} and ranges.segments[KEY].epoch == 7
        book = ranges.book(KEY)
        assert list(book.map) == list(NEWER) and book.unpersisted() == [(0, range_codec.encode(NEWER))]
        log.add(0, OLDER, epoch=5)
        log.add(0, NEWER, epoch=7)
        await ranges.sync()
        assert ranges.book(KEY).unpersisted() == [], "the latest owner's are the last of the topic"
        log.add(0, OLDER, epoch=8)
        await ranges.sync()
        assert ranges.segments[KEY] == {0: OLDER}, "an election took the newer ones"

    asyncio.run(play())


def test_who_takes_a_lane_over_files_as_a_later_owner_than_all_before() -> None:
    """Also where the claims were made again, and begin at offset 0."""

    async def play() -> list[int]:
        ranges, log = made()
        found = []
        for claim_offset in (0, 9, 9, 2):
            ranges.claimed(KEY, claim_offset)
            log.entries.append(LogEntry(0, range_codec.range_key(KEY, 0), ranges._value(KEY, OLDER)))
            found.append(range_codec.owned(log.entries[-1].value or b"")[0])
        other, _ = made()
        other._log = cast(Any, log)
        await other.sync()
        other.claimed(KEY, 3)
        return [*found, other._epochs[KEY]]

    assert asyncio.run(play()) == [1, 10, 20, 23, 27]


@pytest.mark.parametrize("read", [0, 3, 5, 100])
def test_of_two_owners_the_later_claim_has_the_later_epoch(read: int) -> None:
    """Whichever of them comes first, and also where both have read what was persisted before claims were lost."""

    async def play() -> tuple[int, int]:
        found = []
        for claim_offset in (5, 7):
            ranges, log = made()
            log.add(0, OLDER, epoch=read)
            await ranges.sync()
            ranges.claimed(KEY, claim_offset)
            found.append(ranges._epochs[KEY])
        return found[0], found[1]

    earlier, later = asyncio.run(play())
    assert read < earlier < later


def test_who_waits_for_a_reading_that_began_later_reads_no_more() -> None:
    """Thousands of lanes may be taken over at once, and each asks what was persisted of it."""

    async def play() -> int:
        ranges, log = made()
        log.held += [asyncio.Event() for _ in range(16)]
        held = list(log.held)
        asking = [asyncio.create_task(ranges.sync()) for _ in range(16)]
        await asyncio.sleep(0)
        log.add(0, NEWER)  # behind the end that the first of them has seen
        for one in held:
            one.set()
        await asyncio.gather(*asking)
        assert ranges.segments[KEY] == {0: NEWER}
        return len(held) - len(log.held)

    assert asyncio.run(play()) == 2


def test_a_book_that_cannot_be_made_leaves_its_news() -> None:
    """Whoever copies the lane one day has still to look at them."""
    ranges, _ = made()
    ranges.segments[KEY].update({0: (MappedRange(0, 0, 50),), 1: (MappedRange(40, 40, 9),)})
    ranges._changed = {KEY}
    with pytest.raises(RangeOrderError):
        ranges.book(KEY)
    assert ranges.has_news(KEY)
    ranges.segments[KEY].pop(1)
    assert ranges.book(KEY).last == MappedRange(0, 0, 50)
    assert not ranges.has_news(KEY) and ranges.news(KEY) == {}


def test_a_lane_of_any_age_takes_as_much_memory_as_one_of_some_thousand_runs() -> None:
    """Each worker reads the persisted runs of all lanes; it keeps the ends, and of its own lanes as runs."""
    ranges, log = made()
    ranges.segments[KEY] = Segments(HELD)
    for number in range(10):
        first = 10**12 + 10_000 * number
        log.add(number, tuple(MappedRange(at, at, 8) for at in range(first, first + 10_000, 10)))
    log.add(10, (MappedRange(2 * 10**12, 2 * 10**12, 1),))
    tracemalloc.start()
    try:
        asyncio.run(ranges.sync())
        log.entries.clear()
        gc.collect()
        every = tracemalloc.get_traced_memory()[0]
        book = ranges.book(KEY)
        gc.collect()
        owner = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(book.map) == (HELD - 1) * SEGMENT_RANGES + 1 and book.first == 11 - HELD
    assert every < 20_000 and owner < 120_000, (every, owner)


def test_runs_below_those_that_are_held_are_read_where_a_target_lost_that_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lay above is to be forgotten, whether it is held or not."""
    monkeypatch.setattr("anabranch.state.segments.index.SEGMENT_RANGES", 10)
    persisted = {
        number: tuple(MappedRange(7 * at, 5 * at, 5) for at in range(10 * number, 10 * number + 10))
        for number in range(12)
    }

    async def ask(cluster: Cluster) -> tuple[MappedRanges, OffsetMapIndex, OffsetMapIndex]:
        await ensure_topics(cluster, [RUNS])
        await MappedRanges(cluster).persist({(KEY, number): ranges for number, ranges in persisted.items()})
        ranges = MappedRanges(cluster, HELD)
        await ranges.sync()
        return ranges, ranges.book(KEY), await ranges.book_below(KEY, 5 * 35 + 2)

    with Simulated(ClusterSpec(name="one")) as simulated:
        ranges, held, below = on(ClusterContext("one", (simulated.bootstrap,)), ask)
    assert sorted(ranges.segments[KEY]) == [8, 9, 10, 11] and held.first == 8
    with pytest.raises(OlderRangesError):
        held.cut(5 * 35 + 2)
    assert below.last == MappedRange(7 * 35, 5 * 35, 2) and below.map.target_end == 5 * 35 + 2
    assert below.first == 0 and [number for number, stored in below.unpersisted() if not stored] == list(range(4, 12))
    assert below.unpersisted()[0][0] == 3


def test_a_lane_that_is_copied_elsewhere_leaves_no_news_behind() -> None:
    """They would be kept for as long as its new worker copies; when it comes back it is looked at again."""

    async def play() -> None:
        ranges, log = made()
        log.add(0, OLDER)
        await ranges.sync()
        ranges.book(KEY)
        ranges.leave(KEY)
        log.add(0, NEWER)
        await ranges.sync()
        assert ranges.news(KEY) == {} and ranges.has_news(KEY)
        ranges.keep_news(KEY)
        assert ranges.news(KEY) == {0: range_codec.encode(NEWER)}

    asyncio.run(play())
