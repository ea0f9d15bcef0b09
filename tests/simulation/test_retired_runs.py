"""Runs are retired while both clusters delete: maps stay exact, and say of what is gone that it is.

Segments of two runs, of which a worker holds one, are what thousands of runs are on a real link.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from anabranch.kafka.log import KeyedLog
from anabranch.kafka.security import open_cluster
from anabranch.model.link import ModePolicy
from anabranch.model.topics import TopicPartition
from anabranch.offsets.translate import Before, Exact, to_source, to_target
from anabranch.state.maps.reading import LaneMap, LinkMaps, read_maps
from anabranch.state.topics.control import Links, write
from qa.faults.topics import LoadTopic, TopicKind
from qa.simulation.faults import Fault
from qa.simulation.life import LINK, Life, Plan
from qa.simulation.load import entries
from tests.chance import seed
from tests.simulation.test_lives import only

PLAN = Plan(
    "retired",
    (LoadTopic("payments", 1, old=False, kind=TopicKind.TRANSACTIONAL),),
    (
        *(Fault.WORKER_KILL, Fault.WORKER_STOP, Fault.DRIVER_KILL, Fault.SECOND_RUN),
        *(Fault.RESET, Fault.TARGET_CUT, *[Fault.RETENTION] * 6),
    ),
    mode=ModePolicy.MAPPED,
    gap_s=0.3,
    load_gap_s=0.03,
)

FEWEST = 20
"""Short lives that are tried until runs are retired in one."""


class Retiring(Life):
    """A life at whose end every record's position is asked of the maps, as verbs do; ``retired`` counts records."""

    retired = 0

    def _judge(self) -> None:
        super()._judge()
        maps = self.world.ask(lambda: asyncio.run(self._maps()), 300.0)
        for topic in self.plan.topics:
            if (lane := maps.of_source(TopicPartition(topic.name, 0))) is not None:
                self._ask(topic.name, lane)

    async def _maps(self) -> LinkMaps:
        async with open_cluster(self.context("target")) as target:
            return await read_maps(target, LINK)

    def _ask(self, name: str, lane: LaneMap) -> None:
        source, target = self.source.partition(name, 0), self.target.partition(name, 0)
        gone = {side: self.faults.gone.get((side, name, 0), []) for side in ("source", "target")}
        ours = gone["source"] + entries(source, committed=True)
        theirs = gone["target"] + entries(target, committed=False)
        first = lane.ranges[0]
        for here, there in zip(ours, theirs, strict=True):
            told, back = to_target(lane.ranges, here.offset), to_source(lane.ranges, there.offset)
            if here.offset >= first.source:
                right = told == Exact(there.offset) and back == Exact(here.offset)
            else:
                right = isinstance(told, Before) and isinstance(back, Before)
                right &= here.offset < source.led.log.start and there.offset < target.led.log.start
                self.retired += 1
            if not right:
                self.outcome.wrong.append(f"{name}: {here.offset} is at {there.offset}, and is told as {told}, {back}")
                return


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of two runs, of which one is held."""
    monkeypatch.setattr("anabranch.state.segments.index.SEGMENT_RANGES", 2)
    for name in ("state.segments.index", "state.topics.control", "copier.leases.control_topics"):
        monkeypatch.setattr(f"anabranch.{name}.HELD", 1)


def retired_in(number: int, seconds: float) -> int:
    """How many records of a life that holds are told of no more."""
    life = Retiring(replace(PLAN, seconds=seconds, pace=1.0), number)
    came = life.live()
    assert not came.wrong, f"seed {number}: {came.wrong[0]}"
    return life.retired


def hold(numbers: range, seconds: float) -> None:
    """Every one of these lives holds, and in some of them runs are retired."""
    assert sum(retired_in(number, seconds) for number in numbers)


@pytest.mark.unit
def test_maps_stay_exact_while_runs_are_retired() -> None:
    """A short life in which some are; whatever either log still has is told, and the rest is older than the map."""
    first = seed(108)
    assert any(retired_in(number, 3.0) for number in range(first, first + FEWEST))


@pytest.mark.test
def test_maps_stay_exact_in_more_lives() -> None:
    """Some lives, which are longer."""
    first = seed(100)
    hold(range(first, first + 5), 12.0)


@pytest.mark.test
def test_an_owner_that_was_stopped_cuts_nothing_that_its_successor_persisted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped between its last look at the target's log and the cut of its map there, while another copied on.

    The seed is of the time before writers of a link read back, workers looked at the topics that they seldom read, and
    lanes at their end waited before they are read again; each of these would make another life of it.
    """

    async def not_read_back(self: Links, entries: list[tuple[bytes, bytes | None]]) -> int:
        return await write(self._log, entries)

    async def not_checked(_: KeyedLog) -> None:
        """Nothing is asked."""

    monkeypatch.setattr(Links, "_append", not_read_back)
    monkeypatch.setattr(KeyedLog, "check", not_checked)
    monkeypatch.setattr("anabranch.copier.source.fetcher.GATHER_S", 0.0)
    hold(only(255_616_694), 12.0)


@pytest.mark.test
def test_a_segment_that_came_late_behind_its_retirement_tells_nothing_wrong() -> None:
    """A stopped owner's request stored it again, below others that are retired."""
    hold(only(68_796_487), 12.0)


@pytest.mark.full
def test_maps_stay_exact_in_new_lives() -> None:
    """Other seeds each time."""
    first = seed(1_000)
    hold(range(first, first + 60), 12.0)
