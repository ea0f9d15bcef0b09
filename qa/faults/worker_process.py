"""A worker without Spark, to be stopped and killed: it copies until it is ended.

``JOB.json.rounds`` grows by a byte each time that it has persisted what is due.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from anabranch.config.jobspec import LinkJob
from anabranch.copier.planning.lease import Lease
from anabranch.copier.planning.planner import LanePlan, Planner
from anabranch.copier.worker import Worker
from anabranch.kafka.security import open_cluster
from qa.brokers import retry

_ROOT = Path(__file__).parents[2]


def start_worker(job: Path) -> subprocess.Popen[bytes]:
    """Start a process that does the job of a file."""
    return subprocess.Popen([sys.executable, "-m", __name__, str(job)], cwd=_ROOT)


async def _plan(job: LinkJob) -> LanePlan:
    async with open_cluster(job.source) as source, open_cluster(job.target) as target:
        return await Planner(job.link, source, target).plan()


def main(path: str) -> None:
    """Plan once, then copy in one lease after the other."""
    job = LinkJob.from_json(Path(path).read_text()).named()
    plan = retry(lambda: asyncio.run(_plan(job)))
    worker = Worker(job.source, job.target, job.run, lambda: True)
    batch = 0
    while True:
        batch += 1
        for _ in worker.run(Lease(job.link, job.run, batch, 0, 1, 3600.0, tuple(plan.lanes))):
            with open(f"{path}.rounds", "ab") as rounds:
                rounds.write(b".")


if __name__ == "__main__":
    main(sys.argv[1])
