"""The link's Spark job as a process that dies with the demo, and the worker processes in it."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections import Counter
from pathlib import Path

from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneProgress, LaneState
from anabranch.model.reports import LinkStatus
from anabranch.operations.jobs.launcher import JOB, job_spec
from anabranch.sandbox.process import SupervisedProcess

# Two workers; in local mode a task may fail seven times before the query does.
MASTER = "local[2,8]"
_STOP_SECONDS = 300.0
_OWNER = re.compile(r"-(\d+)-[0-9a-f]{8}$")


def start_job(
    target: ClusterContext, source: ClusterContext, link: str, lease_seconds: float, directory: Path
) -> SupervisedProcess:
    """Start the same job that ``anabranch link run`` starts; its log goes to ``directory``."""
    spec = directory / f"{link}.json"
    spec.touch(mode=0o600)
    spec.write_text(job_spec(target, source, link, lease_seconds))
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    command = [sys.executable, "-m", JOB, str(spec), "--master", MASTER]
    return SupervisedProcess.spawn(f"the job of link {link}", command, directory / f"{link}.log", environment)


def stop_job(job: SupervisedProcess) -> None:
    """End the leases and the query cleanly; raises ``SandboxProcessError`` where that failed."""
    if not job.terminate(_STOP_SECONDS):
        raise job.failure(f"did not stop within {_STOP_SECONDS:.0f} s")
    if job.exit_code:
        raise job.failure(f"exited with {job.exit_code}")


def owner_pid(lane: LaneProgress) -> int | None:
    """The process id of the worker that last persisted the lane: owners are named after their process."""
    found = _OWNER.search(lane.owner)
    return int(found.group(1)) if found else None


def is_owned(status: LinkStatus) -> bool:
    """Whether some worker copies a lane."""
    return bool(_owned(status))


def busiest_worker(status: LinkStatus) -> tuple[int, int]:
    """The process id of the worker that copies most lanes, and how many, of a status that ``is_owned``."""
    ((pid, lanes),) = _owned(status).most_common(1)
    return pid, lanes


def _owned(status: LinkStatus) -> Counter[int]:
    active = [lane for lane in status.lanes if lane.state in (LaneState.COPYING, LaneState.FOLLOWING)]
    return Counter(pid for lane in active if (pid := owner_pid(lane)) is not None)


def kill_worker(pid: int) -> None:
    """SIGKILL: nothing is said to anyone and nothing is flushed."""
    os.kill(pid, signal.SIGKILL)
