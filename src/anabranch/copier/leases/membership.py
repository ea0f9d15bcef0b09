"""Which lanes a worker has: those of its lease, or those that it goes on with, while they come and go.

A new lease changes only which lanes there are: those that stay are copied on untouched, those that go are let go one
by one while the others are copied on, those that come are asked for where another worker of the run holds them
(:mod:`anabranch.copier.ownership.handover`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Protocol

from anabranch.copier.lane.lane import OWNED, Lane, LanePhase
from anabranch.copier.leases.counts import LeaseCounts
from anabranch.copier.leases.tasks import cancelled
from anabranch.copier.ownership.handover import Handover
from anabranch.errors import AnabranchError
from anabranch.kafka.errors import passing
from anabranch.model.lane import LaneAssignment

ASK_S = 0.5
LOOK_S = 0.03
PAUSE_S = 0.5


class CopiesLanes(Protocol):
    """What is done for lanes that come and go."""

    def add(self, lanes: Iterable[Lane]) -> None:
        """Copy these, too."""

    async def settle(self, lane: Lane) -> None:
        """Let what is in flight be answered, and persist."""

    async def release(self, lane: Lane) -> None:
        """Say that a lane is free whose claim is this worker's, and give that back; raises ClusterError."""

    async def forgo(self, lane: Lane) -> None:
        """Nothing of a takeover is under way when this returns."""

    def remove(self, lane: Lane) -> None:
        """The lane is this worker's no more."""


class Membership:
    """The lanes of a worker; ``is_home`` where it goes on with those that it has, whatever its lease says.

    ``make`` makes a lane as it begins here.  For lanes that others hold, ``may_ask`` says whether what was read is
    fresh, and ``read`` reads again.
    """

    def __init__(
        self,
        lanes: list[Lane],
        copying: CopiesLanes,
        counts: LeaseCounts,
        handover: Handover,
        make: Callable[[LaneAssignment], Lane],
        may_ask: Callable[[], bool],
        read: Callable[[], Awaitable[None]],
    ) -> None:
        self.lanes = lanes
        self.is_home = False
        self._leased: Mapping[LaneAssignment, None] = {}
        self._copying = copying
        self._counts = counts
        self._handover = handover
        self._make = make
        self._may_ask = may_ask
        self._read = read
        self._leaving: dict[str, asyncio.Task[None]] = {}
        self._arriving: asyncio.Task[None] | None = None

    # -- a lease ---------------------------------------------------------------------------------------

    async def begin(self, leased: Iterable[LaneAssignment]) -> None:
        """These are leased now; until ``assign`` the lanes stay as they are, and nothing is asked for."""
        self.is_home, self._leased = False, dict.fromkeys(leased)
        await self.forgo()

    def assign(self) -> None:
        """Have the lease's lanes and no others: let the others go, and add what is new; nothing may be arriving."""
        staying = self.staying()
        for lane in list(self.lanes):
            if lane.assignment not in self._leased or lane.phase is LanePhase.OVER:
                self._leave(lane)
        coming = {one: self._handover.deadline(one) for one in self._leased if one not in staying}
        self._admit_free(coming)
        if coming:
            self._arriving = asyncio.create_task(self._await(coming), name="arriving")

    def staying(self) -> set[LaneAssignment]:
        """The lanes that this worker has and does not let go; one that a filter left out may be wanted again."""
        return {
            lane.assignment for lane in self.lanes if lane.phase is not LanePhase.OVER and lane.key not in self._leaving
        }

    async def leave_home(self) -> None:
        """Nothing holds the lanes here, and nothing is asked for: what others ask for is let go."""
        self.is_home = False
        await self.forgo()

    async def forgo(self) -> None:
        """Ask for nothing any more."""
        if self._arriving is not None:
            await cancelled([self._arriving])
            self._arriving = None

    def give_way(self, is_over: bool) -> None:
        """Let go of what another worker of the run asks for and this one has no lease of."""
        asked = self._handover.asked(self.lanes)
        if is_over:
            for lane in asked:
                self._leave(lane)
        elif self.is_home and any(lane.assignment not in self._leased for lane in asked):
            self.is_home = False  # some worker is new: each does as its own task says
            self.assign()

    def check(self) -> None:
        """Raise what letting go or asking raised."""
        if self._arriving is not None and self._arriving.done():
            self._arriving.result()
            self._arriving = None
        for key, task in list(self._leaving.items()):
            if task.done():
                del self._leaving[key]
                task.result()

    # -- the end ---------------------------------------------------------------------------------------

    def leaving(self) -> Iterator[asyncio.Task[None]]:
        """The tasks that let lanes go."""
        return iter(self._leaving.values())

    async def until_left(self, seconds: float) -> None:
        """Wait for what is being let go, for so long at most."""
        if self._leaving:
            await asyncio.wait(self._leaving.values(), timeout=seconds)

    def clear(self) -> None:
        """Have no lanes any more; what let them go was ended."""
        self._leaving.clear()
        for lane in self.lanes:
            lane.leave()
        for lane in list(self.lanes):
            self._remove(lane)

    # -- lanes that come and go ------------------------------------------------------------------------

    def _admit_free(self, coming: dict[LaneAssignment, float]) -> None:
        """Take in those lanes that nobody holds, or whose holder was waited for long enough."""
        now = time.monotonic()
        added = []
        for one, until in list(coming.items()):
            if str(one.lane) in self._leaving or (now < until and self._handover.holder(one) is not None):
                continue
            del coming[one]
            self._handover.taken(one)
            lane = self._make(one)
            self.lanes.append(lane)
            self._counts.add(lane)
            added.append(lane)
        self._copying.add(added)

    async def _await(self, coming: dict[LaneAssignment, float]) -> None:
        """Ask for lanes until their holders have let them go."""
        asked = 0.0
        while coming:
            try:
                if self._may_ask() and time.monotonic() - asked > ASK_S:
                    asked = time.monotonic()
                    await self._handover.ask(one for one in coming if str(one.lane) not in self._leaving)
                await asyncio.sleep(LOOK_S)
                await self._read()
            except AnabranchError as error:
                if not passing(error):
                    raise
                await asyncio.sleep(PAUSE_S)
            self._admit_free(coming)

    def _leave(self, lane: Lane) -> None:
        if lane.key not in self._leaving:
            task = asyncio.create_task(self._leave_and_remove(lane), name=f"leave-{lane.key}")
            self._leaving[lane.key] = task

    async def _leave_and_remove(self, lane: Lane) -> None:
        await self._copying.settle(lane)
        was_owned = lane.phase in OWNED
        lane.leave()
        try:
            await self._copying.forgo(lane)
            if was_owned:
                await self._copying.release(lane)
        except AnabranchError as error:
            if not passing(error):
                raise
        finally:
            self._remove(lane)

    def _remove(self, lane: Lane) -> None:
        if lane in self.lanes:
            self.lanes.remove(lane)
            self._counts.remove(lane)
            self._copying.remove(lane)
