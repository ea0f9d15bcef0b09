"""Starting Spark jobs as processes of their own: the control plane never holds a Spark session.

The job's specification goes through a file that only this user may read; secrets go through the environment
that the process inherits.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from types import FrameType

from anabranch.config.jobspec import LinkJob
from anabranch.engine.sparkready import check
from anabranch.model.cluster import ClusterContext

JOB = "anabranch.spark.jobs.link"
STOP_S = 30.0


def job_spec(target: ClusterContext, source: ClusterContext, link_id: str, lease_seconds: float) -> str:
    """The specification of one new run of a link, as the job reads it."""
    return LinkJob(link_id, f"run-{uuid.uuid4().hex[:12]}", source, target, lease_seconds).to_json()


def start_link(
    target: ClusterContext,
    source: ClusterContext,
    link_id: str,
    master: str,
    lease_seconds: float,
    directory: Path,
    quiet: bool = True,
) -> subprocess.Popen[bytes]:
    """Start the link's job and return its process; ``directory`` gets the specification and, if quiet, the log."""
    check(master)
    spec = directory / f"{link_id}.json"
    descriptor = os.open(spec, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(job_spec(target, source, link_id, lease_seconds))
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    command = [sys.executable, "-m", JOB, str(spec), "--master", master]
    if not quiet:
        return subprocess.Popen(command, env=environment)
    with (directory / f"{link_id}.log").open("ab") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)


def run_link(target: ClusterContext, source: ClusterContext, link_id: str, master: str, lease_seconds: float) -> int:
    """Run the link's Spark query until it ends or is interrupted; returns its exit code.

    Ctrl-C and SIGTERM end the leases cleanly: what is in flight is answered, claims are given back.
    """
    with tempfile.TemporaryDirectory(prefix="anabranch-run-") as scratch:
        process: subprocess.Popen[bytes] | None = None
        asked: list[int] = []

        def forward(number: int, _frame: FrameType | None) -> None:
            asked.append(number)
            if process is not None and process.poll() is None:
                process.terminate()

        # Before the process is there: who ends this one as it starts must not leave a link that nobody ends.
        before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            process = start_link(target, source, link_id, master, lease_seconds, Path(scratch), quiet=False)
            if asked and process.poll() is None:
                process.terminate()
            code = process.wait()
            # Told to end before it could do so cleanly, as Spark was starting: what any program exits with then.
            return 128 + asked[0] if asked and code < 0 else code
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if process is not None and process.poll() is None:
                process.terminate()
                try:
                    process.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    process.kill()
