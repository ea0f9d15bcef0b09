"""The tasks that copy a worker's lanes, from the first lease until the worker has none any more.

They tell each other only that something has changed: who has batches, who has room, which lane must be taken over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence

from anabranch.copier.lane.lane import Lane
from anabranch.copier.leases.control_topics import ControlTopics
from anabranch.copier.leases.resumable import ResumableLanes
from anabranch.copier.leases.senders import Senders
from anabranch.copier.leases.tasks import Tasks
from anabranch.copier.ownership.other_owners import OtherOwners
from anabranch.copier.ownership.takeover_manager import takeover_manager
from anabranch.copier.reporting.progress_writer import ProgressWriter
from anabranch.copier.source.fetcher import Fetcher
from anabranch.copier.source.open_transaction_watch import OpenTransactionWatch
from anabranch.copier.target.foreign_writers import ForeignWriters
from anabranch.copier.target.gap_writer import GapWriter
from anabranch.copier.target.partition import TargetPartition
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka.cluster import Cluster

LET_GO_S = 5.0


class Copying:
    """Copies ``lanes``, which come and go; nothing is persisted where ``may_persist`` does not allow it."""

    def __init__(
        self,
        owner: str,
        source: Cluster,
        target: Cluster,
        topics: ControlTopics,
        lanes: Sequence[Lane],
        resumable: ResumableLanes,
        gate: WriteGate,
        may_persist: Callable[[], bool],
    ) -> None:
        self.tasks = Tasks()
        self._lanes = lanes
        self._gate = gate
        self._may_persist = may_persist
        self._persisting = asyncio.Lock()
        self._resumable = resumable
        self._progress, self._ranges = topics.progress, topics.ranges
        journal, gap_records, progress, ranges = topics.journal, topics.gap_records, topics.progress, topics.ranges
        self._gap_writer = GapWriter(gap_records, journal, self._queued, self._lost)
        self._fetcher = Fetcher(source, gate, self._queued, self._gap_writer.submit)
        self._takeovers = takeover_manager(
            owner, source, target, journal, gap_records, progress, ranges, self._taken, gate
        )
        self._senders = Senders(gate, self._fetcher.wake, self._takeovers.wake)
        others = OtherOwners(owner, journal, progress)
        self._writer = ProgressWriter(owner, lanes, ranges, progress, others.report, self._gap_writer.forget, gate)
        self._transactions = OpenTransactionWatch(source)
        self._foreign_writers = ForeignWriters(target, journal.claims.producer_ids)

    def start(self) -> None:
        """Begin all tasks."""
        self.tasks.start("gap writer", self._gap_writer.run())
        self.tasks.start("fetcher", self._fetcher.run())
        self.tasks.start("takeovers", self._takeovers.run(self._lanes, lambda: self._gate.is_open))
        self.tasks.start("open transactions", self._transactions.run(self._lanes))
        self.tasks.start("foreign writers", self._foreign_writers.run(self._lanes))

    @property
    def is_running(self) -> bool:
        """Whether the tasks were begun."""
        return bool(self.tasks)

    def check_senders(self) -> None:
        """Raise what a sender raised."""
        self._senders.check()

    def add(self, lanes: Iterable[Lane]) -> None:
        """Copy these lanes, too."""
        self._fetcher.add(lanes)
        self.wake()

    async def persist(self, *, everything: bool = False) -> None:
        """Persist how far the lanes have come."""
        if self._may_persist():
            async with self._persisting:
                await self._writer.persist(everything=everything)

    async def persist_last(self) -> None:
        """Persist how far the lanes have come, before the end."""
        if self._may_persist():
            async with self._persisting:
                await self._writer.persist_last()

    async def settle(self, lane: Lane) -> None:
        """Send no more of a lane, let what is in flight be answered, and persist."""
        self._senders.remove(lane)
        deadline = time.monotonic() + LET_GO_S
        while time.monotonic() < deadline and lane.active is not None and lane.active.awaits_answers:
            await asyncio.sleep(0.002)
        await self.persist(everything=True)

    async def forgo(self, lane: Lane) -> None:
        """A lane was left: nothing of a takeover is under way when this returns."""
        await self._takeovers.forgo(lane)

    async def release(self, lane: Lane) -> None:
        """Say that a lane is free that was left, and give its claim back; raises ClusterError."""
        if self._gate.is_fresh:
            await self._progress.persist([self._writer.report(lane)])
            await self.give_back(lane)

    async def give_back(self, lane: Lane) -> None:
        """Release a lane's claim; what the next lease can go on with is kept."""
        await self._takeovers.give_back(lane)
        if lane.reusable_producer is not None:
            self._resumable.keep(lane)

    def remove(self, lane: Lane) -> None:
        """The lane is this worker's no more."""
        self._ranges.leave(lane.assignment.lane)
        self._senders.remove(lane)
        lane.active = None

    async def drain(self, seconds: float) -> None:
        """Send nothing more and wait for what is in flight; after that long its connections are ended."""
        # After the other tasks: a lane that is won in the moment in which they are cancelled may have brought a sender.
        await self._senders.cancel()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self._senders.idle:
            await asyncio.sleep(0.002)
        self._senders.abort("the lease is over")

    def close(self) -> None:
        """Nothing runs any more."""
        self.tasks.clear()
        self._senders.close()

    # -- what the parts tell each other ----------------------------------------------------------------

    def wake(self) -> None:
        """Something has changed for all."""
        self._fetcher.wake()
        self._takeovers.wake()
        self._senders.wake()

    def _taken(self, lane: Lane, target: TargetPartition) -> None:
        self._senders.send(lane, target.connection, target)
        self._fetcher.wake()

    def _lost(self) -> None:
        self._takeovers.wake()

    def _queued(self, lanes: Iterable[Lane]) -> None:
        connections = [None if lane.active is None else lane.active.connection for lane in lanes]
        self._senders.wake_for(dict.fromkeys(one for one in connections if one is not None))
        if None in connections:
            self._takeovers.wake()  # it was closed while they were idle
