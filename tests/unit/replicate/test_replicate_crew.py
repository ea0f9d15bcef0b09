"""Which lanes a worker has when a lease begins, and what is left of it when it ends."""

import asyncio
import uuid
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.runs import Run
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

    def _assign(self, wanted: Mapping[LaneAssignment, None]) -> None:
        self.assigned.append(frozenset(wanted))

    def wake(self) -> None:
        """What a fetcher and a keeper have."""


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


class Wire:
    """A connection with nothing in flight."""

    def __init__(self) -> None:
        self.node, self.in_flight = "1", 0
        self.closed: object | None = None
        self.on_close: list[Any] = []

    def offers(self, _api_key: int) -> int:
        """Versions with names."""
        return 9


def test_nothing_runs_after_the_end_of_a_lane_that_was_won_as_it_came() -> None:
    """The takeover ends well in the very moment in which it is cancelled, and the lane gets a sender."""

    async def play() -> set[str]:
        crew, lane = Alone(), Lane(assigned())
        lane.connection = cast(Any, Wire())
        crew._fetcher = crew._keeper = cast(Any, crew)  # who is woken there

        async def keeper() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                crew._taken(lane)

        crew._tasks = [asyncio.create_task(keeper())]
        await asyncio.sleep(0)
        await crew.end(1.0)
        return {task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()}

    assert asyncio.run(play()) == set()


def test_a_worker_that_ends_asks_for_no_lanes() -> None:
    """What another one asks of it while it lets lanes go is no reason to do as its lease says."""

    async def play() -> bool:
        crew = Alone()
        crew._is_home = True
        await crew.end(0.1)
        return crew._is_home

    assert not asyncio.run(play())


def test_filed_runs_that_contradict_each_other_end_no_run() -> None:
    """An older segment that was stored late after a truncation holds up its lane, and the others are copied."""

    async def play() -> Lane:
        crew = Alone()
        crew._runs.segments[assigned().lane] = {0: (Run(0, 0, 50),), 1: (Run(40, 40, 9),)}
        return crew._lane(assigned())

    lane = asyncio.run(play())
    assert lane.is_untold and lane.book.last is None


def test_a_lane_that_is_let_go_is_taken_over_no_more() -> None:
    """Its takeover may be under way when another worker is told that the lane is free."""

    async def play() -> list[tuple[Phase, bool]]:
        crew, lane, found = Alone(), Lane(assigned()), list[tuple[Phase, bool]]()

        class Keeper:
            """Tells when it was asked."""

            async def forgo(self, lane: Lane) -> None:
                """The lane was left, and is still this worker's."""
                found.append((lane.phase, lane in crew._lanes))

        crew._keeper = cast(Any, Keeper())
        crew._lanes.append(lane)
        crew._counts.add(lane)
        await crew._leave(lane)
        assert crew._lanes == []
        return found

    assert asyncio.run(play()) == [(Phase.OVER, True)]


def test_a_lane_that_is_let_go_waits_for_no_answer_of_a_connection_that_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its sender has forgotten it by then, so that nobody ends its tenure; who asked for it would wait for nothing."""

    monkeypatch.setattr("anabranch.replicate.crew.LET_GO_S", 3600.0)

    async def play() -> None:
        crew, lane, wire = Alone(), Lane(assigned()), Wire()
        lane.connection, lane.pipeline = cast(Any, wire), cast(Any, SimpleNamespace(in_flight=1, next_offset=0))
        crew._lanes.append(lane)
        crew._counts.add(lane)
        task = asyncio.create_task(crew._leave(lane))
        await asyncio.sleep(0.02)
        assert not task.done()
        wire.closed = "lost"
        async with asyncio.timeout(60):
            await task

    asyncio.run(play())
