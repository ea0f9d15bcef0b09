"""Looking for new topics, partitions and configurations while leases run, on the driver beside the query.

What leases were made of is read from the plan that their planner persisted, never remembered here: a planner that
missed a topic that this one has seen, because another broker answered it or because it went on with its last plan, is
asked again until both agree.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from anabranch.config.jobspec import LinkJob
from anabranch.copier.planning.lease import digest
from anabranch.copier.planning.planner import LanePlan, Planner
from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import passing
from anabranch.kafka.security import open_cluster
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneProgress
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import LinkPlan, LinkStatus
from anabranch.state.topics.journal import Journal

STOP_S = 15.0
AGAIN_S = 10.0
"""Between two times that leases are ended for the same reason, so that two who never agree do not end all of them."""
LOOKED_S = 5.0
"""How old the stored look at the source may become of a plan that leaves topics out: `link wait` goes by it."""
QUIET_S = 10.0
"""How long planning may fail before the link's plan says so."""


class Survey:
    """Plans the link again and again, and has its leases end where they were made of something else."""

    def __init__(self, job: LinkJob) -> None:
        self._job = job
        self._source: Cluster = open_cluster(job.source)
        self._target: Cluster = open_cluster(job.target)
        self._planner = Planner(job.link, self._source, self._target)
        self._journal = Journal(self._target)
        self._told: tuple[str, float] | None = None
        self._mine: LinkPlan | None = None
        self._planned_at = time.monotonic()
        self._looking: asyncio.Task[None] | None = None
        self._loop = asyncio.new_event_loop()

    def look(self, within_s: float | None = None) -> bool:
        """Plan; where other lanes or modes come out than the leases have, tell the workers that these are over.

        False where that takes longer than ``within_s``: it goes on while this survey is asked for anything, and the
        next call waits for it again.
        """
        return self._loop.run_until_complete(self._look_on(within_s))

    async def _look_on(self, within_s: float | None) -> bool:
        if self._looking is None:
            self._looking = asyncio.create_task(self._look(), name="look")
        looking = self._looking
        await asyncio.wait({looking}, timeout=within_s)
        if not looking.done():
            return False
        self._looking = None
        looking.result()
        return True

    async def _forgo_look(self) -> None:
        """No look is under way any more: what one stores that began before this would stand in the place of what is
        stored now.
        """
        looking, self._looking = self._looking, None
        if looking is not None:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    async def _look(self) -> None:
        try:
            plan = await self._planner.plan()
        except AnabranchError as error:
            if passing(error) and time.monotonic() - self._planned_at > QUIET_S:
                await self._complain(error)
            raise
        self._planned_at = time.monotonic()
        leased = await self._restored()
        if leased is None:
            return
        found = digest(plan.lanes)
        if leased.digest == found:
            if _says(leased) != _says(plan) or _is_looked_for(leased, plan):
                looked = replace(leased, looked_at_ms=plan.looked_at_ms, left_out=plan.left_out)
                await self._planner.progress.plan(replace(looked, findings=plan.findings, outlived=plan.outlived))
        elif self._told is None or self._told[0] != found or time.monotonic() - self._told[1] > AGAIN_S:
            self._told = (found, time.monotonic())
            await self._tell(plan, now_ms())

    async def _restored(self) -> LinkPlan | None:
        """``_leased``; put back where another run has ended and left its last word in that place."""
        leased = self._leased()
        stored = self._planner.progress.plans.get(self._job.link)
        if leased is None and self._mine is not None and stored is not None and stored.ends:
            leased = self._mine
            await self._planner.progress.plan(leased)
        self._mine = leased or self._mine
        return leased

    def _leased(self) -> LinkPlan | None:
        """What the leases of this run were made of, or were told to be made of; None before the first."""
        plan = self._planner.progress.plans.get(self._job.link)
        return None if plan is None or plan.owner != self._job.run or plan.ends else plan

    async def _complain(self, error: AnabranchError) -> None:
        """Have `link show` say that new topics are not noticed now."""
        leased = self._leased()
        if leased is None:
            return
        what = f"new topics and changed configurations are not noticed: {error.message}"
        finding = Reason.found(Severity.WARNING, what, error.hint)
        if finding not in leased.findings:
            await self._planner.progress.plan(replace(leased, findings=(*leased.findings, finding)))
            await self._planner.progress.sync()

    def replan(self) -> bool:
        """Have the leases end, for others to be made of the same lanes; False where no plan of theirs is known yet."""
        return self._loop.run_until_complete(self._replan())

    async def _replan(self) -> bool:
        await self._forgo_look()
        leased = self._leased()
        if leased is None:
            return False
        now = now_ms()
        await self._planner.progress.plan(replace(leased, batch=now, planned_at_ms=now))
        return True

    def status(self) -> LinkStatus | None:
        """How the link stands; None where it was deleted."""
        return self._loop.run_until_complete(self._status())

    async def _status(self) -> LinkStatus | None:
        found, progress = await self._planner.status(), self._planner.progress
        if self.is_to_stop() and not progress.is_to_stop(self._job.link, self._job.run):
            # Workers obey the name.  Of two runs that add theirs at once one is lost, and added at its next look.
            await progress.stop(progress.stops[self._job.link] | {self._job.run})
        return found

    def lanes(self) -> list[LaneProgress]:
        """The link's lanes as they were persisted, as of the last status."""
        return self._planner.progress.lanes.of(self._job.link)

    def is_to_stop(self) -> bool:
        """Whether a person has asked this run to stop, as of the last status."""
        return self._planner.progress.is_meant(self._job.link, self._job.run)

    def finish(self) -> None:
        """Tell the workers to end now, and not to begin with leases that are just being planned."""
        self._loop.run_until_complete(self._finish())

    async def _finish(self) -> None:
        await self._forgo_look()
        await self._tell(None, now_ms() + round(STOP_S * 1000))

    def held(self) -> int:
        """How many lanes the workers of this run have not given back."""
        return self._loop.run_until_complete(self._journal.read()).held(self._job.link, self._job.run)

    def close(self) -> None:
        """End the connections and the loop."""
        self._loop.run_until_complete(self._forgo_look())
        for cluster in (self._source, self._target):
            cluster.close()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _tell(self, plan: LanePlan | None, batch: int) -> None:
        before = self._planner.progress.plans.get(self._job.link)
        # A link that ends keeps the number of its lanes, so that those which never began are not taken for done.
        lanes, findings = (len(plan.lanes), plan.findings) if plan else (before.lanes if before else 0, ())
        told = LinkPlan(
            self._job.link,
            self._job.run,
            batch,
            now_ms(),
            lanes,
            findings,
            ends=plan is None,
            digest=digest(plan.lanes) if plan else "",
            looked_at_ms=plan.looked_at_ms if plan else None,
            left_out=plan.left_out if plan else (),
            outlived=plan.outlived if plan else before.outlived if before else {},
        )
        await self._planner.progress.plan(told)


def _says(plan: LinkPlan | LanePlan) -> tuple[object, ...]:
    """What people, and later runs, are to know."""
    return plan.findings, dict(plan.outlived)


def _is_looked_for(leased: LinkPlan, plan: LanePlan) -> bool:
    """Whether somebody may wait for a plan that leaves out what this one does, and has looked at the source since."""
    if leased.looked_at_ms is None or set(leased.left_out) != set(plan.left_out):
        return True
    return bool(plan.left_out) and plan.looked_at_ms - leased.looked_at_ms >= LOOKED_S * 1000
