"""Running a worker's leases, one after the other: asynchronous, on whichever thread drives the loop.

A lease runner begins with a lease and copies until ``end``, over the ends of leases.  Who has which state: the lanes
are the membership's, the tasks that copy them are the copying's, reading what is wanted is the control watch's; the
runner knows the lease, and why it is over.

Invariant: a lane is sent by the one ownership that its claim names, and by nothing that a lease or a plan says.  That
the gate is fresh is required of every write, in a lease and between two.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from anabranch.copier.lane.lane import OWNED, Lane, LanePhase
from anabranch.copier.leases.control_topics import ControlTopics
from anabranch.copier.leases.control_watch import TICK_S, ControlWatch
from anabranch.copier.leases.copying import Copying
from anabranch.copier.leases.counts import LeaseCounts
from anabranch.copier.leases.membership import Membership
from anabranch.copier.leases.resumable import ResumableLanes
from anabranch.copier.leases.tasks import cancelled
from anabranch.copier.leases.wanted import WantedLink, verdict_of_plan
from anabranch.copier.ownership.handover import Handover
from anabranch.copier.planning.lease import Lease, LeaseFigures, fingerprint
from anabranch.copier.write_gate import WriteGate
from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import passing
from anabranch.model.filters import load as load_filter
from anabranch.model.lane import LaneAssignment, LaneMode

SETTLE_S = 5.0
"""How long after a plan workers may still ask for lanes."""
PERSIST_S = 1.0


class LeaseRunner:
    """Copies the lanes of one lease after the other; ``over`` says why the newest is over, empty while it runs.

    ``is_final``: nothing is copied after it.  ``alive`` says whether the parent process is there.
    """

    def __init__(self, owner: str, source: Cluster, target: Cluster, alive: Callable[[], bool]) -> None:
        self.owner = owner
        self.gate = WriteGate()
        self.over = ""
        self.is_final = False
        self._alive = alive
        self._clusters = (source, target)
        self._topics = ControlTopics.of(target)
        self._watch = ControlWatch(self._topics, self._heed, self._is_urgent)
        self._handover = Handover(owner, self._topics.journal, self._topics.progress)
        self._resumable = ResumableLanes(owner, self._topics)
        self._counts = LeaseCounts()
        self._lease: Lease | None = None
        self._wanted: WantedLink | None = None
        self._knows_ranges = False
        self._is_deleted = False
        self._until = 0.0
        self._settled = 0.0
        self._make_parts()

    def _make_parts(self) -> None:
        lanes: list[Lane] = []
        self._copying = Copying(
            self.owner,
            *self._clusters,
            self._topics,
            lanes,
            self._resumable,
            self.gate,
            lambda: not self._is_deleted,  # else what is persisted then would outlive the link
        )
        self._membership = Membership(
            lanes,
            self._copying,
            self._counts,
            self._handover,
            self._make_lane,
            lambda: self.gate.is_fresh,
            self._watch.read,
        )

    # -- a lease ---------------------------------------------------------------------------------------

    async def begin(self, lease: Lease) -> None:
        """Copy a lease's lanes from now on; raises what a person must fix (permissions, formats).

        A cluster that is away for a while is waited for, with the gate shut.
        """
        self._lease, self.over, self.is_final, self._is_deleted = lease, "", False, False
        self._until = time.monotonic() + lease.seconds
        self._settled = time.monotonic() + SETTLE_S
        if not self._copying.is_running:
            self._make_parts()
        await self._membership.begin(lease.lanes)
        while True:
            try:
                await self._watch.read()
                # Who keeps the lanes that it has needs no ranges of others: they are many, and read by all.
                self._knows_ranges = lease.homes.get(self.owner) != fingerprint(self._membership.staying())
                if self._knows_ranges:
                    await self._topics.ranges.sync()
                break
            except AnabranchError as error:
                if not passing(error):
                    raise
                if time.monotonic() > self._until:
                    self._finish(f"the target could not be read: {error.message}")
                    return
                await asyncio.sleep(TICK_S)
        if not self._copying.is_running:
            self._copying.start()
            self._copying.tasks.start("control topics", self._watch.run())
        self._membership.is_home = not self._knows_ranges
        if not self._membership.is_home:
            self._membership.assign()

    async def work(self, seconds: float) -> None:
        """Copy for some seconds, or until the lease is over; then persist."""
        deadline = time.monotonic() + seconds
        while not self.over and time.monotonic() < deadline:
            await asyncio.sleep(min(0.05, max(0.0, deadline - time.monotonic())))
            self._check()
            if not self.over and time.monotonic() >= self._until:
                self.over = "the lease is over"
        await self._persist()

    async def copy_on(self, halt: asyncio.Event, seconds: float) -> bool:
        """Copy on after a lease, for some seconds at most; True where ``halt`` was set: the next lease is there.

        Lanes that another worker of the run asks for are let go at once.
        """
        await self._membership.leave_home()
        deadline = time.monotonic() + seconds
        persisted = time.monotonic()
        while not halt.is_set():
            if self.is_final or not self._membership.lanes or time.monotonic() >= deadline:
                return False
            try:
                async with asyncio.timeout(0.05):
                    await halt.wait()
            except TimeoutError:
                pass
            self._check()
            if time.monotonic() - persisted >= PERSIST_S:
                await self._persist()
                persisted = time.monotonic()
        return True

    async def end(self, drain: float) -> None:
        """Let what is in flight be answered, persist, release; then nothing runs any more until the next lease."""
        copying, membership = self._copying, self._membership
        await membership.leave_home()  # else what is asked for while lanes are let go would have others asked for
        await membership.until_left(drain)
        await cancelled([*membership.leaving(), *copying.tasks])
        await copying.drain(drain)
        owned = [lane for lane in membership.lanes if lane.phase in OWNED]
        try:
            async with asyncio.timeout(drain):
                if copying.is_running:
                    await copying.persist_last()
                if self._alive() and not self._is_deleted:
                    await asyncio.gather(*(copying.give_back(lane) for lane in owned))
        except (AnabranchError, TimeoutError):
            pass
        membership.clear()
        copying.close()
        self.gate.shut()

    def figures(self) -> LeaseFigures:
        """What was copied since the last figures, whether in a lease or between two."""
        records, size = self._counts.take()
        lanes = self._membership.lanes
        return LeaseFigures(
            owner=self.owner,
            lanes=len(lanes),
            running=sum(lane.phase is LanePhase.RUNNING for lane in lanes),
            stopped=sum(lane.phase is LanePhase.STOPPED for lane in lanes),
            records=records,
            bytes=size,
            over=self.over,
        )

    # -- what it is made of ----------------------------------------------------------------------------

    def _make_lane(self, assignment: LaneAssignment) -> Lane:
        mode = None if self._wanted is None else self._wanted.state.spec.mode
        return self._resumable.lane(assignment, mode, knows_ranges=self._knows_ranges)

    def _check(self) -> None:
        """Raise what a task raised; end everything where the parent process is gone."""
        self._copying.tasks.check()
        self._membership.check()
        self._copying.check_senders()
        if not self._alive():
            self.gate.shut()
            self._finish("the parent process is gone")

    def _finish(self, why: str) -> None:
        """The lease is over, and nothing is copied after it."""
        self.over, self.is_final = why, True

    async def _persist(self, *, everything: bool = False) -> None:
        if self._copying.is_running:
            await self._copying.persist(everything=everything)

    # -- what is wanted --------------------------------------------------------------------------------

    def _is_urgent(self) -> bool:
        return bool(self.over) or (self._membership.is_home and time.monotonic() < self._settled)

    def _heed(self, started: float) -> None:
        """Act on what was read, beginning at ``started``."""
        assert self._lease is not None
        before = self._wanted
        wanted = WantedLink.of(self._topics, self._lease.link, before)
        if wanted is None:
            self.gate.shut()
            self._is_deleted = True
            self._resumable.forget()
            self._finish("the link was deleted")
            return
        self._wanted = wanted
        self._apply(wanted, before)
        verdict = verdict_of_plan(self._topics, self._lease)
        self.over = verdict.why or wanted.ends_lease(self._lease.basis) or self.over
        self.is_final = self.is_final or verdict.is_final
        self._tell_lanes(started)
        if not self.is_final:
            self.gate.renew(started)
        self._membership.give_way(bool(self.over))
        self._copying.wake()

    def _apply(self, wanted: WantedLink, before: WantedLink | None) -> None:
        """Have the lanes copied as is wanted: new ones come with the next plan."""
        assert self._lease is not None
        spec = wanted.state.spec
        self.gate.paused = wanted.state.paused
        self.gate.rate = spec.rate_limit / self._lease.slots if spec.rate_limit else None
        if wanted.has_new_filter(before):
            selects = load_filter(spec.filter)
            for lane in self._membership.lanes:
                if not selects.selects(lane.assignment.source.topic):
                    lane.leave()
        if wanted.has_changed(before):
            # Whoever changes a link may have fixed what stopped a lane: it is tried again, and stops again if not.
            for lane in self._membership.lanes:
                lane.retry()

    def _tell_lanes(self, started: float) -> None:
        """Tell lanes who has claimed them since: that ends their ownerships."""
        for lane in self._membership.lanes:
            active, later = lane.active, None
            if active is not None and active.ownership.mode is LaneMode.MAPPED:
                later = self._topics.journal.claims.successor(lane.key, active.ownership.producer_id)
            lane.claims_read(started, None if later is None else later.owner)
