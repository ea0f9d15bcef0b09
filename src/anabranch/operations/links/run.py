"""Running a link: started by the launcher, apart from who asked for it or tied to them, and followed as it begins."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from anabranch.errors import AnabranchError, RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import passing
from anabranch.model.cluster import ClusterContext
from anabranch.model.plans import REQUEST, check_holds, plan_hash
from anabranch.model.runevents import LogFormat
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
class RunOptions:
    """How a link is run: ``beside`` another run or not, with leases as long as its own or as these.

    A run that is not ``detached`` ends with this process, and prints its events on standard error.
    """

    beside: bool = False
    lease_seconds: int | None = None
    detached: bool = True
    log_format: LogFormat = LogFormat.TEXT


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A run of a link that would be started; ``hash`` covers the link, where it would run, and its leases.

    ``runs`` are those that go on, none but where they are allowed; ``planner`` is the run whose plan is stored.
    """

    link: str
    source: str
    target: str
    master: str
    lease_seconds: int
    hash: str
    options: RunOptions = field(default=RunOptions(), metadata=REQUEST)
    runs: tuple[str, ...] = field(default=(), metadata=REQUEST)
    planner: str | None = field(default=None, metadata=REQUEST)


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


async def plan(target: Cluster, link_id: str, master: str, options: RunOptions = RunOptions()) -> RunPlan:
    """What would be started; raises UnknownLinkError, ClusterError, and LinkRunsError where no other may go on."""
    status = await show(target, link_id)
    if status.runs and not options.beside:
        raise LinkRunsError(link_id, status.runs)
    spec = status.spec
    seconds = options.lease_seconds or spec.lease_seconds
    hash_ = plan_hash("links.run", link_id, spec.source.cluster_id, spec.target.cluster_id, master, seconds)
    contexts = spec.source.context, spec.target.context
    planner = None if status.plan is None else status.plan.owner
    return RunPlan(link_id, *contexts, master, seconds, hash_, options, status.runs, planner)


async def apply(
    target: Cluster,
    contexts: tuple[ClusterContext, ClusterContext],
    planned: RunPlan,
    how: Submission,
    directory: Path,
) -> StartedJob:
    """Start it; ``contexts`` are those of source and target, ``directory`` gets the specification and the log.

    Raises PlanChangedError, LinkRunsError, and what ``launcher.start_link`` raises; then nothing was started.
    """
    options = planned.options
    now = await plan(target, planned.link, how.master, options)
    check_holds(f"link {planned.link!r}", planned, now)
    source, here = contexts
    return await asyncio.to_thread(
        lambda: launcher.start_link(
            *(here, source, planned.link, how, planned.lease_seconds, directory),
            log_format=options.log_format,
            detached=options.detached,
        )
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
