"""Which lanes a worker has while leases follow each other, and in which order one is let go."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable
from typing import Any, cast

import pytest

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.leases.counts import LeaseCounts
from anabranch.copier.leases.membership import Membership
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.unit

TOPIC = TopicId(uuid.UUID(int=9))


def assigned(partition: int) -> LaneAssignment:
    """A lane of a plan."""
    at = TopicPartition("t", partition)
    return LaneAssignment(LaneKey("l", TOPIC, partition), at, at, TOPIC, LaneStart(), ModePolicy.AUTO)


class Others:
    """Workers that hold no lane until they are said to; ``asks`` are lanes that they ask for."""

    def __init__(self) -> None:
        self.held: set[LaneAssignment] = set()
        self.asks: list[Lane] = []

    def deadline(self, wanted: LaneAssignment) -> float:
        """For as long as it takes."""
        return float("inf") if wanted in self.held else 0.0

    def holder(self, wanted: LaneAssignment) -> str | None:
        """Who has it."""
        return "other" if wanted in self.held else None

    async def ask(self, wanted: Iterable[LaneAssignment]) -> None:
        """They hear of it."""

    def taken(self, wanted: LaneAssignment) -> None:
        """They hear of that, too."""

    def asked(self, lanes: Iterable[Lane]) -> list[Lane]:
        """What they ask for."""
        return [lane for lane in self.asks if lane in lanes]


class Copies:
    """Keeps what was done for lanes, in its order; what settles waits until it may."""

    def __init__(self) -> None:
        self.done: list[tuple[str, int]] = []
        self.may_settle = asyncio.Event()

    def _note(self, what: str, lane: Lane) -> None:
        self.done.append((what, lane.assignment.lane.partition))

    def add(self, lanes: Iterable[Lane]) -> None:
        for lane in lanes:
            self._note("add", lane)

    async def settle(self, lane: Lane) -> None:
        await self.may_settle.wait()
        self._note("settle", lane)

    async def forgo(self, lane: Lane) -> None:
        self._note("forgo", lane)

    async def release(self, lane: Lane) -> None:
        self._note("release", lane)

    def remove(self, lane: Lane) -> None:
        self._note("remove", lane)


async def made() -> tuple[Membership, Copies, Others]:
    """A worker without lanes."""
    copies, others = Copies(), Others()

    async def read() -> None:
        await asyncio.sleep(0)

    return Membership([], copies, LeaseCounts(), cast(Any, others), Lane, lambda: True, read), copies, others


async def settled() -> None:
    """Whatever may happen has happened."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_new_lease_lets_go_what_it_lacks_and_leaves_the_others_alone() -> None:
    """A lane is told to be free after its batches were answered and persisted, and before it is forgotten."""

    async def play() -> tuple[list[tuple[str, int]], list[int]]:
        membership, copies, _ = await made()
        await membership.begin([assigned(0), assigned(1)])
        membership.assign()
        staying = membership.lanes[1]
        for lane in membership.lanes:
            lane.phase = LanePhase.RUNNING
        copies.done.clear()
        copies.may_settle.set()
        await membership.begin([assigned(1), assigned(2)])
        membership.assign()
        await settled()
        membership.check()
        assert staying in membership.lanes
        return copies.done, [lane.assignment.lane.partition for lane in membership.lanes]

    done = [("add", 2), ("settle", 0), ("forgo", 0), ("release", 0), ("remove", 0)]
    assert asyncio.run(play()) == (done, [1, 2])


def test_a_lane_that_could_not_be_let_go_is_the_worker_s_until_its_end() -> None:
    """It is persisted and given back then: a worker that is cancelled in between has not lost it."""

    async def play() -> tuple[int, int]:
        membership, _, _ = await made()
        await membership.begin([assigned(0)])
        membership.assign()
        await membership.begin([])
        membership.assign()
        await settled()
        for task in membership.leaving():
            task.cancel()
        await settled()
        before = len(membership.lanes)
        membership.clear()
        return before, len(membership.lanes)

    assert asyncio.run(play()) == (1, 0)


def test_a_lane_that_another_holds_comes_once_it_is_free() -> None:
    """Until then the others are copied."""

    async def play() -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        membership, copies, others = await made()
        others.held = {assigned(1)}
        await membership.begin([assigned(0), assigned(1)])
        membership.assign()
        await settled()
        before = list(copies.done)
        others.held.clear()
        async with asyncio.timeout(TIMEOUT_S):
            while len(membership.lanes) < 2:
                await asyncio.sleep(0.001)
        await membership.forgo()
        return before, copies.done

    assert asyncio.run(play()) == ([("add", 0)], [("add", 0), ("add", 1)])


@pytest.mark.parametrize(("is_over", "is_home", "left"), [(True, False, [0]), (False, True, [0]), (False, False, [])])
def test_what_others_ask_for_is_let_go_between_leases_and_where_no_lease_has_it(
    is_over: bool, is_home: bool, left: list[int]
) -> None:
    """A worker that does what its lease says keeps its lanes."""

    async def play() -> list[int]:
        membership, copies, others = await made()
        await membership.begin([assigned(0)])
        membership.assign()
        if is_home:
            await membership.begin([])
            membership.is_home = True
        others.asks = list(membership.lanes)
        copies.may_settle.set()
        membership.give_way(is_over)
        await settled()
        return [partition for what, partition in copies.done if what == "remove"]

    assert asyncio.run(play()) == left
