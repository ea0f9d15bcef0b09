"""Over which connection a lane's batches leave, and what stays of an ownership that has ended."""

import asyncio
import struct
import uuid
from typing import Any, cast

import pytest

from anabranch.copier.lane.fetched import FetchedBatch
from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.target import sender as module
from anabranch.copier.target.sender import Sender
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.frames import Frame, FramePool
from anabranch.kafka.partitions import OffsetAnswer
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.protocol.endings import Ending, OwnershipEnded, Stop
from anabranch.protocol.gap_records import OffsetSpan
from anabranch.protocol.ownership import Ownership
from anabranch.protocol.pipeline import IDLE_S, Pipeline
from anabranch.records.encode import encode
from anabranch.records.header import read_header
from anabranch.records.record import Record, TimestampType
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.unit

TOPIC, PLACE = TopicId(uuid.UUID(int=9)), TopicPartition("t", 0)


class Wire:
    """A connection that keeps what was submitted and answers nothing by itself."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.closed = None
        self.is_renewing = False
        self.on_close: list[Any] = []
        self.writable = asyncio.Event()
        self.writable.set()
        self.sent = 0
        self.waiting: list[asyncio.Future[Frame]] = []
        self.aborted: list[str] = []
        self.throttles: list[float] = []
        self.lost: ConnectionLostError | None = None

    @property
    def in_flight(self) -> int:
        """What was sent: nothing is answered."""
        return self.sent

    def offers(self, api_key: int) -> int:
        """Versions with names."""
        return 9 if api_key == 0 else 7

    def submit(self, *_: object) -> asyncio.Future[Any]:
        """Take a request."""
        if self.lost is not None:
            raise self.lost
        self.sent += 1
        self.waiting.append(asyncio.get_running_loop().create_future())
        return self.waiting[-1]

    def abort(self, reason: str) -> None:
        """Keep why."""
        self.aborted.append(reason)

    def throttled(self, seconds: float) -> None:
        """Keep for how long."""
        self.throttles.append(seconds)

    def answer(self, *partitions: tuple[int, int, int], cut: int = 0, throttle_ms: int = 0, log_start: int = 0) -> None:
        """Answer the oldest request for topic t: partition, code and base offset each, without the last bytes."""
        raw = bytes(5) + bytes([2, 2]) + b"t" + bytes([len(partitions) + 1])
        for partition, code, base in partitions:
            raw += struct.pack(">ihqqq", partition, code, base, -1, log_start) + bytes([1, 0, 0])
        raw = (raw + bytes(1) + throttle_ms.to_bytes(4) + bytes(1))[: -cut or None]
        frame = FramePool().take(len(raw))
        frame.view[:] = raw
        self.waiting.pop(0).set_result(frame)


async def settled() -> None:
    """Whatever has been woken has run."""
    for _ in range(5):
        await asyncio.sleep(0)


def won(lane: Lane, wire: Wire, producer_id: int, gate: WriteGate | None = None, idle_s: float = 0.0) -> Sender:
    """The lane's next ownership over a connection, and the sender of that connection with the lane in it."""
    claim = Claim(lane.key, producer_id, LaneMode.MAPPED, "me", None, now_ms(), ClaimState.CLAIMED, 0, 0)
    ownership = Ownership(
        lane.key, LaneMode.MAPPED, claim, producer_id, 1, 86_400_000, 0, 0, 0, 0, None, frozenset(), ""
    )
    connection = cast(Connection, wire)
    clock = iter([0.0])
    lane.begin(ownership, Pipeline(ownership, sole_writer=False, clock=lambda: next(clock, idle_s)), connection)
    if gate is None:
        gate = WriteGate(lambda: 0.0)
        gate.renew(0.0)
    sender = Sender(connection, gate, lambda: None, lambda: None)
    sender.add(lane, cast(Any, None))
    return sender


def queued(lane: Lane, offset: int = 0) -> None:
    """One batch for the lane."""
    batch = memoryview(bytearray(encode([Record(0, 1, TimestampType.CREATE_TIME, b"k", b"v")])))
    lane.fetched.put(FetchedBatch(batch, 0, read_header(batch, 0), None, (OffsetSpan(offset, 1),)))


def made(partition: int = 0) -> Lane:
    """A lane that nobody has taken yet."""
    at = TopicPartition(PLACE.topic, partition)
    return Lane(LaneAssignment(LaneKey("l", TOPIC, partition), at, at, TOPIC, LaneStart(), ModePolicy.AUTO))


def test_a_lane_is_sent_over_the_connection_of_its_ownership_alone() -> None:
    """An ownership that others end (a journal, a later claim, a person) leaves the lane with its old sender, too."""

    async def play() -> tuple[int, int]:
        old, new = Wire("1"), Wire("2")
        lane = made()
        senders = [won(lane, old, 1)]
        active = lane.active
        assert active is not None
        lane.end_ownership(active, OwnershipEnded(lane.key, Ending.JOURNAL))
        senders.append(won(lane, new, 2))
        queued(lane)
        tasks = [asyncio.create_task(sender.run()) for sender in senders]
        async with asyncio.timeout(TIMEOUT_S):
            while not new.sent:
                await asyncio.sleep(0)
        await settled()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return old.sent, new.sent

    assert asyncio.run(play()) == (0, 1)


def test_a_check_whose_ownership_ends_before_it_begins_leaves_nothing_behind() -> None:
    """Its task runs a moment later than it was made; who lets the lane go then must not wait for it."""

    async def play() -> tuple[BaseException | None, bool, LanePhase]:
        lane = made()
        sender = won(lane, Wire("1"), 1)
        active = lane.active
        assert active is not None
        sender._start_check(lane, active)
        (task,) = sender._checks
        lane.end_ownership(active, OwnershipEnded(lane.key, Ending.SUPERSEDED))
        await asyncio.sleep(0)
        failure = task.exception() if task.done() else None
        task.cancel()
        return failure, lane.active is not None, lane.phase

    assert asyncio.run(play()) == (None, False, LanePhase.TAKING)


def sending(lane: Lane, sender: Sender) -> asyncio.Task[None]:
    """The sender at work, with one batch of the lane."""
    queued(lane)
    return asyncio.create_task(sender.run())


async def ended(task: asyncio.Task[None]) -> None:
    """The sender is ended from outside, as by a worker that is over."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_nothing_leaves_where_the_gate_shuts_between_choosing_and_sending() -> None:
    """That is where a process may have been stopped for a minute."""

    async def play() -> tuple[int, LanePhase, OwnershipEnded | None]:
        lane, wire = made(), Wire("1")
        now = iter([0.0, 0.0, *[60.0] * 1000])  # made, open when the sender begins to choose, shut at the last look
        gate = WriteGate(lambda: next(now))
        gate.renew(0.0)
        task = sending(lane, won(lane, wire, 1, gate))
        await settled()
        await ended(task)
        return wire.sent, lane.phase, lane.ended

    sent, phase, why = asyncio.run(play())
    assert (sent, phase) == (0, LanePhase.TAKING)
    assert why is not None and why.reason is Ending.LEASE


def test_an_answer_to_a_batch_of_an_earlier_ownership_moves_nothing() -> None:
    """An ownership may end by what others write while its batch is on its way; the next one reads how far the log
    goes.
    """

    async def play() -> tuple[int, int, LanePhase]:
        lane, wire = made(), Wire("1")
        sender = won(lane, wire, 1)
        task = sending(lane, sender)
        await settled()
        assert wire.sent == 1
        active = lane.active
        assert active is not None
        lane.end_ownership(active, OwnershipEnded(lane.key, Ending.JOURNAL))
        won(lane, wire, 2)
        wire.answer((0, 0, 0))
        await settled()
        await ended(task)
        return lane.copied.position, lane.copied.tally.records, lane.phase

    assert asyncio.run(play()) == (0, 0, LanePhase.RUNNING)


def test_a_batch_that_the_answer_leaves_out_ends_its_ownership() -> None:
    """It would stay in flight for ever."""

    async def play() -> tuple[LanePhase, OwnershipEnded | None]:
        lane, wire = made(), Wire("1")
        task = sending(lane, won(lane, wire, 1))
        await settled()
        wire.answer()
        await settled()
        await ended(task)
        return lane.phase, lane.ended

    phase, why = asyncio.run(play())
    assert phase is LanePhase.TAKING
    assert why is not None and (why.reason, why.detail) == (Ending.BROKER, "no answer for it")


def test_the_connection_is_told_for_how_long_a_quota_throttles_it() -> None:
    """The other batches that are in flight are answered that much later."""

    async def play() -> list[float]:
        lane, wire = made(), Wire("1")
        task = sending(lane, won(lane, wire, 1))
        await settled()
        wire.answer((0, 0, 0), throttle_ms=40_000)
        await settled()
        await ended(task)
        return wire.throttles

    assert asyncio.run(play()) == [40.0]


def test_an_answer_that_cannot_be_read_ends_the_connection() -> None:
    """Later answers on it must not be taken for those of its batches."""

    async def play() -> list[str]:
        lane, wire = made(), Wire("1")
        task = sending(lane, won(lane, wire, 1))
        await settled()
        wire.answer((0, 0, 0), cut=20)
        await settled()
        await ended(task)
        return wire.aborted

    assert [why.startswith("an answer could not be used: ") for why in asyncio.run(play())] == [True]


@pytest.mark.parametrize(
    ("code", "sent", "phase"), [(0, 1, LanePhase.RUNNING), (74, 0, LanePhase.TAKING), (6, 0, LanePhase.TAKING)]
)
def test_after_idling_a_lane_sends_only_to_a_leader_of_its_ownership_s_epoch(
    code: int, sent: int, phase: LanePhase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that lost its partition and won it back has a log that others have written to meanwhile."""

    async def list_offset(*_: object, epoch: int) -> OffsetAnswer:
        assert epoch == 1  # that of the ownership
        return OffsetAnswer(code, 0, -1)

    monkeypatch.setattr(module, "list_offset", list_offset)

    async def play() -> tuple[int, LanePhase, bool]:
        lane, wire = made(), Wire("1")
        task = sending(lane, won(lane, wire, 1, idle_s=2 * IDLE_S))
        await settled()
        await ended(task)
        return wire.sent, lane.phase, lane.active is not None and lane.active.is_checking

    assert asyncio.run(play()) == (sent, phase, False)


def test_a_request_is_bounded_and_lanes_come_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker closes the connection of whoever sends more than it takes, and no lane waits for another one's end."""
    asked: list[list[int]] = []
    submit = module.produce.submit

    def noted(connection: Connection, batches: list[module.produce.Outgoing]) -> asyncio.Future[Frame]:
        asked.append([one.partition for one in batches])
        assert len(batches) == 1 or sum(len(one.batch) for one in batches) <= module.REQUEST_BYTES
        return submit(connection, batches)

    monkeypatch.setattr(module.produce, "submit", noted)

    async def play() -> list[LanePhase]:
        lanes, wire = [made(number) for number in range(5)], Wire("1")
        sender = won(lanes[0], wire, 1)
        for number, lane in enumerate(lanes[1:], 2):
            won(lane, wire, number).close()
            sender.add(lane, cast(Any, None))
        for lane in lanes:
            for offset in range(3):
                queued(lane, offset)
        size = lanes[0].fetched.batches[0].header.size
        monkeypatch.setattr(module, "REQUEST_BYTES", 2 * size + size // 2)
        for _ in range(5):
            sender._send(sender._choose())
            wire.answer(*((one, 0, lanes[one].copied.position) for one in asked[-1]))
            await settled()
        return [lane.phase for lane in lanes]

    assert asyncio.run(play()) == [LanePhase.RUNNING] * 5
    assert asked == [[0, 1], [2, 3], [4, 0], [1, 2], [3, 4]]


def test_an_acknowledgement_tells_where_the_target_s_log_begins() -> None:
    """By that the map forgets what is deleted there: else it grows for ever, and takeovers read all of it."""

    async def play() -> list[int | None]:
        lane, wire = made(), Wire("1")
        sender = won(lane, wire, 1)
        known = [lane.starts]
        task = sending(lane, sender)
        await settled()
        wire.answer((0, 0, 40), log_start=30)
        await settled()
        known.append(lane.starts)
        await ended(task)
        return [None if one is None else one.target for one in known]

    assert asyncio.run(play()) == [None, 30]


@pytest.mark.parametrize("joined", [True, False])
def test_a_batch_that_is_too_large_for_being_joined_is_sent_again_as_it_lies_in_the_source(joined: bool) -> None:
    """One that was not joined is what a person must see to."""

    async def play() -> Lane:
        lane, wire = made(), Wire("1")
        sender = won(lane, wire, 1)
        lane.fetched.has_joined = joined
        task = sending(lane, sender)
        await settled()
        wire.answer((0, 10, -1))
        await settled()
        await ended(task)
        return lane

    lane = asyncio.run(play())
    assert (lane.fetched.joins, lane.fetched.has_joined, lane.copied.position) == (not joined, False, 0)
    if joined:
        assert (lane.phase, lane.stopped) == (LanePhase.TAKING, None)
        assert lane.ended is not None and (lane.ended.reason, lane.ended.code) == (Ending.TOO_LARGE, 10)
    else:
        assert lane.stopped is not None and (lane.stopped.reason, lane.stopped.offset) == (Stop.TOO_LARGE, 0)


@pytest.mark.parametrize(
    ("code", "phase", "reason"),
    [
        (87, LanePhase.STOPPED, Stop.INVALID_RECORD),
        (29, LanePhase.STOPPED, Stop.NOT_ALLOWED),
        (45, LanePhase.TAKING, Ending.OUT_OF_ORDER),
        (47, LanePhase.TAKING, Ending.FENCED),
        (20, LanePhase.TAKING, Ending.TOO_FEW_REPLICAS),
    ],
)
def test_a_refused_batch_counts_as_nothing_copied(code: int, phase: LanePhase, reason: Stop | Ending) -> None:
    """What a person must see to stops the lane, also where batches were joined; else it is taken over again."""

    async def play() -> Lane:
        lane, wire = made(), Wire("1")
        sender = won(lane, wire, 1)
        lane.fetched.has_joined = True
        task = sending(lane, sender)
        await settled()
        wire.answer((0, code, -1))
        await settled()
        await ended(task)
        return lane

    lane = asyncio.run(play())
    found = lane.stopped if phase is LanePhase.STOPPED else lane.ended
    assert lane.phase is phase and found is not None and (found.reason, found.code) == (reason, code)
    assert (lane.copied.position, lane.copied.tally.records, lane.fetched.joins) == (0, 0, True)


def test_an_acknowledgement_that_contradicts_the_offset_map_stops_the_lane() -> None:
    """The target already holds records of the lane there: which of them are there twice must be looked at."""

    async def play() -> Lane:
        lane, wire = made(), Wire("1")
        sender = won(lane, wire, 1)
        lane.copied.book.append(MappedRange(0, 0, 50))
        task = sending(lane, sender)
        await settled()
        wire.answer((0, 0, 40))
        await settled()
        await ended(task)
        return lane

    lane = asyncio.run(play())
    assert lane.stopped is not None and (lane.stopped.reason, lane.stopped.offset) == (Stop.DIVERGED, 0)
    assert lane.starts is None


def test_what_was_acknowledged_is_counted_with_its_bytes_and_how_old_it_was() -> None:
    """A batch without a time has no age."""

    async def play(timestamp: int) -> tuple[int, int, int, int | None]:
        lane, wire = made(), Wire("1")
        sender = won(lane, wire, 1)
        batch = memoryview(bytearray(encode([Record(0, timestamp, TimestampType.CREATE_TIME, b"k", b"v")] * 3)))
        lane.fetched.put(FetchedBatch(batch, 0, read_header(batch, 0), None, (OffsetSpan(0, 3),)))
        task = asyncio.create_task(sender.run())
        await settled()
        wire.answer((0, 0, 7))
        await settled()
        await ended(task)
        tally = lane.copied.tally
        tally.measure(1.0)
        assert (lane.copied.target_end, list(lane.copied.book.map)) == (10, [MappedRange(0, 7, 3)])
        return lane.copied.position, tally.records, tally.bytes - len(batch), tally.latency_ms

    assert asyncio.run(play(now_ms() + 3_600_000)) == (3, 3, 0, 0)
    assert asyncio.run(play(-1)) == (3, 3, 0, None)
    *_, age = asyncio.run(play(now_ms() - 3_600_000))
    assert age is not None and age >= 3_600_000
    *_, age = asyncio.run(play(0))
    assert age is not None and age > 1_700_000_000_000


def test_a_batch_whose_bytes_are_corrupt_is_not_sent_and_the_others_are() -> None:
    """Its lane stops at the batch, and nothing of it is in flight."""

    async def play() -> tuple[list[Lane], int]:
        lanes, wire = [made(0), made(1)], Wire("1")
        sender = won(lanes[0], wire, 1)
        won(lanes[1], wire, 2).close()
        sender.add(lanes[1], cast(Any, None))
        queued(lanes[0])
        queued(lanes[1])
        batch = bytearray(encode([Record(0, 1, TimestampType.CREATE_TIME, b"k", b"v")]))
        header = read_header(batch, 0)
        batch[-1] ^= 1
        lanes[0].fetched.put(FetchedBatch(memoryview(batch), 0, header, None, (OffsetSpan(1, 1),)))
        task = asyncio.create_task(sender.run())
        await settled()
        wire.answer((0, 0, 0), (1, 0, 0))
        await settled()
        await ended(task)
        return lanes, wire.sent

    (corrupt, good), sent = asyncio.run(play())
    assert corrupt.stopped is not None and (corrupt.stopped.reason, corrupt.stopped.offset) == (Stop.CORRUPT, 1)
    assert (sent, good.phase, good.copied.position) == (1, LanePhase.RUNNING, 1)


def test_a_connection_that_is_lost_as_a_request_is_made_takes_nothing() -> None:
    """It ends by itself then, and with it the ownerships that had something in flight."""

    async def play() -> tuple[int, Lane, int]:
        lane, wire = made(), Wire("1")
        sender = won(lane, wire, 1)
        wire.lost = ConnectionLostError("new", "1", "gone")
        queued(lane)
        size = sender._send(sender._choose())
        await settled()
        before = lane.copied.position
        for told in wire.on_close:
            told(wire.lost)
        return size, lane, before

    size, lane, before = asyncio.run(play())
    assert (size, before, lane.phase) == (0, 0, LanePhase.TAKING)
    assert lane.ended is not None and (lane.ended.reason, lane.ended.detail) == (Ending.DISCONNECTED, "gone")


@pytest.mark.parametrize("lost", [True, False])
def test_an_idle_lane_whose_leader_refuses_for_good_stops_and_one_whose_leader_is_gone_waits(
    lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that ends tells its lanes by itself."""

    async def list_offset(*_: object, epoch: int) -> OffsetAnswer:
        if lost:
            raise ConnectionLostError("new", "1", "gone")
        return OffsetAnswer(29, 0, -1)

    monkeypatch.setattr(module, "list_offset", list_offset)

    async def play() -> Lane:
        lane = made()
        sender = won(lane, Wire("1"), 1, idle_s=2 * IDLE_S)
        active = lane.active
        assert active is not None
        await sender._check_epoch(lane, active)
        assert not active.is_checking
        return lane

    lane = asyncio.run(play())
    if lost:
        assert (lane.phase, lane.stopped, lane.ended) == (LanePhase.RUNNING, None, None)
    else:
        assert lane.stopped is not None and (lane.stopped.reason, lane.stopped.offset) == (Stop.NOT_ALLOWED, 0)


@pytest.mark.parametrize("code", [29, 74])
def test_what_a_leader_refuses_an_ownership_that_is_over_is_nothing_to_the_next_one(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one has its own leader epoch."""

    async def list_offset(*_: object, epoch: int) -> OffsetAnswer:
        return OffsetAnswer(code, 0, -1)

    monkeypatch.setattr(module, "list_offset", list_offset)

    async def play() -> Lane:
        lane, wire = made(), Wire("1")
        sender = won(lane, wire, 1)
        before = lane.active
        assert before is not None
        lane.end_ownership(before, OwnershipEnded(lane.key, Ending.JOURNAL))
        won(lane, wire, 2)
        await sender._check_epoch(lane, before)
        return lane

    lane = asyncio.run(play())
    assert (lane.phase, lane.stopped, lane.ended) == (LanePhase.RUNNING, None, None)
