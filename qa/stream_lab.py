"""A service in a process of its own whose streams are stand-ins, or real, asked over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from qa.service import until
from qa.timeouts import TIMEOUT_S

SCRIPT = "-- run\nINSERT INTO out SELECT 1"


@dataclass
class StandInService:
    """A service process; it can be killed while its streams go on."""

    process: subprocess.Popen[str]
    directory: Path
    port: int
    token: str

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Ask as an admin; returns the status and what is answered."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            is_json = "json" in (answer.getheader("content-type") or "")
            return answer.status, json.loads(text) if is_json else text.decode()
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """What is answered, which must be what was asked for."""
        status, found = self.ask("GET", path)
        assert status == 200, found
        return found

    def plan(self, verb: str, **request: object) -> tuple[int, Any]:
        """Plan a verb of streams."""
        return self.ask("POST", f"/api/v1/streams/{verb}/plan", request)

    def change(self, verb: str, **request: object) -> Any:
        """Plan a verb of streams and apply it; returns the operation as it ended."""
        status, plan = self.plan(verb, **request)
        assert status == 200, plan
        status, work = self.ask("POST", f"/api/v1/plans/{plan['id']}/apply", {"hash": plan["hash"]})
        assert status == 202, work
        until(lambda: self.get(f"/api/v1/operations/{work['id']}")["state"] != "running")
        return self.get(f"/api/v1/operations/{work['id']}")

    def done(self, verb: str, **request: object) -> Any:
        """The report of a verb that was carried out."""
        work = self.change(verb, **request)
        assert work["state"] == "done", work
        return work["report"]

    def stream(self, name: str) -> Any:
        """A stream as it is shown."""
        return self.get(f"/api/v1/streams/{name}")

    def is_in(self, name: str, state: str, fence: int = 0) -> bool:
        """Whether a stream is in a state, and its newest run at least this start."""
        found = self.stream(name)
        return found["stream"]["state"] == state and (not fence or found["runs"][0]["fence"] >= fence)

    def run_of(self, name: str) -> Any:
        """Its newest run, once its process is known."""
        until(lambda: self.stream(name)["runs"] and self.stream(name)["runs"][0]["pid"])
        return self.stream(name)["runs"][0]

    def written(self, name: str) -> list[int]:
        """The fences that were written as rows, in order."""
        file = self.directory / "jobs" / "streams" / name / "written"
        return [int(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []

    def kill(self) -> None:
        """End the service by force."""
        self.process.kill()
        self.process.wait()


@dataclass
class StandIns:
    """The services of a test; every job that they started is killed at the end.

    With ``arguments`` (more of ``qa.stream_service``) streams are real.
    """

    root: Path
    arguments: tuple[str, ...] = ()
    services: list[StandInService] = field(default_factory=list)

    def serve(self, store: str, directory: str = "one") -> StandInService:
        """Start a service; one of the same directory finds what an earlier one left."""
        place = self.root / directory
        command = [sys.executable, "-m", "qa.stream_service", store, str(place), *self.arguments]
        # What is killed leaves its scratch files below the root.
        environment = {**os.environ, "TMPDIR": str(self.root)} if self.arguments else None
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the service did not begin"
        made = StandInService(process, place, **json.loads(line))
        self.services.append(made)
        return made


@contextmanager
def stand_ins(root: Path, *arguments: str) -> Iterator[StandIns]:
    """Services below a directory; ``arguments`` as ``StandIns`` has them."""
    made = StandIns(root, arguments)
    try:
        yield made
    finally:
        for service in made.services:
            if service.process.poll() is None:
                service.kill()
        end_stand_ins(root)
        if arguments:
            _kill_marked(f"TMPDIR={root}")


def end_stand_ins(root: Path) -> None:
    """End every stand-in that was started below a directory, by force."""
    for spec in root.rglob("run-*.json"):
        _kill(spec)


def _kill(spec: Path) -> None:
    """End the job of a specification, where it lives."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if str(spec) in process.cmdline():
                os.kill(process.pid, signal.SIGKILL)


def _kill_marked(mark: str) -> None:
    """End what a job left: its JVM and workers outlive it for a while."""
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.fsencode(mark) in (place / "environ").read_bytes().split(b"\0"):
                os.kill(int(place.name), signal.SIGKILL)
