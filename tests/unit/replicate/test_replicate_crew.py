"""Which lanes a worker has when a lease begins, and what is left of it when it ends."""

import asyncio
import uuid

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.replicate.crew import Crew
from anabranch.replicate.lane import Lane, Phase
from anabranch.replicate.lease import Lease, fingerprint

pytestmark = pytest.mark.unit

TOPIC = TopicId(uuid.UUID(int=9))
OWNER = "run-1/me"


def assigned(part: int = 0) -> LaneAssignment:
    """What a plan says of one lane."""
    place = TopicPartition("t", part)
    return LaneAssignment(LaneKey("l", TOPIC, part), place, place, TOPIC, LaneStart(), ModePolicy.AUTO)


class Alone(Crew):
    """A crew that reads no control topic and keeps what it was told to have."""

    def __init__(self) -> None:
        super().__init__(OWNER, *(Cluster(Transport(name, "User:ANONYMOUS"), []) for name in "st"), lambda: True)
        self.assigned: list[frozenset[LaneAssignment]] = []

    async def _sync(self) -> None:
        pass

    def _start(self) -> None:
        pass

    def _assign(self, wanted: frozenset[LaneAssignment]) -> None:
        self.assigned.append(wanted)


@pytest.mark.parametrize(("phase", "is_home"), [(Phase.RUNNING, True), (Phase.OVER, False)])
def test_a_lane_that_a_filter_left_out_and_took_in_again_is_begun_again(
    phase: Phase, is_home: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both may happen between two plans: then the plan says that the worker keeps its lanes, and it has left one."""

    async def read() -> None:
        pass

    async def play() -> list[frozenset[LaneAssignment]]:
        crew, one = Alone(), assigned()
        monkeypatch.setattr(crew._runs, "sync", read)
        lane = Lane(one)
        lane.phase = phase
        crew._lanes.append(lane)
        await crew.begin(Lease("l", "run-1", 2, 0, 1, 10.0, (one,), {OWNER: fingerprint([one])}))
        return crew.assigned

    assert asyncio.run(play()) == ([] if is_home else [frozenset([assigned()])])
