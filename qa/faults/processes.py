"""The processes of one run of a link: the driver, its JVM, the Python daemons and the workers that copy.

They are told apart by their command lines and found by a mark in their environment, which they inherit; so a
process that outlived its parent is found too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

import anabranch
from anabranch.spark import handover
from qa.timeouts import SCALE

MARK = "ANABRANCH_FAULT_MARK"
DAEMON = "pyspark.daemon"
WORKERS = "pyspark.worker"
PACKAGE_ROOT = str(Path(anabranch.__file__).parent.parent)
_STOPS_S = 30.0 * SCALE
"""Then it is killed."""


def marked(mark: str) -> list[psutil.Process]:
    """Every live process that carries a mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == mark:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def is_worker(process: psutil.Process) -> bool:
    """Whether a process is a Python worker of tasks: a fork of Spark's daemon, and not the daemon itself."""
    try:
        parent = process.parent()
        return copies(process) and parent is not None and copies(parent)
    except psutil.Error:
        return False


def copies(process: psutil.Process) -> bool:
    """Whether a process is Spark's daemon for tasks or a fork of it; forks of a driver's fork server have its name."""
    command = set(process.cmdline())
    return process.name() == WORKERS or ({DAEMON, WORKERS} <= command and handover.__file__ not in command)


def send(process: psutil.Process, number: int) -> bool:
    """Signal a process if it is still that very one; returns whether it was."""
    try:
        process.send_signal(number)
    except psutil.Error:
        return False
    return True


class LinkRun:
    """One run of a link as a process of its own, started as the launcher does it."""

    def __init__(
        self,
        spec: Path,
        master: str,
        log: Path,
        *,
        conf: Mapping[str, str],
        slots: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.mark = uuid.uuid4().hex
        self.started = time.monotonic()
        self.log = log
        command = [sys.executable, "-m", "anabranch.spark.jobs.link", str(spec), "--master", master]
        for key, value in conf.items():
            command += ["--conf", f"{key}={value}"]
        if slots is not None:
            command += ["--slots", str(slots)]
        paths = [(environment or {}).get("PYTHONPATH", ""), PACKAGE_ROOT]
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={
                    **os.environ,
                    "PYSPARK_PYTHON": sys.executable,
                    "PYSPARK_DRIVER_PYTHON": sys.executable,
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    **(environment or {}),
                    "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                    MARK: self.mark,
                },
            )

    @property
    def alive(self) -> bool:
        """Whether the driver runs."""
        return self.process.poll() is None

    @property
    def workers(self) -> list[psutil.Process]:
        """The Python workers that tasks run in."""
        return [process for process in marked(self.mark) if is_worker(process)]

    @property
    def jvm(self) -> psutil.Process | None:
        """The driver's JVM, once it runs."""
        for process in marked(self.mark):
            try:
                if process.name() == "java" and process.ppid() == self.process.pid:
                    return process
            except psutil.Error:
                continue
        return None

    def kill_driver(self, by_jvm: bool) -> None:
        """SIGKILL the driver's Python process, or only its JVM, and wait for the former."""
        jvm = self.jvm
        if by_jvm and jvm is not None:
            send(jvm, signal.SIGKILL)
        else:
            self.process.kill()
        try:
            self.process.wait(_STOPS_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def stop(self, seconds: float) -> bool:
        """SIGTERM and wait; returns whether it ended by itself."""
        if self.alive:
            self.process.terminate()
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                return False
        return True

    def gone_after(self, seconds: float, spared: Sequence[int] = ()) -> float | None:
        """Seconds until no process of this run is left but ``spared`` ones (stopped by us); None if some stay."""
        began = time.monotonic()
        while left := [process for process in marked(self.mark) if process.pid not in spared]:
            if time.monotonic() - began > seconds:
                return None
            time.sleep(min(0.1, 0.02 * len(left)))
        return time.monotonic() - began

    def end_all(self) -> None:
        """SIGKILL whatever is left of this run, and only that."""
        for process in marked(self.mark):
            send(process, signal.SIGKILL)
        if self.alive:
            self.process.kill()
        self.process.wait()
