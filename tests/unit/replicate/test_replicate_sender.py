"""Over which connection a lane's batches leave, and what stays of a tenure that has ended."""

import asyncio
import uuid
from typing import Any, cast

import pytest

from anabranch.kafka.connection import Connection
from anabranch.lanes.claims import Claim, ClaimState
from anabranch.lanes.endings import Ending, TenureEnded
from anabranch.lanes.holes import Stretch
from anabranch.lanes.pipeline import Pipeline
from anabranch.lanes.tenure import Tenure
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.records.encode import encode
from anabranch.records.header import read_header
from anabranch.records.record import Record, TimestampType
from anabranch.replicate.gate import Gate
from anabranch.replicate.lane import Lane, Phase, Queued
from anabranch.replicate.sender import Sender

pytestmark = pytest.mark.unit

TOPIC, PLACE = TopicId(uuid.UUID(int=9)), TopicPartition("t", 0)


class Wire:
    """A connection that keeps what was submitted and answers nothing."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.closed = None
        self.on_close: list[Any] = []
        self.writable = asyncio.Event()
        self.writable.set()
        self.sent = 0

    @property
    def in_flight(self) -> int:
        """What was sent: nothing is answered."""
        return self.sent

    def offers(self, api_key: int) -> int:
        """Versions with names."""
        return 9 if api_key == 0 else 7

    def submit(self, *_: object) -> asyncio.Future[Any]:
        """Take a request."""
        self.sent += 1
        return asyncio.get_running_loop().create_future()

    async def call(self, *_: object, **__: object) -> Any:
        """No answer either."""
        return await asyncio.get_running_loop().create_future()


def won(lane: Lane, wire: Wire, producer_id: int) -> Sender:
    """The lane's next tenure over a connection, and the sender of that connection with the lane in it."""
    claim = Claim(lane.key, producer_id, LaneMode.MAPPED, "me", None, 0, ClaimState.CLAIMED, 0, 0)
    tenure = Tenure(lane.key, LaneMode.MAPPED, claim, producer_id, 1, 86_400_000, 0, 0, 0, 0, None, frozenset(), "")
    connection = cast(Connection, wire)
    lane.begin(tenure, Pipeline(tenure, sole_writer=False), connection)
    gate = Gate(lambda: 0.0)
    gate.renew(0.0)
    sender = Sender(connection, gate, lambda: None, lambda: None)
    sender.add(lane)
    return sender


def queued(lane: Lane) -> None:
    """One batch for the lane."""
    batch = memoryview(bytearray(encode([Record(0, 1, TimestampType.CREATE_TIME, b"k", b"v")])))
    lane.put(Queued(batch, 0, read_header(batch, 0), None, (Stretch(0, 1),)))


def made() -> Lane:
    """A lane that nobody has taken yet."""
    return Lane(LaneAssignment(LaneKey("l", TOPIC, 0), PLACE, PLACE, TOPIC, LaneStart(), ModePolicy.AUTO))


def test_a_lane_is_sent_over_the_connection_of_its_tenure_alone() -> None:
    """A tenure that others end (a journal, a later claim, a person) leaves the lane with its old sender, too."""

    async def play() -> tuple[int, int]:
        old, new = Wire("1"), Wire("2")
        lane = made()
        senders = [won(lane, old, 1)]
        pipeline = lane.pipeline
        assert pipeline is not None
        lane.end_tenure(pipeline, TenureEnded(lane.key, Ending.JOURNAL))
        senders.append(won(lane, new, 2))
        queued(lane)
        tasks = [asyncio.create_task(sender.run()) for sender in senders]
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return old.sent, new.sent

    assert asyncio.run(play()) == (0, 1)


def test_a_check_whose_tenure_ends_before_it_begins_leaves_nothing_behind() -> None:
    """Its task runs a moment later than it was made; who lets the lane go then must not wait for it."""

    async def play() -> tuple[BaseException | None, bool, Phase]:
        lane = made()
        sender = won(lane, Wire("1"), 1)
        pipeline = lane.pipeline
        assert pipeline is not None
        sender._start_check(lane, pipeline)
        (task,) = sender._checks
        lane.end_tenure(pipeline, TenureEnded(lane.key, Ending.SUPERSEDED))
        await asyncio.sleep(0)
        failure = task.exception() if task.done() else None
        task.cancel()
        return failure, lane.checking, lane.phase

    assert asyncio.run(play()) == (None, False, Phase.TAKING)
