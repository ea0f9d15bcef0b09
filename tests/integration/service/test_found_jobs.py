"""A link's job that a service started and, killed, never noted: another process of the service finds it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml

from anabranch.config.jobspec import LinkJob, write_spec
from anabranch.model.cluster import ClusterContext, Security, SecurityProtocol
from anabranch.operations.links.run import LinkRunsError, RunPlan
from anabranch.service.clusters import ClusterPool
from anabranch.service.hub import Hub
from anabranch.service.job_settings import JobSettings
from anabranch.service.launching import Launching
from anabranch.service.processes import Processes
from anabranch.service.stored import Stored
from anabranch.store.database import open_database
from anabranch.store.runs import RunKind
from qa.service import until

pytestmark = pytest.mark.test

STARTER = """
import os, signal, sys
from pathlib import Path
from anabranch.operations.jobs import jobprocess, runlogs
spec, log = (Path(one) for one in sys.argv[1:])
with runlogs.open_log(log) as output:
    job = [sys.executable, "-c", "import time; time.sleep(600)", str(spec)]
    process = jobprocess.spawn(job, {}, None, out=output, err=output, tied=False, held=output)
    print(process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)  # before anybody has noted it
"""


def context(name: str, port: int) -> ClusterContext:
    """A cluster that is not asked."""
    return ClusterContext(name, (f"127.0.0.1:{port}",), Security(SecurityProtocol.PLAINTEXT))


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Stored]:
    """An empty store."""
    database = open_database(str(tmp_path / "store.db"))
    try:
        yield Stored(database)
    finally:
        database.close()


@pytest.fixture
def orphan(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """A job whose starter was killed before it had noted it, and the job's log."""
    directory = tmp_path / "link" / "shop"
    directory.mkdir(parents=True)
    job = LinkJob("shop", "run-1", context("old", 1), context("new", 2), 60)
    spec, log = directory / "run-1.json", directory / "run-1.log"
    write_spec(spec, job.to_json())
    done = subprocess.run([sys.executable, "-c", STARTER, spec, log], stdout=subprocess.PIPE, text=True, check=False)
    pid = int(done.stdout)
    assert done.returncode == -signal.SIGKILL
    until(lambda: str(spec) in psutil.Process(pid).cmdline())  # it was a copy of its starter for a moment
    try:
        yield pid, log
    finally:
        os.kill(pid, signal.SIGKILL)


async def test_a_job_that_was_started_and_not_noted_is_found_and_no_second_one_begins(
    stored: Stored, orphan: tuple[int, Path], tmp_path: Path
) -> None:
    """By its run's name; it is noted as whoever asked for the link, and counts as running from then on."""
    pid, log = orphan
    contexts = tmp_path / "contexts.yaml"
    written = {name: {"bootstrap": [f"127.0.0.1:{port}"]} for name, port in (("old", 1), ("new", 2))}
    contexts.write_text(yaml.safe_dump({"version": 1, "contexts": written}), encoding="utf-8")
    clusters = ClusterPool(contexts)
    processes = Processes(stored, Hub(), clusters)
    launching = Launching(clusters, JobSettings("local[1]", "local[1]", tmp_path), processes)
    assert not await processes.running(RunKind.LINK, "new", "shop")
    assert await processes.adopted("other", "shop", "ops", log.parent) is None
    with pytest.raises(LinkRunsError, match="run-1"):
        await launching.link("new", RunPlan("shop", "old", "new", "local[1]", 60, ""), "ops")
    (found,) = await processes.of_link("shop")
    assert (found.pid, found.log, found.account, found.ended_at) == (pid, str(log), "ops", None)
    assert await processes.running(RunKind.LINK, "new", "shop")
    assert await processes.adopted("new", "shop", "ops", log.parent) is None
