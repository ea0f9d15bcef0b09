"""What a fetch loop does where brokers and tenures end while it waits."""

import asyncio
import uuid

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.errors import ConnectionLostError
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
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
