"""``anabranch`` as processes of its own, as a user starts it, and what came of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

import psutil
import yaml

from anabranch.sandbox import SandboxCluster
from qa.faults.processes import MARK, PACKAGE_ROOT, marked
from qa.route_service import RouteProcess
from qa.timeouts import LONG_TIMEOUT_S

NOTHING: Mapping[str, str | None] = MappingProxyType({})


class Runs:
    """``anabranch`` in a directory of a user's, and the processes that came of it."""

    def __init__(self, directory: Path, old: SandboxCluster, new: SandboxCluster) -> None:
        self.mark = uuid.uuid4().hex
        self.directory = directory
        self._verb: subprocess.Popen[bytes] | None = None
        self.log = directory / "terminal.log"
        self._file = directory / "contexts.yaml"
        self._contexts = {"old": old.context(), "new": new.context()}
        self._file.write_text(yaml.safe_dump({"contexts": self._contexts}))
        self._environment = {
            **os.environ,
            "PYTHONPATH": PACKAGE_ROOT,
            "XDG_STATE_HOME": str(directory / "state"),
            MARK: self.mark,
        }

    def start(self, *arguments: str, environment: Mapping[str, str | None] = NOTHING) -> subprocess.Popen[bytes]:
        """Start a verb, with more or (None) less in its environment; what it prints is in ``log``."""
        variables = {**self._environment, **environment}
        with self.log.open("ab") as log:
            self._verb = subprocess.Popen(
                self._command(*arguments),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env={name: value for name, value in variables.items() if value is not None},
                start_new_session=True,
            )
        return self._verb

    def run(self, *arguments: str, environment: Mapping[str, str | None] = NOTHING) -> int:
        """Run a verb to its end; returns its exit code."""
        return self.start(*arguments, environment=environment).wait(LONG_TIMEOUT_S)

    def service(self) -> RouteProcess:
        """The service; the jobs that it starts are among the processes here."""
        directory = self.directory / "service"
        directory.mkdir()
        return RouteProcess(directory, self._contexts, self._environment)

    def await_said(self, words: str) -> None:
        """Wait until the verb has printed something."""
        deadline = time.monotonic() + LONG_TIMEOUT_S
        while True:
            has_failed = self._has_failed
            if words in self.log.read_text():
                return
            assert time.monotonic() < deadline and not has_failed, self.log.read_text()
            time.sleep(0.02)

    @property
    def said(self) -> list[str]:
        """The lines that the verbs have printed."""
        return self.log.read_text().splitlines()

    def await_told(self, link_id: str, words: str) -> None:
        """Wait until ``verify show`` says something."""
        deadline = time.monotonic() + LONG_TIMEOUT_S
        while True:
            command = self._command("verify", "show", link_id, "--target", "new", "-o", "json")
            shown = subprocess.run(command, capture_output=True, text=True, check=False, env=self._environment).stdout
            if words in shown:
                return
            assert time.monotonic() < deadline, shown
            time.sleep(0.2)

    def await_process(self, words: str) -> psutil.Process:
        """Wait until a process runs that has this in its command line."""
        return self._await(lambda process: words in process.cmdline())

    def await_jvm(self, driver: psutil.Process) -> psutil.Process:
        """Wait until the driver of a job has started its JVM."""
        return self._await(lambda process: process.name() == "java" and process.ppid() == driver.pid)

    def await_nobody(self) -> None:
        """Wait until no process is left: launcher, driver, JVM, daemons and workers."""
        deadline = time.monotonic() + LONG_TIMEOUT_S
        while marked(self.mark):
            assert time.monotonic() < deadline, self._commands()
            time.sleep(0.1)

    def _await(self, wanted: Callable[[psutil.Process], bool]) -> psutil.Process:
        """The first process of this kind, as soon as there is one."""
        deadline = time.monotonic() + LONG_TIMEOUT_S
        while True:
            has_failed = self._has_failed
            for process in marked(self.mark):
                with suppress(psutil.Error):  # it has ended
                    if wanted(process):
                        return process
            assert time.monotonic() < deadline and not has_failed, self.log.read_text()
            time.sleep(0.02)

    @property
    def _has_failed(self) -> bool:
        """Whether the verb that was started last has ended with an error: what is waited for does not come."""
        return self._verb is not None and bool(self._verb.poll())

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-P", "-m", "anabranch", "--contexts", str(self._file), *arguments]

    def _commands(self) -> list[list[str]]:
        """The command lines of the processes that there are."""
        found = []
        for process in marked(self.mark):
            with suppress(psutil.Error):  # it has ended
                found.append(process.cmdline())
        return found

    def end_all(self) -> None:
        """Kill what a failed test has left."""
        for process in marked(self.mark):
            process.kill()
