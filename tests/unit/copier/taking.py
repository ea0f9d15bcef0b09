"""Lanes on a simulated cluster that is source and target: owners take them over, and find what others left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.ownership.takeover_manager import TakeoverManager, takeover_manager
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.partitions import delete_records
from anabranch.kafka.settling import until_led
from anabranch.model.clock import monotonic
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol.gap_records import GapRecord, OffsetSpan
from anabranch.records.encode import encode
from anabranch.state.codecs import ranges as range_codec
from anabranch.state.topics.control import MappedRanges, Progress, ensure_topics
from anabranch.state.topics.journal import GapRecords, Journal
from qa.timeouts import TIMEOUT_S
from tests.simulated import Simulated
from tests.unit.asking import append, on, records

T = TypeVar("T")
SOURCE, TARGET = "orders", "copied"
PATIENCE_S = TIMEOUT_S
SCENES = 16


@dataclass(slots=True)
class Owner:
    """A process that takes lanes over, with what it has read of the control topics."""

    manager: TakeoverManager
    journal: Journal
    ranges: MappedRanges
    task: asyncio.Task[None] | None = None

    def begin(self, *lanes: Lane) -> None:
        """Take these over."""
        self.task = asyncio.create_task(self.manager.run(list(lanes), lambda: True))

    async def until(self, condition: Callable[[], bool]) -> None:
        """Go on until it is so."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                assert self.task is not None and not self.task.done()
                await asyncio.sleep(0.001)

    async def end(self) -> None:
        """No more."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class Lab:
    """The cluster, and two lanes of a link of its own."""

    cluster: Cluster
    number: int
    source: TopicId
    target: TopicId

    def lane(self, partition: int = 0) -> Lane:
        """A lane that is to be taken over."""
        key = LaneKey(f"link-{self.number}", self.source, partition)
        partition += 2 * self.number
        here, there = TopicPartition(SOURCE, partition), TopicPartition(TARGET, partition)
        return Lane(LaneAssignment(key, here, there, self.target, LaneStart(), ModePolicy.MAPPED))

    async def owner(self, name: str) -> Owner:
        """A new process; of one run where the names are the same up to a slash."""
        journal, gap_records, progress, ranges = (
            of(self.cluster) for of in (Journal, GapRecords, Progress, MappedRanges)
        )
        await asyncio.gather(journal.read(), gap_records.read(), progress.sync(), ranges.sync())
        gate = WriteGate()
        gate.renew(monotonic())
        manager = takeover_manager(
            name, self.cluster, self.cluster, journal, gap_records, progress, ranges, lambda *_: None, gate
        )
        return Owner(manager, journal, ranges)

    async def copied(self, *counts: int) -> int:
        """An owner takes the lane over, sends batches of so many records, and is killed; returns its producer id."""
        lane, owner = self.lane(), await self.owner("run/killed")
        owner.begin(lane)
        await owner.until(lambda: lane.phase is LanePhase.RUNNING)
        await owner.end()
        return await self.send(lane, *counts)

    async def send(self, lane: Lane, *counts: int) -> int:
        """Batches of so many records, from where a lane was taken over on; returns its producer id."""
        assert lane.active is not None and lane.active.connection is not None
        ownership, connection = lane.active.ownership, lane.active.connection
        sequence = ownership.position
        for count in counts:
            batch = encode(records(count), producer_id=ownership.producer_id, producer_epoch=0, sequence=sequence)
            assert await append(connection, TARGET, self.target.uuid, batch, 2 * self.number) == 0
            sequence += count
        return ownership.producer_id

    async def take(self, name: str) -> tuple[Lane, Owner]:
        """A new process has taken the lane over, and goes on."""
        lane, owner = self.lane(), await self.owner(name)
        owner.begin(lane)
        await owner.until(lambda: lane.phase is LanePhase.RUNNING)
        return lane, owner

    async def delete_below(self, lane: Lane, offset: int) -> None:
        """The lane's target log begins there from now on."""
        assert lane.active is not None and lane.active.connection is not None
        assert await delete_records(lane.active.connection, TARGET, 2 * self.number, offset) == 0

    async def forgotten(self, producer_id: int, sequence: int, source: int) -> None:
        """What an owner sent from a sequence on is told by its second gap record, and what is before by runs alone."""
        spans = (OffsetSpan(source, 10),)
        assert await GapRecords(self.cluster).append([GapRecord(self.lane().key, producer_id, sequence, 1, spans)])

    async def persisted(self, *segments: tuple[MappedRange, ...]) -> None:
        """Segments of runs, as an owner persists them."""
        key = self.lane().assignment.lane
        await MappedRanges(self.cluster).persist(
            {(key, number): range_codec.encode(ranges) for number, ranges in enumerate(segments)}
        )


class Stage:
    """A simulated cluster with topics for some scenes, one after the other."""

    def __init__(self, simulated: Simulated) -> None:
        self._context = ClusterContext("one", tuple(simulated.bootstrap.split(",")))
        self._played = 0

    def play(self, scene: Callable[[Lab], Awaitable[T]]) -> T:
        """What comes of a scene on partitions that nobody has written to."""

        async def made(cluster: Cluster) -> T:
            number, self._played = self._played, self._played + 1
            if not number:
                await ensure_topics(cluster)
                for topic in (SOURCE, TARGET):
                    await create_topic(cluster, topic, 2 * SCENES, 1, {"retention.ms": "-1"})
                await until_led(cluster, [SOURCE, TARGET])
            topics = (await cluster.metadata([SOURCE, TARGET])).topics
            return await scene(Lab(cluster, number, TopicId(topics[SOURCE].id), TopicId(topics[TARGET].id)))

        return on(self._context, made)
