"""Stopping the runs of a link from anywhere: drivers and workers see on the target what was asked."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace

from anabranch.errors import ClusterError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import passing
from anabranch.model.clock import now_ms
from anabranch.model.plans import check_holds, plan_hash
from anabranch.model.reports import LinkStatus, StopPlan, StopReport, StopRequest
from anabranch.operations.links.status import LinkStatusReader
from anabranch.state.topics.control import Progress

_LOOK_S = 0.3


@dataclass(eq=False)
class StillRunningError(ClusterError):
    """Runs that were asked to stop have not ended in time."""

    link: str
    runs: tuple[str, ...]
    seconds: float

    retryable = True

    @property
    def message(self) -> str:
        runs = ", ".join(self.runs)
        return f"link {self.link!r} was asked to stop, and has not ended within {self.seconds:g} s: {runs}"

    _hint = "it stays asked; wait on with the same command, or see who runs: anabranch link show {link}"


async def plan(target: Cluster, link_id: str, wait_s: float) -> StopPlan:
    """The runs of a link that would be asked to stop; raises UnknownLinkError, ClusterError."""
    status = await LinkStatusReader(target).of(link_id)
    return StopPlan(link_id, status.runs, wait_s, _hash(status, status.runs))


async def apply(target: Cluster, planned: StopPlan) -> StopReport:
    """Ask these runs to stop, and wait until they have ended.

    Raises UnknownLinkError, PlanChangedError where the link is another one of that name, StillRunningError,
    ClusterError.
    """
    statuses, link_id = LinkStatusReader(target), planned.link
    now = replace(planned, hash=_hash(await statuses.of(link_id), planned.runs))
    check_holds(f"link {link_id!r}", planned, now, f"anabranch link show {link_id}")
    if not planned.runs:
        return StopReport(link_id, (), ended=True)
    await Progress(target).stop(StopRequest(link_id, planned.runs, now_ms()))
    deadline = time.monotonic() + planned.wait_s
    left = planned.runs
    while time.monotonic() < deadline:
        await asyncio.sleep(_LOOK_S)
        try:
            running = (await statuses.of(link_id)).runs
        except ClusterError as error:
            if not passing(error):
                raise
            statuses = LinkStatusReader(target)
            continue
        left = tuple(run for run in planned.runs if run in running)
        if not left:
            await Progress(target).unstop(link_id)
            return StopReport(link_id, planned.runs, ended=True)
    if planned.wait_s > 0:
        raise StillRunningError(link_id, left, planned.wait_s)
    return StopReport(link_id, planned.runs, ended=False)


def _hash(status: LinkStatus, runs: tuple[str, ...]) -> str:
    """Runs begin and end by themselves: those that were planned are asked, whoever runs by then."""
    return plan_hash(status.spec.id, status.record.created_at_ms, runs)
