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
from anabranch.model.reports import EVERY_RUN, LinkStatus, StopPlan, StopReport, StopRequest
from anabranch.operations.links.status import LinkStatusReader
from anabranch.state.topics.control import Progress

_LOOK_S = 0.3
_NAMED_S = 2.5
"""Drivers look once a second: by then one that nobody has heard of has added its name."""
_LATELY_MS = 3_600_000


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
    """Ask these runs to stop and any other that has begun, and wait until those that were heard of have ended.

    A run that copies no lane, while another one plans, is heard of by nobody: its driver reads the request and adds
    its name.  Raises UnknownLinkError, PlanChangedError where the link is another one of that name,
    StillRunningError, ClusterError.
    """
    statuses, link_id = LinkStatusReader(target), planned.link
    now = replace(planned, hash=_hash(await statuses.of(link_id), planned.runs))
    check_holds(f"link {link_id!r}", planned, now, f"anabranch link show {link_id}")
    if not planned.runs:
        return StopReport(link_id, (), ended=True)
    request = await _ask(Progress(target), StopRequest(link_id, (*planned.runs, EVERY_RUN), now_ms()))
    progress = Progress(target)
    begun = time.monotonic()
    asked, left = planned.runs, planned.runs
    while time.monotonic() < begun + planned.wait_s:
        await asyncio.sleep(_LOOK_S)
        try:
            running = (await statuses.of(link_id)).runs
            stored = await _keep(progress, request)
        except ClusterError as error:
            if not passing(error):
                raise
            statuses, progress = LinkStatusReader(target), Progress(target)
            continue
        asked = tuple(sorted({*planned.runs, *set(stored.runs).difference(request.runs)}))
        left = tuple(run for run in asked if run in running)
        if not left and time.monotonic() - begun >= _NAMED_S:
            break
    if left and planned.wait_s > 0:
        raise StillRunningError(link_id, left, planned.wait_s)
    return StopReport(link_id, asked, ended=not left)


async def _ask(progress: Progress, request: StopRequest) -> StopRequest:
    """Store a request, with the runs that somebody else has asked lately and that may not have read it yet."""
    await progress.sync()
    before = progress.stops.get(request.link)
    if before is not None:
        lately = request.asked_at_ms - before.asked_at_ms < _LATELY_MS
        request = replace(request, asked_at_ms=max(request.asked_at_ms, before.asked_at_ms + 1))
        request |= before.runs if lately else ()
    await progress.stop(request)
    return request


async def _keep(progress: Progress, request: StopRequest) -> StopRequest:
    """The request as it is stored now; added to it again where somebody who asked at the same time has replaced it.

    It is never taken back: names of runs do not come again, and a run that begins later is not meant.
    """
    await progress.sync()
    stored = progress.stops.get(request.link, request)
    if request.link not in progress.stops or not set(request.runs) <= set(stored.runs):
        stored |= request.runs
        await progress.stop(stored)
    return stored


def _hash(status: LinkStatus, runs: tuple[str, ...]) -> str:
    """Runs begin and end by themselves: those that were planned are asked, whoever runs by then."""
    return plan_hash(status.spec.id, status.record.created_at_ms, runs)
