"""Running a link apart from who asked for it: started by the launcher, and followed until it has planned its lanes."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from anabranch.errors import AnabranchError, RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import passing
from anabranch.model.cluster import ClusterContext
from anabranch.model.plans import check_holds, plan_hash
from anabranch.operations.jobs import launcher
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.jobs.submission import Submission
from anabranch.operations.links.show import show
from anabranch.operations.links.status import LinkStatusReader

LOOK_S = 0.5
PLAN_S = 300.0
"""How long a driver in the cluster is waited for once it is submitted."""


@dataclass(eq=False)
class LinkRunsError(RefusedError):
    """The link runs already: two runs do no harm, but take lanes from each other."""

    link: str
    runs: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"link {self.link!r} runs already: {', '.join(self.runs)}"

    _hint = "end that run first: `anabranch link stop {link}`"


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A run of a link that would be started; ``hash`` covers the link, where it would run, and that it does not."""

    link: str
    source: str
    target: str
    master: str
    lease_seconds: int
    hash: str


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run that was started, as which process of which log."""

    link: str
    run: str
    process: int
    log: str


class BegunRun(StrEnum):
    """What became of a start: the lanes are planned; the process has ended before; a cluster has no room for it yet."""

    PLANNED = "planned"
    ENDED = "ended"
    SUBMITTED = "submitted"


async def plan(target: Cluster, link_id: str, master: str) -> RunPlan:
    """What would be started; raises UnknownLinkError, LinkRunsError, ClusterError."""
    status = await show(target, link_id)
    if status.runs:
        raise LinkRunsError(link_id, status.runs)
    spec = status.spec
    hash_ = plan_hash("links.run", link_id, spec.source.cluster_id, spec.target.cluster_id, master, spec.lease_seconds)
    return RunPlan(link_id, spec.source.context, spec.target.context, master, spec.lease_seconds, hash_)


async def apply(
    target: Cluster,
    contexts: tuple[ClusterContext, ClusterContext],
    planned: RunPlan,
    how: Submission,
    directory: Path,
) -> StartedJob:
    """Start it, detached; ``contexts`` are those of source and target.

    Raises PlanChangedError, LinkRunsError, and what ``launcher.start_link`` raises; then nothing was started.
    """
    now = await plan(target, planned.link, how.master)
    check_holds(f"link {planned.link!r}", planned, now)
    source, here = contexts
    seconds = planned.lease_seconds
    return await asyncio.to_thread(
        lambda: launcher.start_link(here, source, planned.link, how, seconds, directory, detached=True)
    )


async def begun(
    target: Cluster, link_id: str, started: StartedJob, *, in_cluster: bool = False, planner_before: str | None = None
) -> BegunRun:
    """Wait until a run has planned its lanes, or its process has ended; raises UnknownLinkError, ClusterError.

    A driver in the cluster chooses the name of its run itself: it is any run but ``planner_before``, which is the one
    whose plan was stored before it was submitted.  It may have ended for having been asked to stop.
    """
    submitted: float | None = None
    statuses = LinkStatusReader(target)
    while (code := started.code) is None or (in_cluster and code == 0):
        try:
            seen = (await statuses.of(link_id)).plan
        except AnabranchError as error:  # the target may not answer now: the run goes on meanwhile
            if not passing(error):
                raise
            seen, statuses = None, LinkStatusReader(target)
        if seen is not None and (seen.owner == started.run or (in_cluster and seen.owner != planner_before)):
            return BegunRun.PLANNED
        if code == 0:
            submitted = time.monotonic() if submitted is None else submitted
            if time.monotonic() - submitted >= PLAN_S:
                return BegunRun.SUBMITTED
        await asyncio.sleep(LOOK_S)
    return BegunRun.ENDED
