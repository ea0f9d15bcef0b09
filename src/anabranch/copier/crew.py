"""The lanes that a worker copies, and the tasks that do it: asynchronous, on whichever thread drives the loop.

A crew begins with a lease and copies until ``end``, over the ends of leases.  A new lease changes only which lanes
it has: those that stay are copied on untouched, those that go are let go one by one while the others are copied on,
those that come are asked for where another worker of the run holds them (:mod:`anabranch.copier.ownership.handover`).

Invariant: a lane is sent by the one tenure that its claim names, and by nothing that a lease or a plan says.  That
the gate is fresh is required of every write, in a lease and between two.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from anabranch.copier.counts import Counts
from anabranch.copier.lane import Lane, Phase, Tally
from anabranch.copier.ownership.handover import Handover
from anabranch.copier.ownership.keeper import Keeper
from anabranch.copier.planning.lease import Figures, Lease, fingerprint
from anabranch.copier.source.fetcher import Fetcher
from anabranch.copier.source.waiting import Waits
from anabranch.copier.target.filing import OURS, Filing
from anabranch.copier.target.gate import Gate
from anabranch.copier.target.jumper import Jumper
from anabranch.copier.target.sender import Sender
from anabranch.copier.target.strangers import Strangers
from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import passing
from anabranch.model.decisions import LaneDecision, LanePlace
from anabranch.model.filters import load as load_filter
from anabranch.model.lane import LaneAssignment, LaneMode
from anabranch.model.link import ModePolicy, WantedState
from anabranch.offsets.errors import RunOrderError
from anabranch.protocol.endings import Ending, TenureEnded
from anabranch.state.segments.runs import HELD
from anabranch.state.topics.control import Links, Progress, Runs
from anabranch.state.topics.journal import Journal, Jumps

TICK_S = 0.5
HURRY_S = 0.1
"""Between two looks at what is wanted while lanes may be asked for."""
SETTLE_S = 5.0
"""How long after a plan workers may still ask for lanes."""
ASK_S = 0.5
FILE_S = 1.0
LET_GO_S = 5.0


class Crew:
    """Copies the lanes of one lease after the other; ``over`` says why the newest is over, empty while it runs."""

    def __init__(self, owner: str, source: Cluster, target: Cluster, alive: Callable[[], bool]) -> None:
        self.owner = owner
        self.gate = Gate()
        self.over = ""
        self.is_final = False
        self._alive = alive
        self._source = source
        self._target = target
        self._journal = Journal(target)
        self._jumps = Jumps(target)
        self._links = Links(target)
        self._progress = Progress(target)
        self._runs = Runs(target, HELD)
        self._handover = Handover(owner, self._journal, self._progress)
        self._counts = Counts()
        self._kept: dict[str, Lane] = {}
        self._lanes: list[Lane] = []
        self._senders: dict[Connection, tuple[Sender, asyncio.Task[None]]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._leaving: dict[str, asyncio.Task[None]] = {}
        self._arriving: asyncio.Task[None] | None = None
        self._jumper: Jumper | None = None
        self._fetcher: Fetcher | None = None
        self._keeper: Keeper | None = None
        self._filing: Filing | None = None
        self._syncing = asyncio.Lock()
        self._storing = asyncio.Lock()
        self._lease: Lease | None = None
        self._leased: Mapping[LaneAssignment, None] = {}
        self._is_home = False
        self._knows_runs = False
        self._wanted: WantedState | None = None
        self._decided: Mapping[LanePlace, LaneDecision] = {}
        self._gone = False
        self._until = 0.0
        self._settled = 0.0

    # -- a lease ---------------------------------------------------------------------------------------

    async def begin(self, lease: Lease) -> None:
        """Copy a lease's lanes from now on; raises what a person must mend (permissions, formats).

        A cluster that is away for a while is waited for, with the gate shut.
        """
        self._lease, self.over, self.is_final, self._gone = lease, "", False, False
        self._until = time.monotonic() + lease.seconds
        self._settled = time.monotonic() + SETTLE_S
        self._is_home, self._leased = False, dict.fromkeys(lease.lanes)
        await self._forgo()
        while True:
            try:
                await self._sync()
                # Who keeps the lanes that it has needs no runs of others: they are much, and read by all.
                self._knows_runs = lease.homes.get(self.owner) != fingerprint(self._staying())
                if self._knows_runs:
                    await self._runs.sync()
                break
            except AnabranchError as error:
                if not passing(error):
                    raise
                if time.monotonic() > self._until:
                    self._finish(f"the target could not be read: {error.message}")
                    return
                await asyncio.sleep(TICK_S)
        if not self._tasks:
            self._start()
        self._is_home = not self._knows_runs
        if not self._is_home:
            self._assign(self._leased)

    async def work(self, seconds: float) -> None:
        """Copy for some seconds, or until the lease is over; then file."""
        deadline = time.monotonic() + seconds
        while not self.over and time.monotonic() < deadline:
            await asyncio.sleep(min(0.05, max(0.0, deadline - time.monotonic())))
            self._check()
            if not self.over and time.monotonic() >= self._until:
                self.over = "the lease is over"
        await self._file()

    async def copy_on(self, halt: asyncio.Event, seconds: float) -> bool:
        """Copy on after a lease, for some seconds at most; True where ``halt`` was set: the next lease is there.

        Lanes that another worker of the run asks for are let go at once.
        """
        self._is_home = False
        await self._forgo()
        deadline = time.monotonic() + seconds
        filed = time.monotonic()
        while not halt.is_set():
            if self.is_final or not self._lanes or time.monotonic() >= deadline:
                return False
            try:
                async with asyncio.timeout(0.05):
                    await halt.wait()
            except TimeoutError:
                pass
            self._check()
            if time.monotonic() - filed >= FILE_S:
                await self._file()
                filed = time.monotonic()
        return True

    async def end(self, drain: float) -> None:
        """Let what is in flight be answered, file, release; then nothing runs any more until the next lease."""
        self._is_home = False  # else what is asked for while lanes are let go would have others asked for
        await self._forgo()
        if self._leaving:
            await asyncio.wait(self._leaving.values(), timeout=drain)
        await _cancelled([*self._leaving.values(), *self._tasks])
        # After them: a lane that is won in the moment in which they are cancelled may have brought a sender with it.
        await _cancelled([task for _, task in self._senders.values()])
        self._tasks = []
        self._leaving.clear()
        deadline = time.monotonic() + drain
        while time.monotonic() < deadline and not all(sender.idle for sender, _ in self._senders.values()):
            await asyncio.sleep(0.002)
        for connection, (sender, _) in self._senders.items():
            if not sender.idle:
                connection.abort("the lease is over")
        ours = [lane for lane in self._lanes if lane.phase in OURS]
        try:
            async with asyncio.timeout(drain):
                await self._file(everything=True)
                if self._alive() and not self._gone:
                    await asyncio.gather(*(self._give_back(lane) for lane in ours))
        except (AnabranchError, TimeoutError):
            pass
        for lane in self._lanes:
            lane.leave()
        for lane in list(self._lanes):
            self._remove(lane)
        for sender, _ in self._senders.values():
            sender.close()
        self._senders = {}
        self._fetcher = self._keeper = self._jumper = self._filing = None
        self.gate.shut()

    def figures(self) -> Figures:
        """What was copied since the last figures, whether in a lease or between two."""
        records, size = self._counts.take()
        return Figures(
            owner=self.owner,
            lanes=len(self._lanes),
            running=sum(lane.phase is Phase.RUNNING for lane in self._lanes),
            stopped=sum(lane.phase is Phase.STOPPED for lane in self._lanes),
            records=records,
            bytes=size,
            over=self.over,
        )

    # -- its tasks -------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._jumper = Jumper(self._jumps, self._journal, self._queued, self._lost)
        self._fetcher = Fetcher(self._source, self.gate, self._queued, self._jumper.submit)
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
        self._filing = Filing(
            self.owner, self._lanes, self._runs, self._progress, self._keeper, self._jumper, self.gate
        )
        strangers = Strangers(self._target, self._journal.claims.producer_ids)
        self._tasks = [
            asyncio.create_task(self._jumper.run(), name="jumper"),
            asyncio.create_task(self._fetcher.run(), name="fetcher"),
            asyncio.create_task(self._keeper.run(self._lanes, lambda: self.gate.is_open), name="keeper"),
            asyncio.create_task(Waits(self._source).run(self._lanes), name="waits"),
            asyncio.create_task(strangers.run(self._lanes), name="strangers"),
            asyncio.create_task(self._tick(), name="tick"),
        ]

    def _check(self) -> None:
        """Raise what a task raised; end everything where the parent process is gone."""
        for task in self._tasks:
            if task.done():
                task.result()
        if self._arriving is not None and self._arriving.done():
            self._arriving.result()
            self._arriving = None
        for key, task in list(self._leaving.items()):
            if task.done():
                del self._leaving[key]
                task.result()
        for connection, (sender, task) in list(self._senders.items()):
            if task.done():
                task.result()
                sender.close()
                del self._senders[connection]
        if not self._alive():
            self.gate.shut()
            self._finish("the parent process is gone")

    def _finish(self, why: str) -> None:
        """The lease is over, and nothing is copied after it."""
        self.over, self.is_final = why, True

    async def _file(self, *, everything: bool = False) -> None:
        if self._filing is not None and not self._gone:  # else what is filed now would outlive the link
            async with self._storing:
                await self._filing.file(everything=everything)

    # -- which lanes -----------------------------------------------------------------------------------

    def _assign(self, wanted: Mapping[LaneAssignment, None]) -> None:
        """Have these lanes and no others: let the others go, and add what is new; nothing may be arriving."""
        staying = self._staying()
        for lane in list(self._lanes):
            if lane.assignment not in wanted or lane.phase is Phase.OVER:
                self._let_go(lane)
        coming = {one: self._handover.patience(one) for one in wanted if one not in staying}
        self._admit_free(coming)
        if coming:
            self._arriving = asyncio.create_task(self._await(coming), name="arriving")

    def _staying(self) -> set[LaneAssignment]:
        """The lanes that this worker has and does not let go; one that a filter left out may be wanted again."""
        return {
            lane.assignment for lane in self._lanes if lane.phase is not Phase.OVER and lane.key not in self._leaving
        }

    async def _forgo(self) -> None:
        """Ask for nothing any more."""
        if self._arriving is not None:
            await _cancelled([self._arriving])
            self._arriving = None

    def _admit_free(self, coming: dict[LaneAssignment, float]) -> None:
        """Take in those lanes that nobody holds, or whose holder was waited for long enough."""
        now = time.monotonic()
        for one, until in list(coming.items()):
            if str(one.lane) in self._leaving or (now < until and self._handover.holder(one) is not None):
                continue
            del coming[one]
            self._handover.taken(one)
            lane = self._lane(one)
            self._lanes.append(lane)
            self._counts.add(lane)
            assert self._fetcher is not None
            self._fetcher.add([lane])
        self._wake()

    async def _await(self, coming: dict[LaneAssignment, float]) -> None:
        """Ask for lanes until their holders have let them go."""
        asked = 0.0
        while coming:
            try:
                if self.gate.is_fresh and time.monotonic() - asked > ASK_S:
                    asked = time.monotonic()
                    await self._handover.ask(one for one in coming if str(one.lane) not in self._leaving)
                await asyncio.sleep(0.03)
                await self._sync()
            except AnabranchError as error:
                if not passing(error):
                    raise
                await asyncio.sleep(TICK_S)
            self._admit_free(coming)

    def _let_go(self, lane: Lane) -> None:
        if lane.key not in self._leaving:
            task = asyncio.create_task(self._leave(lane), name=f"leave-{lane.key}")
            self._leaving[lane.key] = task

    async def _leave(self, lane: Lane) -> None:
        """Let what is in flight be answered, file, give the claim back and say that the lane is free."""
        for sender, _ in self._senders.values():
            sender.remove(lane)
        deadline = time.monotonic() + LET_GO_S
        while time.monotonic() < deadline and _awaits_answers(lane):
            await asyncio.sleep(0.002)
        await self._file(everything=True)
        was_ours = lane.phase in OURS
        lane.leave()
        try:
            if self._keeper is not None:
                await self._keeper.forgo(lane)
            if was_ours and self.gate.is_fresh and self._filing is not None:
                await self._progress.file([self._filing.report(lane)])
                await self._give_back(lane)
        except AnabranchError as error:
            if not passing(error):
                raise
        finally:
            self._remove(lane)

    async def _give_back(self, lane: Lane) -> None:
        """Release a lane's claim; what the next lease can go on with is kept."""
        assert self._keeper is not None
        await self._keeper.give_back(lane)
        if lane.held is not None:
            self._kept[lane.key] = lane

    def _remove(self, lane: Lane) -> None:
        if lane not in self._lanes:
            return
        self._lanes.remove(lane)
        self._runs.leave(lane.assignment.lane)
        self._counts.remove(lane)
        for sender, _ in self._senders.values():
            sender.remove(lane)
        lane.pipeline = lane.tenure = lane.connection = None

    def _lane(self, assignment: LaneAssignment) -> Lane:
        """The lane as this worker left it, or as it was filed."""
        lane = Lane(assignment)
        kept = self._kept.pop(lane.key, None)
        filed = self._progress.lanes.get(assignment.lane)
        claims = self._journal.claims.claims(lane.key)
        # Else another worker has copied on since.
        mine = (filed is None or filed.owner == self.owner) and bool(claims) and claims[-1].claim.owner == self.owner
        if kept is not None and mine:
            lane.book, lane.tally, lane.held = kept.book, kept.tally, kept.held
            lane.mode, lane.mode_reason = kept.mode, kept.mode_reason
            lane.acknowledged_epoch = kept.acknowledged_epoch
            lane.trail, lane.stranger = kept.trail, kept.stranger
            self._runs.keep_news(assignment.lane)
        else:
            # Segments that contradict each other (an older one was stored late, after a truncation): the takeover meets
            # them again, and says so of this lane alone.
            try:
                lane.book = self._runs.book(assignment.lane)
            except RunOrderError:
                lane.is_untold = True
            lane.is_untold = lane.is_untold or not self._knows_runs or self._runs.lacks(assignment.lane)
            if filed is not None:
                lane.tally = Tally(filed.records, filed.bytes, filed.position)
                lane.tally.add_found(lane.book.map)  # runs are filed before the progress that counts them
                lane.mode, lane.mode_reason = filed.mode, filed.mode_reason
            elif lane.book.last is not None:
                lane.tally.through = lane.book.last.source_end  # nobody of this link copied it: it was adopted
        last = lane.book.last
        if last is not None:
            lane.position, lane.target_end = last.source + last.length, last.target + last.length
        if filed is not None:
            lane.source_epoch, lane.target_epoch = filed.source_epoch, filed.target_epoch
            # Another's last runs may not be read yet, and what is none to be copied has no run.
            lane.position = max(lane.position, filed.position)
            lane.target_end = max(lane.target_end, filed.target_end)
        if lane.want_mapped and self._wanted is not None and self._wanted.spec.mode is not ModePolicy.MAPPED:
            lane.want_mapped_why = "the source topic is compacted: under identity its first hole would shift the log"
        if self._journal.claims.mode(lane.key) is LaneMode.MAPPED and lane.mode is LaneMode.MAPPED and lane.mode_reason:
            lane.want_mapped, lane.want_mapped_why = True, lane.mode_reason
        return lane

    # -- what is wanted --------------------------------------------------------------------------------

    async def _tick(self) -> None:
        """Look at what is wanted, twice a second; more often while lanes may be asked for."""
        while True:
            hurry = self.over or (self._is_home and time.monotonic() < self._settled)
            await asyncio.sleep(HURRY_S if hurry else TICK_S)
            try:
                await self._sync()
            except AnabranchError as error:
                if not passing(error):
                    raise

    async def _sync(self) -> None:
        async with self._syncing:
            started = time.monotonic()
            await self._links.sync()
            await self._progress.sync()
            await self._journal.read()
            self._heed(started)

    def _heed(self, started: float) -> None:
        """Act on what was read, beginning at ``started``."""
        assert self._lease is not None
        record = self._links.links.get(self._lease.link)
        if record is None:
            self.gate.shut()
            self._gone = True
            self._kept.clear()
            self._finish("the link was deleted")
            return
        wanted, before = record.wanted, self._wanted
        self.gate.paused = wanted.paused
        self.gate.rate = wanted.spec.rate_limit / self._lease.slots if wanted.spec.rate_limit else None
        if before is None or before.spec.filter != wanted.spec.filter:
            self._refilter(wanted)
        if before is not None and before.spec.filter != wanted.spec.filter:
            self.over = "the link's filter changed"
        decided = dict(self._links.decisions[self._lease.link])
        if before is not None and decided != self._decided:
            self.over = "a person decided about a lane"
        self._decided = decided
        self._wanted = wanted
        if before is not None and before.revision != wanted.revision and not wanted.paused:
            # Whoever changes a link may have mended what stopped a lane: it is tried anew, and stops again if not.
            for lane in self._lanes:
                lane.retry()
        plan = self._progress.plans.get(self._lease.link)
        if plan is not None and plan.owner == self._lease.run and plan.batch > self._lease.batch:
            if plan.ends:
                self._finish("the run was told to end")
            else:
                self.over = "the link was planned anew"
        if self._progress.is_to_stop(self._lease.link, self._lease.run):
            self._finish("a person asked the run to stop")
        for lane in self._lanes:
            if lane.tenure is not None and lane.pipeline is not None:
                later = self._journal.claims.successor(lane.key, lane.tenure.producer_id)
                if later is not None and lane.tenure.mode is LaneMode.MAPPED:
                    lane.end_tenure(lane.pipeline, TenureEnded(lane.key, Ending.SUPERSEDED, None, later.owner))
        if not self.is_final:
            self.gate.renew(started)
        self._give_way()
        self._wake()

    def _give_way(self) -> None:
        """Let go of what another worker of the run asks for and this one has no lease of."""
        asked = self._handover.asked(self._lanes)
        if self.over:
            for lane in asked:
                self._let_go(lane)
        elif self._is_home and any(lane.assignment not in self._leased for lane in asked):
            self._is_home = False  # some worker is new: each does as its own task says
            self._assign(self._leased)

    def _refilter(self, wanted: WantedState) -> None:
        """Leave at once the lanes that the link no longer wants; new ones come with the next plan."""
        selects = load_filter(wanted.spec.filter)
        for lane in self._lanes:
            if not selects.selects(lane.assignment.source.topic):
                lane.leave()

    # -- what the parts tell each other ----------------------------------------------------------------

    def _wake(self) -> None:
        if self._fetcher is not None:
            self._fetcher.wake()
        if self._keeper is not None:
            self._keeper.wake()
        for sender, _ in self._senders.values():
            sender.wake()

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
        lanes = list(lanes)
        for connection in dict.fromkeys(lane.connection for lane in lanes if lane.connection is not None):
            found = self._senders.get(connection)
            if found is not None:
                found[0].wake()
        if self._keeper is not None and any(lane.connection is None for lane in lanes):
            self._keeper.wake()  # it was closed while they were idle


def _awaits_answers(lane: Lane) -> bool:
    """Whether something of a lane is under way whose answer may still come: over a connection that ended, none does."""
    if lane.connection is None or lane.connection.closed is not None:
        return False
    return lane.checking or (lane.pipeline is not None and lane.pipeline.in_flight > 0)


async def _cancelled(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
