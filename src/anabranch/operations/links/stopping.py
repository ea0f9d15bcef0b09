"""Stopping the runs of a link from anywhere: drivers and workers see on the target what was asked."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from anabranch.errors import ClusterError
from anabranch.kafka.errors import passing
from anabranch.kafka.security import open_cluster
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.reports import StopReport, StopRequest
from anabranch.operations.links.standing import Standing
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

    @property
    def hint(self) -> str:
        return f"it stays asked; wait on with the same command, or see who runs: anabranch link show {self.link}"


def stop(target: ClusterContext, link_id: str, wait_s: float) -> StopReport:
    """Ask the runs of a link to stop, and wait until they have ended; 0 seconds wait for nothing.

    Raises UnknownLinkError, StillRunningError, ClusterError.
    """
    return asyncio.run(_stop(target, link_id, wait_s))


async def _stop(target: ClusterContext, link_id: str, wait_s: float) -> StopReport:
    async with open_cluster(target) as cluster:
        standing = Standing(cluster)
        runs = (await standing.of(link_id)).runs
        if not runs:
            return StopReport(link_id, (), ended=True)
        await Progress(cluster).stop(StopRequest(link_id, runs, now_ms()))
        deadline = time.monotonic() + wait_s
        left = runs
        while time.monotonic() < deadline:
            await asyncio.sleep(_LOOK_S)
            try:
                now = (await standing.of(link_id)).runs
            except ClusterError as error:
                if not passing(error):
                    raise
                standing = Standing(cluster)
                continue
            left = tuple(run for run in runs if run in now)
            if not left:
                await Progress(cluster).unstop(link_id)
                return StopReport(link_id, runs, ended=True)
        if wait_s > 0:
            raise StillRunningError(link_id, left, wait_s)
        return StopReport(link_id, runs, ended=False)
