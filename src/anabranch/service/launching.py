"""Starting a link's job as the service does: detached, noted in the store, and waited for until it has begun."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anabranch.operations.jobs.outcome import not_begun
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.links import run
from anabranch.operations.links.run import BegunRun, LinkRunsError, RunPlan
from anabranch.service.clusters import ClusterPool
from anabranch.service.job_settings import JobSettings
from anabranch.service.processes import Processes
from anabranch.service.telling import Tell, nobody
from anabranch.store.runs import RunKind


@dataclass(frozen=True, slots=True)
class Launching:
    """Where links are, how their jobs are started, and who notes them."""

    clusters: ClusterPool
    jobs: JobSettings
    processes: Processes

    async def link(self, target: str, planned: RunPlan, account: str, tell: Tell = nobody) -> StartedJob:
        """Start a link for an account, and wait until it has planned its lanes.

        Raises what `run.apply` raises, JobFailedError where it ends before, and LinkRunsError, too, where a job of it
        is found that an instance started and was killed before it had noted it.
        """
        cluster, contexts = self.clusters.cluster(target), self.clusters.contexts()
        directory = self.jobs.directory / "link" / planned.link
        adopted = await self.processes.adopted(target, planned.link, account, directory)
        if adopted is not None:
            raise LinkRunsError(planned.link, (Path(adopted.log).stem,))
        both = contexts.get(planned.source), contexts.get(target)
        started = await run.apply(cluster, both, planned, self.jobs.submission, directory)
        await self.processes.launched(RunKind.LINK, target, planned.link, account, started)
        await tell({"stage": "Spark starts", "run": started.run, "process": started.pid})
        if await run.begun(cluster, planned.link, started) is BegunRun.ENDED and (code := started.code) != 0:
            raise not_begun(started.run, code, started.log)
        return started
