"""Which lanes' progress is persisted, and when."""

import asyncio
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.reporting.progress_writer import ProgressWriter
from anabranch.copier.reporting.schedule import MANY, ROUNDS, SPACING, STRIDE
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.kafka.log import LogEntry
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode, LaneProgress
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets import codec
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.state.codecs import ranges as range_codec
from anabranch.state.segments.index import OffsetMapIndex
from anabranch.state.topics.control import ControlLostError, MappedRanges

pytestmark = pytest.mark.unit

TOPIC = TopicId(uuid.UUID(int=9))


class Stored:
    """The control topics and the colleagues of a progress writer, in memory."""

    def __init__(self) -> None:
        self.lanes: dict[LaneKey, LaneProgress] = {}
        self.rounds: list[set[int]] = []
        self.kinds: list[str] = []
        self.stolen: set[LaneKey] = set()
        self.late: dict[LaneKey, dict[int, bytes]] = {}
        self.later: set[LaneKey] = set()
        self.segments: list[set[LaneKey]] = []
        self.fails = False
        self.hangs = False

    async def persist(
        self, reports: Iterable[LaneProgress] | Mapping[tuple[LaneKey, int], tuple[MappedRange, ...]]
    ) -> None:
        """Store, fail, or never answer."""
        if isinstance(reports, Mapping):
            self.kinds.append("runs")
            self.segments.append({lane for lane, _ in reports})
            return
        self.kinds.append("progress")
        if self.hangs:
            await asyncio.get_running_loop().create_future()
        if self.fails:
            raise ControlLostError
        self.rounds.append({one.lane.partition for one in reports})
        self.lanes |= {one.lane: one for one in reports}

    def overwritten(self, owner: str) -> set[LaneKey]:
        """What a test says that others persisted."""
        assert owner == "me"
        stolen, self.stolen = self.stolen, set()
        return stolen

    def is_anothers(self, lane: Lane) -> bool:
        """None is."""
        return lane.phase is None

    async def forget(self, *_: object) -> None:
        """Nothing."""

    async def sync(self) -> None:
        """What others persist is there at once."""

    def has_news(self, lane: LaneKey) -> bool:
        """Whether a test says that others persisted of a lane."""
        return lane in self.late

    def is_later_owners(self, lane: LaneKey) -> bool:
        """Whether a test says that it was a later owner."""
        return lane in self.later

    def news(self, lane: LaneKey) -> dict[int, bytes]:
        """What a test says that others persisted of a lane."""
        return self.late.pop(lane, {})


def made(count: int) -> tuple[ProgressWriter, list[Lane], Stored]:
    """A progress writer of some running lanes."""
    lanes = []
    for part in range(count):
        place = TopicPartition("t", part)
        lane = Lane(LaneAssignment(LaneKey("l", TOPIC, part), place, place, TOPIC, LaneStart(), ModePolicy.AUTO))
        lane.phase = LanePhase.RUNNING
        lanes.append(lane)
    stored, gate = Stored(), WriteGate(lambda: 0.0)  # a machine that stands still must not shut it
    gate.renew(0.0)
    part_of: Any = cast(Any, stored)
    return ProgressWriter("me", lanes, part_of, part_of, stored.is_anothers, stored.forget, gate), lanes, stored


def test_lanes_that_stand_still_are_persisted_in_turn_and_each_within_its_rounds() -> None:
    """At first all, then a share each second: every lane again within the rounds, whatever their number."""
    for count in (1, 5, 12, 30):
        writer, _, stored = made(count)
        for _ in range(ROUNDS + 1):
            asyncio.run(writer.persist())
        assert stored.rounds[0] == set(range(count))
        assert all(len(one) == -(-count // ROUNDS) for one in stored.rounds[1:])
        assert set.union(*stored.rounds[1:]) == set(range(count))


def test_what_changed_is_persisted_at_once() -> None:
    """Records, ends and reasons are news; nothing else is persisted beside them but the share."""
    writer, lanes, stored = made(36)
    asyncio.run(writer.persist())
    lanes[30].copied.tally.records += 1
    lanes[31].source.stable = 5
    lanes[32].status.held_by = "someone"
    asyncio.run(writer.persist())
    assert stored.rounds[1] == {3, 4, 5, 30, 31, 32}
    assert stored.lanes[lanes[32].assignment.lane].stop_reason == "someone"


def test_what_could_not_be_persisted_is_persisted_again() -> None:
    """A batch that was not acknowledged may not be there."""
    writer, lanes, stored = made(24)
    stored.fails = True
    asyncio.run(writer.persist())
    stored.fails = False
    asyncio.run(writer.persist())
    assert stored.rounds == [set(range(len(lanes)))]


def test_what_was_being_persisted_when_it_was_cancelled_is_persisted_again() -> None:
    """Whoever was cancelled was persisting for every lane: runs that are taken for persisted would never be."""

    async def play() -> list[list[int]]:
        writer, lanes, stored = made(2)
        for lane in lanes:
            lane.copied.book.append(MappedRange(0, 0, 5))
        stored.hangs = True
        task = asyncio.create_task(writer.persist())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        return [[number for number, _ in lane.copied.book.unpersisted()] for lane in lanes]

    assert asyncio.run(play()) == [[0], [0]]


def test_what_somebody_else_has_persisted_is_persisted_again() -> None:
    """The record says who has the lane."""
    writer, lanes, stored = made(24)
    asyncio.run(writer.persist())
    key = lanes[20].assignment.lane
    stored.lanes[key] = replace(stored.lanes[key], owner="other")
    stored.stolen = {key}
    asyncio.run(writer.persist())
    assert 20 in stored.rounds[1]
    assert stored.lanes[key].owner == "me"


def test_runs_that_were_overwritten_late_are_persisted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of lanes that stand still and have no gap records; as the worker ends at once."""
    writer, lanes, stored = made(24)
    for lane in lanes:
        lane.copied.book.append(MappedRange(0, 0, 5))
    asyncio.run(writer.persist())
    late = {0: codec.encode(OffsetMap.of([MappedRange(0, 0, 4)]))}
    stored.segments.clear()
    stored.late[lanes[20].assignment.lane] = late
    asyncio.run(writer.persist())
    assert stored.segments == [], "it is not looked at each second"
    monkeypatch.setattr("anabranch.copier.reporting.progress_writer.CHECK_S", 0.0)
    for _ in range(3):
        asyncio.run(writer.persist())
    assert stored.segments == [{lanes[20].assignment.lane}]
    monkeypatch.setattr("anabranch.copier.reporting.progress_writer.CHECK_S", 1e9)
    stored.late[lanes[3].assignment.lane] = late
    asyncio.run(writer.persist_last())
    assert stored.segments[1:] == [{lanes[3].assignment.lane}]


def test_over_what_a_later_owner_has_persisted_an_earlier_one_persists_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was stopped for a moment and knows of no successor: what its own map lacks would be forgotten."""
    monkeypatch.setattr("anabranch.copier.reporting.progress_writer.CHECK_S", 0.0)
    writer, (lane, other), stored = made(2)
    key = lane.assignment.lane
    for one in (lane, other):
        one.copied.book.append(MappedRange(0, 0, 5))
    asyncio.run(writer.persist())
    stored.segments.clear()
    stored.rounds.clear()
    stored.late[key] = {1: codec.encode(OffsetMap.of([MappedRange(20, 20, 1)]))}
    stored.later.add(key)
    for one in (lane, other):
        one.copied.book.append(MappedRange(7, 7, 1))
    asyncio.run(writer.persist(everything=True))
    assert (stored.segments, stored.rounds) == ([{other.assignment.lane}], [{other.assignment.lane.partition}])
    assert key in stored.late, "its next takeover here reads it"
    stored.later.clear()  # it was taken over here
    stored.late.clear()
    asyncio.run(writer.persist(everything=True))
    assert key in stored.segments[-1] and key.partition in stored.rounds[-1]


def test_what_a_later_owner_has_persisted_of_an_identity_lane_stays() -> None:
    """An earlier owner that does not know yet that it is one would take from the map what only the later one has."""
    writer, (lane,), stored = made(1)
    lane.status.mode = LaneMode.IDENTITY
    lane.copied.book.append(MappedRange(0, 0, 5))
    lane.copied.book.append(MappedRange(7, 7, 2))
    asyncio.run(writer.persist())
    first, more = MappedRange(0, 0, 5), MappedRange(7, 7, 3)
    for theirs, again in (
        ([first, more], False),
        ([first, more, MappedRange(20, 20, 1)], False),
        ([first, MappedRange(7, 7, 1)], True),
        ([first], True),
        ([MappedRange(0, 0, 4), more], True),
        ([first, MappedRange(8, 8, 2)], True),
    ):
        stored.segments.clear()
        stored.late[lane.assignment.lane] = {0: codec.encode(OffsetMap.of(theirs))}
        asyncio.run(writer.persist_last())
        assert bool(stored.segments) is again, theirs
    stored.segments.clear()
    stored.late[lane.assignment.lane] = {0: b""}
    asyncio.run(writer.persist_last())
    assert stored.segments, "it was forgotten"
    stored.segments.clear()
    stored.late[lane.assignment.lane] = {1: codec.encode(OffsetMap.of([MappedRange(20, 20, 1)]))}
    asyncio.run(writer.persist_last())
    assert not stored.segments, "a segment behind these"


def test_runs_are_persisted_before_the_position_that_they_lead_to() -> None:
    """Whoever dies in between must not have told a position whose runs nobody has."""
    writer, lanes, stored = made(2)
    lanes[0].copied.book.append(MappedRange(0, 0, 5))
    asyncio.run(writer.persist())
    assert stored.kinds == ["runs", "progress"]


def test_a_process_that_has_not_read_the_claims_lately_files_nothing() -> None:
    """It was stopped and goes on: a successor may have persisted meanwhile, and would be told wrong."""
    writer, lanes, stored = made(2)
    lanes[0].copied.book.append(MappedRange(0, 0, 5))
    writer._gate.shut()
    asyncio.run(writer.persist())
    assert stored.kinds == []
    assert [number for number, _ in lanes[0].copied.book.unpersisted()] == [0]


def test_with_thousands_of_lanes_offsets_wait_some_rounds_and_states_do_not() -> None:
    """Everybody reads what everybody files; who has stopped or is held is told at once all the same."""
    writer, lanes, stored = made(24)
    other = lanes[0].assignment.lane
    asyncio.run(writer.persist())
    persisted = stored.lanes[other]
    stored.lanes |= {LaneKey("m", TOPIC, at): persisted for at in range(SPACING * MANY)}
    stored.rounds.clear()
    for at in range(1, 2 * SPACING + 1):
        for lane in lanes:
            lane.copied.tally.records += 1
        if at == 2:
            lanes[7].status.held_by = "someone"
        asyncio.run(writer.persist())
    assert {7} in stored.rounds and len(stored.rounds) == 2 * SPACING // STRIDE + 1
    stored.rounds.remove({7})
    assert all(len(one) == len(lanes) * STRIDE // SPACING for one in stored.rounds), "something is heard every time"
    for first in range(SPACING // STRIDE):
        assert set.union(*stored.rounds[first : first + SPACING // STRIDE]) == set(range(len(lanes)))
    lanes[3].copied.tally.records += 1
    lanes[3].copied.book.append(MappedRange(0, 0, 5))
    asyncio.run(writer.persist(everything=True))
    assert 3 in stored.rounds[-1] and lanes[3].copied.book.unpersisted() == []


def test_no_position_is_persisted_before_its_runs_where_lanes_wait_for_each_other() -> None:
    """A lane that is persisted out of turn has its runs persisted with it."""
    writer, lanes, stored = made(24)
    asyncio.run(writer.persist())
    persisted = stored.lanes[lanes[0].assignment.lane]
    stored.lanes |= {LaneKey("m", TOPIC, at): persisted for at in range(SPACING * MANY)}
    for at in range(2 * SPACING):
        for lane in lanes:
            lane.copied.book.append(MappedRange(10 * at, 5 * at, 5))
            lane.copied.tally.records += 5
        lanes[at].status.waiting = "a reason"
        stored.rounds.clear()
        asyncio.run(writer.persist())
        assert at in stored.rounds[0]
        assert not any(lanes[one].copied.book.unpersisted() for one in stored.rounds[0])


def test_bytes_behind_are_unknown_until_something_was_copied() -> None:
    """Nobody knows how large the records are: 0 bytes behind would look like the end."""
    writer, (lane,), _ = made(1)
    lane.source.seen_at = time.monotonic()
    assert writer.report(lane).lag_bytes == 0
    lane.source.stable = 3000
    assert writer.report(lane).lag_bytes is None
    lane.copied.tally.records, lane.copied.tally.bytes = 10, 1000
    assert writer.report(lane).lag_bytes == 300_000


def test_what_both_logs_have_deleted_is_persisted_as_empty_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of lanes that this worker owns, by what both leaders told; what was not acknowledged is persisted again."""
    monkeypatch.setattr("anabranch.copier.reporting.progress_writer.MOST_RETIRED", 4)
    monkeypatch.setattr("anabranch.state.segments.index.SEGMENT_RANGES", 1)
    writer, (lane, other), _ = made(2)
    ranges, key = MappedRanges(Cluster(Transport("c", "User:ANONYMOUS"), [])), lane.assignment.lane
    persisted: list[tuple[LaneKey, int]] = []

    async def persist(segments: Mapping[tuple[LaneKey, int], tuple[MappedRange, ...] | bytes]) -> None:
        if stored_fails:
            raise ControlLostError
        assert not any(segments.values())
        persisted.extend(segments)

    monkeypatch.setattr(ranges, "persist", persist)
    writer._ranges = ranges
    for one in (lane, other):
        one.copied.book = OffsetMapIndex([MappedRange(20 * at, 10 * at, 5) for at in range(8, 12)], 8)
        for number in range(12):
            stored = codec.encode(OffsetMap.of([MappedRange(20 * number, 10 * number, 5)]))
            ranges._take(LogEntry(number, range_codec.range_key(one.assignment.lane, number), stored))
    for source, target, stored_fails, upto in (
        (119, -1, False, 0),  # the target has told nothing yet
        (119, 50, True, 0),
        (119, 50, False, 4),
        (119, 50, False, 5),
        (119, 9000, False, 5),
        (9000, 9000, False, 8),  # no more: the rest is held
    ):
        lane.source.log_start, lane.copied.target_start = source, target
        for _ in range(2 if stored_fails else 1):
            asyncio.run(writer.persist())
        assert persisted == [(key, number) for number in range(upto)], (source, target)
    stored_fails, lane.phase = False, LanePhase.TAKING
    ranges._take(LogEntry(99, range_codec.range_key(key, 2), codec.encode(OffsetMap.of([MappedRange(40, 20, 5)]))))
    asyncio.run(writer.persist())
    assert len(persisted) == 8, "who does not own the lane retires nothing"
    lane.phase = LanePhase.RUNNING
    asyncio.run(writer.persist())
    assert persisted[8:] == [(key, number) for number in range(2, 6)], "an earlier owner had stored it again"


def test_a_stop_that_is_in_doubt_is_not_persisted() -> None:
    """Once claims were read again it is."""
    writer, lanes, stored = made(1)
    asyncio.run(writer.persist())
    lanes[0].doubted_since, lanes[0].phase = 1.0, LanePhase.STOPPED
    asyncio.run(writer.persist(everything=True))
    assert len([one for one in stored.rounds if one]) == 1
    lanes[0].doubted_since = None
    asyncio.run(writer.persist(everything=True))
    assert stored.rounds[-1] == {0}
