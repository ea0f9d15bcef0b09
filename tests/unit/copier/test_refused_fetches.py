"""What becomes of a lane whose fetch was refused, or brought bytes that cannot be read: nothing is ever skipped."""

from __future__ import annotations

import asyncio
import uuid
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.copier.lane.epochs import UNKNOWN, EpochTrail
from anabranch.copier.lane.fetched import FetchedBatch, QueuedAnswer
from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.source import missing, open_transaction_watch, truncation_check
from anabranch.copier.source import refused as module
from anabranch.copier.source.open_transaction_watch import ASK_S, HELD_S, OpenTransactionWatch
from anabranch.kafka.cluster import Cluster, PartitionMeta, TopicMeta
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.fetch import Fetched
from anabranch.kafka.frames import FramePool
from anabranch.kafka.partitions import EARLIEST, OffsetAnswer
from anabranch.kafka.presence import Presence
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.protocol.endings import Ending, OwnershipEnded, Stop
from anabranch.protocol.gap_records import OffsetSpan
from anabranch.protocol.ownership import Ownership
from anabranch.protocol.pipeline import Pipeline
from anabranch.protocol.reading import Reading, read
from anabranch.records.encode import encode, encode_as_logged
from anabranch.records.header import read_header
from anabranch.records.record import Record, TimestampType

pytestmark = pytest.mark.unit

TOPIC = TopicId(uuid.UUID(int=9))
WIRE = cast(Connection, None)
EPOCH, LEADER = 4, 2


def running(position: int = 80) -> Lane:
    """A lane that has copied up to there, and reads from a leader."""
    at = TopicPartition("t", 0)
    lane = Lane(LaneAssignment(LaneKey("l", TOPIC, 0), at, at, TOPIC, LaneStart(), ModePolicy.AUTO))
    claim = Claim(lane.key, 1, LaneMode.MAPPED, "me", None, 0, ClaimState.CLAIMED, 0, 0)
    ownership = Ownership(
        lane.key, LaneMode.MAPPED, claim, 1, 1, 86_400_000, position, position, 0, 0, None, frozenset(), ""
    )
    lane.begin(ownership, Pipeline(ownership, sole_writer=False), WIRE)
    lane.source.leader, lane.source.epoch = LEADER, EPOCH
    return lane


def fetched(lane: Lane, count: int, epoch: int = EPOCH) -> None:
    """So many records were read, and wait."""
    start = lane.fetched.fetch_offset
    view = memoryview(bytearray(encode(records(0, count))))
    lane.fetched.put(FetchedBatch(view, 0, read_header(view, 0), None, (OffsetSpan(start, count),)))
    lane.fetched.epochs.note(epoch, start, start + count)
    lane.fetched.passed(start + count, epoch)


def records(first: int, count: int) -> list[Record]:
    """Records at offsets in a row."""
    return [Record(first + at, 5, TimestampType.CREATE_TIME, b"k", b"v") for at in range(count)]


def answer(data: bytes = b"", code: int = 0, diverging: tuple[int, int] | None = None) -> Fetched:
    """A partition's answer."""
    return Fetched("t", 0, code, 100, 100, 0, (), memoryview(bytearray(data)), diverging)


def refuse(lane: Lane, told: Fetched) -> Lane:
    """The lane after a broker's refusal."""
    asyncio.run(module.refused(WIRE, lane, told, "User:copier"))
    return lane


# -- refusals -------------------------------------------------------------------------------------------


def test_a_source_that_may_not_be_read_stops_the_lane_at_its_next_offset() -> None:
    """Who may not do what is told, and what to grant."""
    stopped = refuse(running(80), answer(code=29)).stopped
    assert stopped is not None
    assert (stopped.reason, stopped.offset) == (Stop.SOURCE_NOT_ALLOWED, 80)
    assert "User:copier may not Read topic t" in stopped.message and "grant READ" in stopped.hint


@pytest.mark.parametrize("code", [3, 6, 9, 74, 76, 100])
def test_any_other_refusal_has_the_lane_look_for_its_leader_again(code: int) -> None:
    """What was read of it goes on being sent."""
    lane = running(80)
    fetched(lane, 3)
    refuse(lane, answer(code=code))
    assert (lane.source.leader, lane.phase, len(lane.fetched.batches)) == (-1, LanePhase.RUNNING, 1)


# -- outside of the source's log ------------------------------------------------------------------------


def ends(monkeypatch: pytest.MonkeyPatch, start: int, end: int, codes: tuple[int, int] = (0, 0)) -> None:
    """What the source's leader says of its log."""

    async def list_offset(_: object, topic: str, partition: int, which: int, *, epoch: int) -> OffsetAnswer:
        assert (topic, partition, epoch) == ("t", 0, EPOCH)
        return OffsetAnswer(codes[0], start, -1) if which == EARLIEST else OffsetAnswer(codes[1], end, -1)

    monkeypatch.setattr(module, "list_offset", list_offset)


@pytest.mark.parametrize("codes", [(6, 0), (0, 6)])
def test_a_leader_that_does_not_tell_its_ends_is_looked_for_again(
    codes: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is known of what is lost."""
    ends(monkeypatch, 200, 10, codes)
    lane = refuse(running(80), answer(code=1))
    assert (lane.source.leader, lane.phase, lane.source.log_start) == (-1, LanePhase.RUNNING, 0)


@pytest.mark.parametrize("start", [81, 90])
def test_records_that_retention_took_before_they_were_read_are_named(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lane stops at the first of them; while something of it is on its way it waits."""
    ends(monkeypatch, start, 100)
    stopped = refuse(running(80), answer(code=1)).stopped
    assert stopped is not None and (stopped.reason, stopped.offset) == (Stop.SOURCE_EXPIRED, 80)
    assert f"offsets 80 to {start - 1} are gone" in stopped.message and "link accept l" in stopped.hint
    lane = running(77)
    fetched(lane, 3)
    refuse(lane, answer(code=1))
    assert (lane.phase, lane.source.log_start, lane.fetched.fetch_offset) == (LanePhase.RUNNING, start, 80)


@pytest.mark.parametrize(("passed", "goes_on"), [(95, True), (90, True), (89, False)])
def test_offsets_without_a_record_that_were_read_before_are_no_loss(
    passed: int, goes_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where an ownership before had read all of them, the next one goes on at the log's start."""
    ends(monkeypatch, 90, 100)
    lane = running(80)
    lane.copied.note_passed(80, passed)
    refuse(lane, answer(code=1))
    if goes_on:
        assert (lane.phase, lane.fetched.fetch_offset, lane.fetched.last_epoch) == (LanePhase.RUNNING, 90, -1)
    else:
        assert lane.stopped is not None and lane.stopped.reason is Stop.SOURCE_EXPIRED


@pytest.mark.parametrize(("end", "leader"), [(80, -1), (100, -1), (79, LEADER)])
def test_a_log_that_ends_before_the_position_has_lost_what_was_copied(
    end: int, leader: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has it was led anew just now, and is asked again."""
    ends(monkeypatch, 0, end)
    lane = refuse(running(80), answer(code=1))
    assert lane.source.leader == leader
    if leader == -1:
        assert lane.phase is LanePhase.RUNNING
        return
    assert lane.stopped is not None and lane.stopped.reason is Stop.SOURCE_TRUNCATED
    assert lane.stopped.offset == 79 and "the source lost offsets 79 to 79" in lane.stopped.message


# -- another history ------------------------------------------------------------------------------------


def cleaned(monkeypatch: pytest.MonkeyPatch, found: bool | None, lane: Lane, moves: bool = False) -> list[Any]:
    """Whether the source's cleaner took what differs; ``moves``: the lane goes on while that is asked."""
    asked: list[Any] = []

    async def is_cleaned(_: object, *what: Any) -> bool | None:
        asked.append(what)
        if moves:
            lane.fetched.restart_at(60)
        return found

    monkeypatch.setattr(module, "is_cleaned", is_cleaned)
    return asked


def test_an_epoch_whose_records_were_all_cleaned_away_is_no_truncation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lane goes on where it is, and asks about no epoch until it has read one."""
    lane = running(70)
    fetched(lane, 4, epoch=1)
    fetched(lane, 6, epoch=3)
    asked = cleaned(monkeypatch, True, lane)
    refuse(lane, answer(diverging=(1, 90)))
    assert asked == [(TopicPartition("t", 0), TOPIC.uuid, 74, 80, EPOCH)]
    assert (lane.phase, lane.fetched.fetch_offset, lane.fetched.last_epoch) == (LanePhase.RUNNING, 80, UNKNOWN)
    assert lane.fetched.epochs.at(80) == UNKNOWN and lane.source.leader == LEADER


def test_a_leader_that_shows_nothing_there_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has only just begun."""
    lane = running(70)
    fetched(lane, 4, epoch=1)
    fetched(lane, 6, epoch=3)
    cleaned(monkeypatch, None, lane)
    refuse(lane, answer(diverging=(1, 90)))
    assert (lane.phase, lane.source.leader, lane.fetched.epochs.at(80)) == (LanePhase.RUNNING, -1, 3)


@pytest.mark.parametrize(("found", "end"), [(False, 90), (False, 80), (True, 79), (True, 74)])
def test_what_was_read_of_a_history_that_the_source_has_lost_is_read_again(
    found: bool, end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it was sent yet; a log that ends before the position cannot have been cleaned there."""
    lane = running(70)
    fetched(lane, 4, epoch=1)
    fetched(lane, 6, epoch=3)
    asked = cleaned(monkeypatch, found, lane)
    refuse(lane, answer(diverging=(1, end)))
    assert len(asked) == (end >= 80)
    assert (lane.phase, lane.stopped, len(lane.fetched.batches)) == (LanePhase.TAKING, None, 0)
    assert lane.ended is not None and "offsets 74 to 79, which were not copied yet" in lane.ended.detail
    assert (lane.fetched.epochs.at(74), lane.fetched.epochs.at(75)) == (1, UNKNOWN)


def test_another_history_that_begins_where_the_lane_stands_takes_nothing_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lane is taken over again, and asks anew; there is nothing that a cleaner could have taken."""
    lane = running(70)
    fetched(lane, 10, epoch=3)
    asked = cleaned(monkeypatch, True, lane)
    refuse(lane, answer(diverging=(3, 80)))
    assert (asked, lane.phase, lane.stopped, lane.fetched.epochs.at(80)) == ([], LanePhase.TAKING, None, 3)


@pytest.mark.parametrize("found", [True, False, None])
def test_what_a_lane_learns_of_its_history_after_it_went_on_counts_no_more(
    found: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands elsewhere, and asks from there."""
    lane = running(70)
    fetched(lane, 4, epoch=1)
    fetched(lane, 6, epoch=3)
    cleaned(monkeypatch, found, lane, moves=True)
    refuse(lane, answer(diverging=(1, 90)))
    assert (lane.phase, lane.source.leader, lane.fetched.epochs.at(80)) == (LanePhase.RUNNING, LEADER, 3)


def test_a_lane_that_is_being_taken_over_has_lost_only_what_it_copied() -> None:
    """Where nothing is owned, nothing was read either: the next ownership asks for itself."""
    lane = running(80)
    assert lane.active is not None
    lane.end_ownership(lane.active, OwnershipEnded(lane.key, Ending.DISCONNECTED))
    module.lost(lane, 80)
    assert (lane.phase, lane.stopped) == (LanePhase.TAKING, None)
    module.lost(lane, 79)
    assert lane.stopped is not None and lane.stopped.reason is Stop.SOURCE_TRUNCATED


# -- what a takeover asks -------------------------------------------------------------------------------


class Answering(Cluster):
    """A cluster whose partition is led, or not."""

    def __init__(self, lost: bool = False) -> None:
        super().__init__(Transport("old", "User:me"), [])
        self.lost = lost

    async def partition(self, topic: str, partition: int) -> tuple[TopicMeta, PartitionMeta]:
        if self.lost:
            raise ConnectionLostError("old", "1", "gone")
        part = PartitionMeta(1, EPOCH, (1,), (1,), 0)
        return TopicMeta(topic, TOPIC.uuid, False, 0, {0: part}, None), part

    async def connection(self, node: int, purpose: str = "main") -> Connection:
        return WIRE


@pytest.mark.parametrize(
    ("position", "base", "lost", "epoch"),
    [
        (80, 79, False, 3),
        (80, 70, False, 3),
        (80, 80, False, UNKNOWN),
        (80, None, False, UNKNOWN),
        (80, 79, True, UNKNOWN),
        (0, 0, False, UNKNOWN),
    ],
)
def test_the_epoch_before_a_position_is_that_of_the_record_there_or_unknown(
    position: int, base: int | None, lost: bool, epoch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An epoch of what lies behind it would make every later answer a truncation."""

    async def header_at(_: object, topic: str, topic_id: uuid.UUID, partition: int, offset: int, *, epoch: int) -> Any:
        assert (topic, topic_id, partition, offset, epoch) == ("t", TOPIC.uuid, 0, position - 1, EPOCH)
        return 0, None if base is None else read_header(encode(records(0, 1)))._replace(
            base_offset=base, leader_epoch=3
        )

    monkeypatch.setattr(truncation_check, "header_at", header_at)
    found = truncation_check.epoch_before(Answering(lost), TopicPartition("t", 0), position)
    assert asyncio.run(found) == epoch


# -- an open transaction --------------------------------------------------------------------------------


def test_who_holds_a_lane_is_asked_once_it_has_stood_for_a_while_and_seldom_again() -> None:
    """Where the source moves on it is not held any more."""
    lane, asked = running(80), []
    watch = OpenTransactionWatch(Answering())

    async def ask(held: Lane) -> str:
        asked.append(now)
        return f"held, {len(asked)}"

    watch._ask = ask  # type: ignore[method-assign]
    lane.source.stable = 80
    for now in (1.0, 1.0 + HELD_S - 0.5, 1.0 + HELD_S, 9.0, 1.0 + HELD_S + ASK_S - 0.5, 1.0 + HELD_S + ASK_S):
        asyncio.run(watch._look(lane, now))
    assert asked == [1.0 + HELD_S, 1.0 + HELD_S + ASK_S] and lane.status.held_by == "held, 2"
    lane.source.stable = 81
    now = 50.0
    asyncio.run(watch._look(lane, now))
    assert (lane.status.held_by, len(asked)) == ("", 2)
    now += HELD_S
    asyncio.run(watch._look(lane, now))
    assert lane.status.held_by == "held, 3"


@pytest.mark.parametrize("found", [0, 1, 3, None])
def test_who_holds_a_lane_is_named_as_far_as_the_source_tells(
    found: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that begins first, and how many more there are; a source that tells nothing is told as such."""
    lane = running(80)
    lane.source.stable = 1_080
    dates: list[Any] = []

    async def open_transactions(_: object, topic: str, partition: int) -> tuple[int, list[int]]:
        assert (topic, partition) == ("t", 0)
        return (0, list(range(found))) if found is not None else (29, [])

    async def dated(_: object, topic: str, topic_id: uuid.UUID, partition: int, one: int) -> Any:
        dates.append((topic, topic_id, partition, one))
        return SimpleNamespace(sentence=lambda now: f"producer {one} holds it")

    monkeypatch.setattr(open_transaction_watch, "open_transactions", open_transactions)
    monkeypatch.setattr(open_transaction_watch, "dated", dated)
    told = asyncio.run(OpenTransactionWatch(Answering())._ask(lane))
    assert dates == ([("t", TOPIC.uuid, 0, 0)] if found else [])
    if found is None:
        assert told.startswith("an open transaction begins at offset 1,080; the source does not tell whose: ")
    elif not found:
        assert told == ""
    else:
        more = ", and 2 more are open after it" if found == 3 else ""
        assert told == f"producer 0 holds it{more}: nothing after it may be copied before it ends"


# -- a topic that is missing ----------------------------------------------------------------------------

META = TopicMeta("t", TOPIC.uuid, False, 0, {0: PartitionMeta(1, 0, (1,), (1,), 0)}, None)
OTHER = TopicMeta("t", uuid.UUID(int=8), False, 0, {}, None)


def look(lanes: list[Lane], told: Presence | None, monkeypatch: pytest.MonkeyPatch) -> list[Lane]:
    """Ask all brokers once; the lanes that were placed."""
    placed: list[Lane] = []

    async def ask_all(_: Cluster, wanted: dict[str, uuid.UUID]) -> dict[str, Presence]:
        assert wanted == {"t": TOPIC.uuid}
        return {} if told is None else {"t": told}

    monkeypatch.setattr(missing, "ask_all", ask_all)
    monkeypatch.setattr(missing, "PAUSE_S", 0.0)

    def place_on(lane: Lane, meta: TopicMeta) -> None:
        assert meta is META
        placed.append(lane)

    asyncio.run(missing.look_for(Answering(), lanes, place_on))
    return placed


def test_a_lane_goes_on_by_the_word_of_any_broker_that_knows_its_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one that was placed meanwhile, that was stopped, or that is over."""
    lanes = [running() for _ in range(4)]
    for lane in lanes[:3]:
        lane.source.leader = -1
    lanes[1].stop_at(Stop.CORRUPT, 80)
    lanes[2].leave()
    assert look(lanes, Presence("t", there=META), monkeypatch) == [lanes[0]]
    assert [lane.phase for lane in lanes[1:]] == [LanePhase.STOPPED, LanePhase.OVER, LanePhase.RUNNING]
    assert lanes[1].stopped is not None and lanes[1].stopped.reason is Stop.CORRUPT


def test_a_topic_that_was_made_again_stops_its_lanes_where_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where all brokers say so."""
    lane = running(80)
    lane.source.leader = -1
    assert look([lane], None, monkeypatch) == look([lane], Presence("t", other=OTHER, silent=(1,)), monkeypatch) == []
    assert lane.phase is LanePhase.RUNNING and "broker 1 did not say" in lane.source.doubt
    look([lane], Presence("t", other=OTHER, unaware=(2,)), monkeypatch)
    assert lane.stopped is not None
    assert (lane.stopped.reason, lane.stopped.offset) == (Stop.SOURCE_MADE_AGAIN, lane.copied.position)
    assert str(OTHER.id) in lane.stopped.message


# -- bytes that cannot be read --------------------------------------------------------------------------


def bring(lane: Lane, data: bytes) -> QueuedAnswer:
    """What an answer brings is queued."""
    assert lane.active is not None
    frame = FramePool().take(1)
    found = lane.take_in(lane.active, answer(data), frame)
    frame.release()
    return found


def logged(first: int, count: int, epoch: int = EPOCH) -> bytes:
    """A batch of a log."""
    batch = bytearray(encode_as_logged(records(first, count)))
    batch[12:16] = epoch.to_bytes(4, "big")
    return bytes(batch)


@pytest.mark.parametrize("joins", [True, False])
@pytest.mark.parametrize(("magic", "reason"), [(1, Stop.OLD_FORMAT), (3, Stop.CORRUPT)])
def test_what_cannot_be_read_stops_the_lane_once_all_before_it_is_sent(magic: int, reason: Stop, joins: bool) -> None:
    """At its exact offset; until then what is good is queued, and the same bytes are met again."""
    lane = running(80)
    lane.fetched.joins = joins
    bad = logged(83, 2)
    bad = bad[:16] + bytes([magic]) + bad[17:]
    found = bring(lane, logged(80, 3) + bad + logged(85, 2))
    assert (found.has_batches, lane.phase, lane.fetched.fetch_offset) == (True, LanePhase.RUNNING, 83)
    lane.fetched.take()
    assert not bring(lane, bad + logged(85, 2)).has_batches
    assert lane.stopped is not None and (lane.stopped.reason, lane.stopped.offset) == (reason, 83)


@pytest.mark.parametrize("joins", [True, False])
def test_a_gap_in_an_answer_is_told_by_one_gap_record_for_all_that_follows(joins: bool) -> None:
    """From the first batch on whose sequence does not tell its offsets; what is before it waits for nothing."""
    lane = running(80)
    lane.fetched.joins = joins
    found = bring(lane, logged(80, 3) + logged(85, 2) + logged(87, 1) + logged(90, 4))
    assert found.gap is not None
    record, pending = found.gap
    assert (record.sequence, record.ordinal) == (83, 0)
    assert record.spans == (OffsetSpan(85, 3), OffsetSpan(90, 4))
    assert [batch.pending for batch in lane.fetched.batches] == [None, pending, pending, pending]
    assert (lane.fetched.fetch_offset, lane.fetched.next_sequence, lane.fetched.end) == (94, 90, 94)
    assert bring(lane, logged(94, 1)).gap is None and not bring(lane, b"").has_batches


@pytest.mark.parametrize(
    ("epochs", "told"),
    [
        ((3, 3, 3), {80: UNKNOWN, 81: 3, 83: 3, 86: 3}),
        ((3, 3, 4), {81: 3, 84: 3, 85: 4, 86: 4}),
        ((3, 4, 4), {82: 3, 83: 4, 86: 4}),
    ],
)
def test_each_offset_that_was_read_has_the_epoch_of_its_batch(epochs: tuple[int, ...], told: dict[int, int]) -> None:
    """Also where another leader has written within an answer: it is what a truncation is told by."""
    lane = running(80)
    bring(lane, b"".join(logged(80 + 2 * at, 2, epoch) for at, epoch in enumerate(epochs)))
    assert {at: lane.fetched.epochs.at(at) for at in told} == told
    assert lane.fetched.last_epoch == epochs[-1]


def test_what_was_dropped_at_an_answer_s_end_counts_under_its_epoch() -> None:
    """The last batch is none to be sent, and another leader wrote it; of nothing that was read nothing is noted."""
    dropped, trail = Reading((), 84, 0, 0, 0, None, 5), EpochTrail()
    trail.follow(80, dropped)
    assert trail.at(84) == 5
    batches = read(memoryview(bytearray(logged(80, 2, 3))), 80, ()).batches
    trail = EpochTrail()
    trail.follow(80, dropped._replace(batches=batches))
    assert (trail.at(82), trail.at(83), trail.at(84)) == (3, 5, 5)
    trail.follow(84, Reading((), 84, 0, 0, 0, None, -1))
    assert trail.at(84) == 5
