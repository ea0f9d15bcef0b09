"""One worker process: the lanes of one lease at a time, and what is kept between leases.

A lease is one task of a micro-batch.  Connections, claims that were released, runs and tallies stay in memory
between two leases of the same process; no task, timer or thread does: between leases the event loop stands
still.  Everything a worker knows can be read again from the target, so it may die at any instant.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from anabranch.errors import AnabranchError
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import passing
from anabranch.kafka.security import open_cluster
from anabranch.lanes.claims import Mode
from anabranch.lanes.endings import Ending, TenureEnded
from anabranch.model.cluster import ClusterContext
from anabranch.model.decisions import LaneDecision, LanePlace
from anabranch.model.filters import load as load_filter
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.link import ModePolicy, WantedState
from anabranch.offsets.runs import Run
from anabranch.replicate.control import Links, Progress, Runs, now_ms
from anabranch.replicate.fetcher import Fetcher
from anabranch.replicate.gate import Gate
from anabranch.replicate.journal import Journal, Jumps
from anabranch.replicate.jumper import Jumper
from anabranch.replicate.keeper import Keeper
from anabranch.replicate.lane import Lane, Phase, Tally
from anabranch.replicate.runs import RunBook
from anabranch.replicate.sender import Sender
from anabranch.replicate.strangers import Strangers, with_stranger
from anabranch.replicate.waiting import Waits

TICK_S = 0.5
FILE_S = 1.0
DRAIN_S = 10.0
_OURS = {Phase.RUNNING, Phase.STOPPED}
"""Phases in which a lane that was won has runs to file and a claim to give back."""


@dataclass(frozen=True, slots=True)
class Lease:
    """What a task is to do: copy these lanes of a link for some seconds, as one of ``slots`` tasks.

    ``run`` names the run of the link (one ``link run``); ``batch`` is the micro-batch: the lease ends early when
    the run's plan has a later one.
    """

    link: str
    run: str
    batch: int
    slot: int
    slots: int
    seconds: float
    lanes: tuple[LaneAssignment, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """What a worker did since the last figures; ``over`` says why the lease ended, empty while it runs."""

    owner: str
    lanes: int
    running: int
    stopped: int
    records: int
    bytes: int
    over: str = ""


class Worker:
    """Runs leases of one link between two clusters; single-threaded, with an event loop of its own."""

    def __init__(self, source: ClusterContext, target: ClusterContext, run: str, alive: Callable[[], bool]) -> None:
        self._alive = alive
        self.owner = f"{run}/{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.loop = asyncio.new_event_loop()
        self._source = open_cluster(source)
        self._target = open_cluster(target)
        self.gate = Gate()
        self._journal: Journal | None = None
        self._jumps: Jumps | None = None
        self._jumper: Jumper | None = None
        self._links: Links | None = None
        self._progress: Progress | None = None
        self._runs: Runs | None = None
        self._kept: dict[str, Lane] = {}
        self._lanes: list[Lane] = []
        self._senders: dict[Connection, tuple[Sender, asyncio.Task[None]]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._fetcher: Fetcher | None = None
        self._keeper: Keeper | None = None
        self._lease: Lease | None = None
        self._wanted: WantedState | None = None
        self._decided: Mapping[LanePlace, LaneDecision] = {}
        self._over: str = ""
        self._gone = False
        self._until = 0.0
        self._counted = (0, 0)

    # -- a lease, for a synchronous caller -------------------------------------------------------------

    def run(self, lease: Lease) -> Iterator[Figures]:
        """Copy the lease's lanes and yield figures about once a second; returns when the lease is over.

        Closing the iterator early ends the lease the same way, only quicker.  A cluster that is away for a while
        is waited for, with the gate shut; what a person must mend (permissions, formats) is raised.
        """
        asyncio.set_event_loop(self.loop)
        drain = 1.0
        try:
            self.loop.run_until_complete(self._begin(lease))
            while not self._over:
                self.loop.run_until_complete(self._work(FILE_S))
                yield self._figures()
            drain = DRAIN_S
        finally:
            last = self.loop.run_until_complete(self._end(drain))
        yield last

    def close(self) -> None:
        """End the connections and the loop."""
        self._source.close()
        self._target.close()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    # -- its parts -------------------------------------------------------------------------------------

    async def _begin(self, lease: Lease) -> None:
        self._lease, self._over, self._gone = lease, "", False
        self._until = time.monotonic() + lease.seconds
        if self._journal is None:
            self._journal = Journal(self._target)
            self._jumps = Jumps(self._target)
            self._links = Links(self._target)
            self._progress = Progress(self._target)
            self._runs = Runs(self._target)
        assert self._progress is not None and self._runs is not None
        while True:
            try:
                await self._sync()
                await self._runs.sync()
                break
            except AnabranchError as error:
                if not passing(error):
                    raise
                if time.monotonic() > self._until:
                    self._over = f"the target could not be read: {error.message}"
                    return
                await asyncio.sleep(TICK_S)
        self._lanes = [self._lane(assignment) for assignment in lease.lanes]
        self._counted = self._total()
        assert self._jumps is not None
        self._jumper = Jumper(self._jumps, self._journal, self._queued, self._lost)
        self._fetcher = Fetcher(self._source, self.gate, self._queued, self._jumper.submit)
        self._fetcher.add(self._lanes)
        self._keeper = Keeper(
            self.owner,
            self._source,
            self._target,
            self._journal,
            self._jumps,
            self._progress,
            self._runs,
            self._taken,
            self.gate,
        )
        self._tasks = [
            asyncio.create_task(self._jumper.run(), name="jumper"),
            asyncio.create_task(self._fetcher.run(), name="fetcher"),
            asyncio.create_task(self._keeper.run(self._lanes, lambda: self.gate.is_open), name="keeper"),
            asyncio.create_task(Waits(self._source).run(self._lanes), name="waits"),
            asyncio.create_task(
                Strangers(self._target, self._journal.claims.producer_ids).run(self._lanes), name="strangers"
            ),
            asyncio.create_task(self._tick(), name="tick"),
        ]

    def _lane(self, assignment: LaneAssignment) -> Lane:
        """The lane as the last lease left it, or as it was filed."""
        assert self._runs is not None and self._progress is not None and self._journal is not None
        lane = Lane(assignment)
        kept = self._kept.pop(lane.key, None)
        filed = self._progress.lanes.get(assignment.lane)
        mine = filed is None or filed.owner == self.owner  # else another worker has copied on since
        if kept is not None and kept.held is not None and mine:
            lane.book, lane.tally, lane.held = kept.book, kept.tally, kept.held
            lane.mode, lane.mode_reason = kept.mode, kept.mode_reason
            lane.acknowledged_epoch = kept.acknowledged_epoch
            lane.trail, lane.stranger = kept.trail, kept.stranger
        else:
            lane.book = RunBook.of_segments(self._runs.segments.get(assignment.lane, {}))
            lane.book.filed()
            if filed is not None:
                lane.tally = Tally(filed.records, filed.bytes)
                lane.mode, lane.mode_reason = filed.mode, filed.mode_reason
        if filed is not None:
            lane.source_epoch = filed.source_epoch
        last = lane.book.last
        if last is not None:
            lane.position, lane.target_end = last.source + last.length, last.target + last.length
        if lane.want_mapped and self._wanted is not None and self._wanted.spec.mode is not ModePolicy.MAPPED:
            lane.want_mapped_why = "the source topic is compacted: under identity its first hole would shift the log"
        if self._journal.claims.mode(lane.key) is Mode.MAPPED and lane.mode is LaneMode.MAPPED and lane.mode_reason:
            lane.want_mapped, lane.want_mapped_why = True, lane.mode_reason
        return lane

    async def _work(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self._over and time.monotonic() < deadline:
            await asyncio.sleep(min(0.05, max(0.0, deadline - time.monotonic())))
            for task in self._tasks:
                if task.done():
                    task.result()
            for connection, (sender, task) in list(self._senders.items()):
                if task.done():
                    task.result()
                    sender.close()
                    del self._senders[connection]
            if not self._alive():
                self.gate.shut()
                self._over = "the parent process is gone"
            elif time.monotonic() >= self._until:
                self._over = "the lease is over"
        await self._file()

    async def _tick(self) -> None:
        """Look at what is wanted, twice a second."""
        while True:
            await asyncio.sleep(TICK_S)
            try:
                await self._sync()
            except AnabranchError as error:
                if not passing(error):
                    raise

    async def _sync(self) -> None:
        assert self._lease is not None and self._links is not None and self._progress is not None
        assert self._journal is not None
        started = time.monotonic()
        await self._links.sync()
        await self._progress.sync()
        claims = await self._journal.read()
        record = self._links.links.get(self._lease.link)
        if record is None:
            self.gate.shut()
            self._gone = True
            self._kept.clear()
            self._over = "the link was deleted"
            return
        wanted, before = record.wanted, self._wanted
        self.gate.paused = wanted.paused
        self.gate.rate = wanted.spec.rate_limit / self._lease.slots if wanted.spec.rate_limit else None
        if before is None or before.spec.filter != wanted.spec.filter:
            self._refilter(wanted)
        if before is not None and before.spec.filter != wanted.spec.filter:
            self._over = "the link's filter changed"
        decided = dict(self._links.decisions[self._lease.link])
        if before is not None and decided != self._decided:
            self._over = "a person decided about a lane"
        self._decided = decided
        self._wanted = wanted
        if before is not None and before.revision != wanted.revision and not wanted.paused:
            # Whoever changes a link may have mended what stopped a lane: it is tried anew, and stops again if not.
            for lane in self._lanes:
                lane.retry()
        plan = self._progress.plans.get(self._lease.link)
        if plan is not None and plan.owner == self._lease.run and plan.batch > self._lease.batch:
            self._over = "the link was planned anew"
        for lane in self._lanes:
            if lane.tenure is not None and lane.pipeline is not None:
                later = claims.successor(lane.key, lane.tenure.producer_id)
                if later is not None and lane.tenure.mode is Mode.MAPPED:
                    lane.end_tenure(lane.pipeline, TenureEnded(lane.key, Ending.SUPERSEDED, None, later.owner))
        if not self._over:
            self.gate.renew(started)
        self._wake()

    def _refilter(self, wanted: WantedState) -> None:
        """Leave at once the lanes that the link no longer wants; new ones come with the next plan."""
        selects = load_filter(wanted.spec.filter)
        for lane in self._lanes:
            if not selects.selects(lane.assignment.source.topic):
                lane.leave()

    def _wake(self) -> None:
        if self._fetcher is not None:
            self._fetcher.wake()
        if self._keeper is not None:
            self._keeper.wake()
        for sender, _ in self._senders.values():
            sender.wake()

    # -- what the parts tell each other ----------------------------------------------------------------

    def _taken(self, lane: Lane) -> None:
        connection = lane.connection
        assert connection is not None and self._fetcher is not None and self._keeper is not None
        found = self._senders.get(connection)
        if found is None:
            sender = Sender(connection, self.gate, self._fetcher.wake, self._keeper.wake)
            task = asyncio.create_task(sender.run(), name=f"send-{connection.node}")
            found = self._senders[connection] = (sender, task)
        found[0].add(lane)
        self._fetcher.wake()

    def _lost(self) -> None:
        if self._keeper is not None:
            self._keeper.wake()

    def _queued(self, lanes: Iterable[Lane]) -> None:
        for connection in {lane.connection for lane in lanes if lane.connection is not None}:
            found = self._senders.get(connection)
            if found is not None:
                found[0].wake()

    # -- filing ----------------------------------------------------------------------------------------

    async def _file(self) -> None:
        """Store runs, then progress: progress never tells of records whose runs are not filed."""
        assert self._runs is not None and self._progress is not None
        if self._gone:
            return  # what is filed now would outlive the link
        if not self.gate.is_fresh:
            return  # a process that was stopped and goes on must not file its old runs over its successor's
        now = time.monotonic()
        segments: dict[tuple[LaneKey, int], tuple[Run, ...]] = {}
        mine = [lane for lane in self._lanes if lane.phase is not Phase.OVER and not self._is_anothers(lane)]
        filing: list[tuple[RunBook, int]] = []
        for lane in mine:
            lane.tally.measure(now)
            if lane.phase in _OURS and (unfiled := lane.book.unfiled()):
                filing.append((lane.book, unfiled[0][0]))
                lane.book.filed()
                for number, runs in unfiled:
                    segments[(lane.assignment.lane, number)] = runs
        reports = [self._report(lane) for lane in mine]
        try:
            if segments:
                await self._runs.file(segments)
            if reports:
                await self._progress.file(reports)
            if self._jumper is not None:
                await self._jumper.forget(mine, self._check_filed)
        except AnabranchError as error:
            for book, number in filing:
                book.refile(number)
            if not passing(error):
                raise

    async def _check_filed(self) -> set[str]:
        """File again what somebody else has overwritten, and return those lanes: a request of an earlier owner may be
        carried out late, and once jumps are forgotten the filed runs are what tells."""
        assert self._runs is not None
        changed = await self._runs.sync()
        running = {lane.assignment.lane: lane for lane in self._lanes if lane.phase is Phase.RUNNING}
        overwritten: set[str] = set()
        for key, number in changed:
            lane = running.get(key)
            if lane is not None and not lane.book.is_as_filed(number, self._runs.segments[key].get(number, ())):
                lane.book.refile(number)
                overwritten.add(lane.key)
        return overwritten

    def _is_anothers(self, lane: Lane) -> bool:
        if lane.phase is not Phase.TAKING:
            return False
        lost = lane.ended is not None and lane.ended.reason in {Ending.FENCED, Ending.SUPERSEDED}
        return lost or (self._keeper is not None and self._keeper.is_anothers(lane))

    def _report(self, lane: Lane) -> LaneProgress:
        source = lane.source
        behind = max(0, source.stable - lane.reached)
        mean = lane.tally.bytes / lane.tally.records if lane.tally.records else 0.0
        lag_seconds: float | None = 0.0
        if behind:
            lag_seconds = None
            if lane.queue:
                lag_seconds = max(0.0, now_ms() / 1000 - lane.queue[0].header.max_timestamp / 1000)
        state = lane.state(self.gate.paused)
        reason = lane.stopped.message if state is LaneState.STOPPED and lane.stopped else None
        if state is LaneState.WAITING:
            reason = lane.held_by or lane.waiting or None
        return LaneProgress(
            lane=lane.assignment.lane,
            source=lane.assignment.source,
            target=lane.assignment.target,
            state=state,
            mode=lane.mode,
            mode_reason=with_stranger(lane.mode_reason, lane.stranger),
            position=lane.reached,
            log_start=source.log_start,
            stable=source.stable,
            high_watermark=source.high_watermark,
            target_end=lane.target_end,
            records=lane.tally.records,
            bytes=lane.tally.bytes,
            records_per_s=round(lane.tally.records_per_s, 1),
            bytes_per_s=round(lane.tally.bytes_per_s, 1),
            lag_bytes=round(behind * mean),
            lag_seconds=lag_seconds,
            owner=self.owner,
            updated_at_ms=now_ms(),
            stop_reason=reason,
            stop_offset=lane.stopped.offset if state is LaneState.STOPPED and lane.stopped else None,
            source_epoch=lane.note_epoch(),
        )

    def _total(self) -> tuple[int, int]:
        return sum(lane.tally.records for lane in self._lanes), sum(lane.tally.bytes for lane in self._lanes)

    def _figures(self) -> Figures:
        records, size = self._total()
        before, self._counted = self._counted, (records, size)
        return Figures(
            owner=self.owner,
            lanes=len(self._lanes),
            running=sum(lane.phase is Phase.RUNNING for lane in self._lanes),
            stopped=sum(lane.phase is Phase.STOPPED for lane in self._lanes),
            records=records - before[0],
            bytes=size - before[1],
            over=self._over,
        )

    async def _end(self, drain: float) -> Figures:
        """Let what is in flight be answered, file, release; then nothing of this lease runs any more."""
        for task in (*self._tasks, *(task for _, task in self._senders.values())):
            task.cancel()
        await asyncio.gather(*self._tasks, *(task for _, task in self._senders.values()), return_exceptions=True)
        self._tasks = []
        deadline = time.monotonic() + drain
        while time.monotonic() < deadline and not all(sender.idle for sender, _ in self._senders.values()):
            await asyncio.sleep(0.002)
        for connection, (sender, _) in self._senders.items():
            if not sender.idle:
                connection.abort("the lease is over")
        try:
            async with asyncio.timeout(drain):
                await self._file()
                if self._keeper is not None and self._alive() and not self._gone:
                    ours = [lane for lane in self._lanes if lane.phase in _OURS]
                    await asyncio.gather(*(self._keeper.give_back(lane) for lane in ours))
        except (AnabranchError, TimeoutError):
            pass
        figures = self._figures()
        for lane in self._lanes:
            held = lane.held if lane.phase in _OURS else None
            lane.leave()
            if held is not None:
                lane.pipeline = lane.tenure = lane.connection = None
                self._kept[lane.key] = lane
        for sender, _ in self._senders.values():
            sender.close()
        self._senders = {}
        self._fetcher = self._keeper = self._jumper = None
        self._lanes = []
        self.gate.shut()
        return figures
