"""Leases from plans, on the driver: kept lanes stay in their slots.

Where planning fails for a reason that passes, leases are made of the last plan, so that copying goes on.  They are
short, since that plan may lack what is new, and the persisted plan says so.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from anabranch.config.jobspec import LinkJob
from anabranch.copier.planning.balance import balance
from anabranch.copier.planning.lease import Lease, digest, fingerprint
from anabranch.copier.planning.planner import LanePlan, Planner
from anabranch.errors import AnabranchError
from anabranch.kafka.errors import passing
from anabranch.kafka.security import open_cluster
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import LinkPlan

PLAN_TIMEOUT_S = 60.0
AGAIN_S = 10.0
"""The longest lease that is made of an old plan."""


class LeasePlanner:
    """Plans each micro-batch of one run of a link; ``slots``, its tasks, may change between two of them."""

    def __init__(self, job: LinkJob, slots: int) -> None:
        self._job = job
        self.slots = slots
        self._loop = asyncio.new_event_loop()
        # The driver has read both clusters before it began the query that is planned here.
        self._clusters = (open_cluster(job.source, was_let_in=True), open_cluster(job.target, was_let_in=True))
        self._planner = Planner(job.link, *self._clusters)
        self._before: dict[LaneKey, int] = {}
        self._last: LanePlan | None = None

    def leases(self, batch: int) -> list[Lease]:
        """One lease per slot, some of them perhaps without lanes; raises what the planner raises."""
        asyncio.set_event_loop(self._loop)
        plan, seconds = self._loop.run_until_complete(self._plan(batch))
        spread = balance(plan.lanes, self.slots, {lane: self._before.get(lane.lane, -1) for lane in plan.lanes})
        self._before = {lane.lane: slot for slot, lanes in enumerate(spread) for lane in lanes}
        used = [lanes for lanes in spread if lanes] or [[]]
        homes = self._homes(used)
        return [
            Lease(self._job.link, self._job.run, batch, slot, len(used), seconds, tuple(lanes), homes, plan.basis)
            for slot, lanes in enumerate(used)
        ]

    def _homes(self, slots: Sequence[Sequence[LaneAssignment]]) -> dict[str, str]:
        """The workers of this run that persisted all of a slot's lanes last, with what these lanes are.

        Whether a worker still has exactly these, it knows itself; who does not goes by its lease.
        """
        homes: dict[str, str] = {}
        for lanes in slots:
            persisted = [self._planner.progress.lanes.get(lane.lane) for lane in lanes]
            owners = {"" if one is None else one.owner for one in persisted}
            if len(owners) == 1 and (owner := owners.pop()).startswith(f"{self._job.run}/"):
                homes.setdefault(owner, fingerprint(lanes))
        return homes

    def close(self) -> None:
        """End the connections and the loop."""
        for cluster in self._clusters:
            cluster.close()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _plan(self, batch: int) -> tuple[LanePlan, float]:
        """The plan, and for how many seconds leases that are made of it may last."""
        deadline = time.monotonic() + PLAN_TIMEOUT_S
        while True:
            try:
                plan = await self._planner.plan()
                await self._persist(plan, batch, plan.findings)
            except AnabranchError as error:
                if not passing(error) or (self._last is None and time.monotonic() > deadline):
                    raise
                if self._last is not None:
                    return await self._as_before(self._last, batch, error)
                await asyncio.sleep(0.5)
            else:
                self._last = plan
                return plan, self._job.lease_seconds

    async def _as_before(self, last: LanePlan, batch: int, error: AnabranchError) -> tuple[LanePlan, float]:
        seconds = min(AGAIN_S, self._job.lease_seconds)
        if (told := self._planner.progress.plans.get(self._job.link)) is not None:
            last = replace(last, outlived=told.outlived)
        what = f"the link could not be planned again, so its lanes go on as they were planned before: {error.message}"
        finding = Reason.found(Severity.WARNING, what, f"nothing: it is tried again within {seconds:.0f} s")
        try:
            await self._persist(last, batch, (*last.findings, finding))
        except AnabranchError as unpersisted:
            if not passing(unpersisted):
                raise
        return replace(last, basis=None), seconds

    async def _persist(self, plan: LanePlan, batch: int, findings: tuple[Reason, ...]) -> None:
        """Persist what leases are made of now, but where these are over already."""
        told = self._planner.progress.plans.get(self._job.link)
        if told is not None and told.owner == self._job.run and told.batch >= batch:
            return
        await self._planner.progress.plan(
            LinkPlan(
                self._job.link,
                self._job.run,
                batch,
                now_ms(),
                len(plan.lanes),
                findings,
                digest=digest(plan.lanes),
                looked_at_ms=plan.looked_at_ms,
                left_out=plan.left_out,
                outlived=plan.outlived,
            )
        )
