"""The service of the demo, as a process of its own with a store of its own; ``make demo UI=1`` leaves it up."""

from __future__ import annotations

import json
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

from anabranch.model.accounts import Role
from anabranch.model.clock import DAY_MS, now_ms
from anabranch.sandbox.ports import lease_ports
from anabranch.sandbox.process import SupervisedProcess
from anabranch.service.serving import FIRST_ADMIN
from anabranch.store.accounts import Accounts
from anabranch.store.database import open_database
from examples.demo.shop import CODE

PORT = 8420
# Most of a short job is the JVM's warming up.
_BRIEF = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
_START_S = 120.0
_END_S = 30.0


def is_wanted() -> bool:
    """Whether the pages are to stay up when the demo is over."""
    return os.environ.get("UI") == "1"


def tokens(scratch: Path) -> tuple[str, str]:
    """The tokens of an admin and of an application, for a day."""
    database = open_database(str(_store(scratch)))
    try:
        accounts, now = Accounts(database), now_ms()
        accounts.first(FIRST_ADMIN, now)
        accounts.add(CODE, Role.CLIENT, now)
        admin, client = (accounts.issue(name, "demo", now, now + DAY_MS)[0] for name in (FIRST_ADMIN, CODE))
        return admin, client
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


def serve(scratch: Path, contexts: Mapping[str, Any], hooks: Mapping[str, list[str]], port: int) -> SupervisedProcess:
    """Start the service, which may rewrite checkpoints below ``scratch`` and run ``hooks``; it ends with the demo."""
    file, settings = scratch / "contexts.yaml", scratch / "serve.yaml"
    file.write_text(yaml.safe_dump({"version": 1, "target": "new", "contexts": dict(contexts)}), encoding="utf-8")
    fields = {"version": 1, "store": str(_store(scratch)), "port": port, "master": "local[2,8]"}
    more = {"checkpoints": [str(scratch)], "hooks": dict(hooks), "spark": _BRIEF}
    settings.write_text(yaml.safe_dump({**fields, **more}), encoding="utf-8")
    command = [sys.executable, "-m", "anabranch", "--contexts", str(file), "serve", "--file", str(settings)]
    (scratch / "tmp").mkdir()  # what jobs that are killed in their start leave there goes with the demo
    environment = {**os.environ, "XDG_STATE_HOME": str(scratch / "state"), "TMPDIR": str(scratch / "tmp")}
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


def ask(port: int, token: str, path: str) -> Any:
    """What the service answers; raises OSError."""
    wanted = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v1{path}", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(wanted, timeout=30) as answer:
        return json.loads(answer.read())


def end(served: SupervisedProcess, scratch: Path) -> None:
    """End the service, and what it has started: links, comparisons and hooks, which would outlive it.

    They are known by the paths in their command lines: one that was just started is in no store yet.
    """
    served.kill()
    jobs = [one for one in psutil.process_iter() if _is_of(one, scratch)]
    for job in jobs:
        with suppress(psutil.NoSuchProcess):
            job.terminate()
    for job in psutil.wait_procs(jobs, _END_S)[1]:
        with suppress(psutil.NoSuchProcess):
            for process in [*job.children(recursive=True), job]:
                process.kill()


def _is_of(process: psutil.Process, scratch: Path) -> bool:
    try:
        words = process.cmdline()
    except psutil.Error:
        return False
    is_job = any(word.startswith("anabranch.spark.jobs.") for word in words) or words[:2] == ["sh", "-c"]
    return is_job and any(word.startswith(f"{scratch}/") for word in words)


def _store(scratch: Path) -> Path:
    return scratch / "service.db"
