"""What a fetch loop does where brokers and tenures end while it waits."""

import asyncio
import uuid
from typing import Any, cast

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.partitions import OffsetAnswer
from anabranch.lanes.claims import Claim, ClaimState
from anabranch.lanes.endings import Ending, Stop, TenureEnded
from anabranch.lanes.pipeline import Pipeline
from anabranch.lanes.tenure import Tenure
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.replicate import fetcher as module
from anabranch.replicate.fetcher import Fetcher
from anabranch.replicate.gate import Gate
from anabranch.replicate.lane import Lane, Phase

pytestmark = pytest.mark.unit

TOPIC = TopicId(uuid.UUID(int=9))


class Dying(Cluster):
    """A cluster whose broker is gone, which is found out only after a while."""

    def __init__(self) -> None:
        super().__init__(Transport("dying", "User:ANONYMOUS"), [])
        self.asked = asyncio.Event()
        self.dies = asyncio.Event()

    async def connection(self, node: int, purpose: str = "main") -> Connection:
        self.asked.set()
        await self.dies.wait()
        raise ConnectionLostError(self.name, str(node), "gone")


def made(part: int) -> Lane:
    """A lane that runs."""
    place = TopicPartition("t", part)
    lane = Lane(LaneAssignment(LaneKey("l", TOPIC, part), place, place, TOPIC, LaneStart(), ModePolicy.AUTO))
    lane.phase = Phase.RUNNING
    return lane


def fetcher(cluster: Cluster) -> Fetcher:
    """One whose gate is open."""
    gate = Gate(lambda: 0.0)
    gate.renew(0.0)
    return Fetcher(cluster, gate, lambda _: None, lambda *_: None)


def test_a_lane_that_came_to_a_broker_while_it_was_lost_is_placed_anew() -> None:
    """The loop of that broker ends: nobody would ever read a lane that still counted on it."""

    async def play() -> list[int]:
        cluster = Dying()
        loops, lanes = fetcher(cluster), [made(0), made(1), made(2)]
        loops.add(lanes)
        lanes[0].source.leader, lanes[2].source.leader = 1, 2
        task = asyncio.create_task(loops._loop(1))
        await cluster.asked.wait()
        lanes[1].source.leader = 1
        cluster.dies.set()
        await task
        return [lane.source.leader for lane in lanes]

    assert asyncio.run(play()) == [-1, -1, 2]


@pytest.mark.parametrize("ends", [False, True])
def test_what_the_source_lost_is_told_of_the_tenure_that_asked_alone(
    ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the tenure ends while the source is asked for its ends, where the lane stands is no longer known here."""
    lane = made(0)
    claim = Claim(lane.key, 1, LaneMode.MAPPED, "me", None, 0, ClaimState.CLAIMED, 0, 0)
    tenure = Tenure(lane.key, LaneMode.MAPPED, claim, 1, 1, 86_400_000, 80, 80, 80, 80, None, frozenset(), "")
    pipeline = Pipeline(tenure, sole_writer=False)
    connection = cast(Connection, None)
    lane.begin(tenure, pipeline, connection)

    async def list_offset(*asked: Any, epoch: int) -> OffsetAnswer:
        if ends:
            lane.end_tenure(pipeline, TenureEnded(lane.key, Ending.DISCONNECTED))
        return OffsetAnswer(0, 200 if asked[3] == -2 else 300, -1)

    monkeypatch.setattr(module, "list_offset", list_offset)
    asyncio.run(fetcher(Cluster(Transport("c", "User:ANONYMOUS"), []))._out_of_range(connection, lane))
    if ends:
        assert (lane.phase, lane.stopped) == (Phase.TAKING, None)
    else:
        assert lane.stopped is not None
        assert (lane.phase, lane.stopped.reason, lane.stopped.offset) == (Phase.STOPPED, Stop.SOURCE_EXPIRED, 80)
