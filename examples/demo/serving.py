"""``make demo UI=1``: the service stays up beside the demo's clusters, with the link running and records arriving."""

from __future__ import annotations

import os
import socket
import sys
import time
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import yaml

from anabranch.model.clock import DAY_MS, now_ms
from anabranch.sandbox.ports import lease_ports
from anabranch.sandbox.process import SupervisedProcess
from anabranch.service.processes import is_alive
from anabranch.service.serving import FIRST_ADMIN
from anabranch.store.accounts import Accounts
from anabranch.store.database import open_database
from anabranch.store.runs import StartedRuns

PORT = 8420
_START_S = 120.0
_END_S = 30.0


def is_wanted() -> bool:
    """Whether the pages are to stay up when the demo is over."""
    return os.environ.get("UI") == "1"


def token(scratch: Path) -> str:
    """The token of an admin, for a day, in a store of the demo's own."""
    database = open_database(str(_store(scratch)))
    try:
        accounts, now = Accounts(database), now_ms()
        accounts.first(FIRST_ADMIN, now)
        return accounts.issue(FIRST_ADMIN, "demo", now, now + DAY_MS)[0]
    finally:
        database.close()


def free_port() -> int:
    """The usual port, or another one where somebody listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError:
            (lease,) = lease_ports(1)
            with lease:  # the service takes it at once
                return lease.port
    return PORT


def serve(scratch: Path, contexts: Mapping[str, Any], port: int) -> SupervisedProcess:
    """Start the service; it ends with the demo."""
    file = scratch / "contexts.yaml"
    file.write_text(yaml.safe_dump({"version": 1, "target": "new", "contexts": dict(contexts)}), encoding="utf-8")
    command = [sys.executable, "-m", "anabranch", "--contexts", str(file), "serve", "--store", str(_store(scratch))]
    command += ["--port", str(port), "--master", "local[2,8]"]
    environment = {**os.environ, "XDG_STATE_HOME": str(scratch / "state")}
    return SupervisedProcess.spawn("the service", command, scratch / "serve.log", environment)


def await_answer(served: SupervisedProcess, port: int) -> None:
    """Return when it answers, and not before: its address is opened as soon as it is read.

    Raises SandboxProcessError.
    """
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if not served.alive:
            raise served.failure("ended at its start")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise served.failure(f"did not answer within {_START_S:.0f} s")


def end(served: SupervisedProcess, scratch: Path) -> None:
    """End the service and the jobs that somebody started by its pages: links that it runs would outlive it."""
    served.kill()
    database = open_database(str(_store(scratch)))
    try:
        runs = [one for one in StartedRuns(database).alive(socket.gethostname()) if is_alive(one.pid, one.created)]
    finally:
        database.close()
    jobs: list[psutil.Process] = []
    for run in runs:
        with suppress(psutil.NoSuchProcess):
            jobs.append(psutil.Process(run.pid))
            jobs[-1].terminate()
    for job in psutil.wait_procs(jobs, _END_S)[1]:
        for process in [*job.children(recursive=True), job]:
            with suppress(psutil.NoSuchProcess):
                process.kill()


def _store(scratch: Path) -> Path:
    return scratch / "service.db"
