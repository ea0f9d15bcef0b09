"""A standalone Spark cluster on loopback: a master and two workers of one core, from the installed pyspark."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import pyspark

from anabranch.sandbox.ports import lease_ports
from anabranch.sandbox.process import SupervisedProcess
from qa.faults.processes import MARK, PACKAGE_ROOT, is_worker, marked, send
from qa.timeouts import TIMEOUT_S

_READY_S = TIMEOUT_S
# A speculative attempt is never put on its original's host, and Spark tells hosts apart by their names.
_HOSTS = ("127.0.0.1", "localhost")


class StandaloneSpark:
    """Master and workers that live as long as this process at most; executors are children of the workers."""

    def __init__(self, root: Path, environment: dict[str, str] | None = None) -> None:
        self.mark = uuid.uuid4().hex
        self._root = root
        (self._lease,) = lease_ports(1)
        port = self._lease.port
        self.url = f"spark://127.0.0.1:{port}"
        self._program = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
        paths = [(environment or {}).get("PYTHONPATH", ""), PACKAGE_ROOT]
        self._environment = {
            **os.environ,
            **(environment or {}),
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            # An application whose executors are killed again and again must not be given up.
            "SPARK_MASTER_OPTS": "-Dspark.deploy.maxExecutorRetries=-1",
            MARK: self.mark,
        }
        self._daemons = [self._spawn("master", "master.Master", "127.0.0.1", "--port", str(port), "--webui-port", "0")]
        _await_port(port, self._daemons[0])
        for host in _HOSTS:
            home = root / f"spark-worker-{host}"
            options = ["-c", "1", "-m", "1g", "-d", str(home), "--webui-port", "0", self.url]
            self._daemons.append(self._spawn(f"worker-{host}", "worker.Worker", host, *options))

    def _spawn(self, name: str, main: str, host: str, *options: str) -> SupervisedProcess:
        command = [self._program, f"org.apache.spark.deploy.{main}", "--host", host, *options]
        return SupervisedProcess.spawn(f"Spark {name}", command, self._root / f"spark-{name}.log", self._environment)

    @property
    def executors(self) -> list[psutil.Process]:
        """The executors' JVMs."""
        found = []
        for process in marked(self.mark):
            try:
                if any("CoarseGrainedExecutorBackend" in part for part in process.cmdline()):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    @property
    def workers(self) -> list[psutil.Process]:
        """The Python workers of all executors."""
        return [process for process in marked(self.mark) if is_worker(process)]

    def gone_after(self, processes: list[psutil.Process], seconds: float) -> float | None:
        """Seconds until all of these are gone; None if some stay."""
        began = time.monotonic()
        while any(map(_lives, processes)):
            if time.monotonic() - began > seconds:
                return None
            time.sleep(0.05)
        return time.monotonic() - began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for daemon in reversed(self._daemons):
            daemon.kill()
        for process in marked(self.mark):
            send(process, signal.SIGKILL)
        self._lease.release()


def _lives(process: psutil.Process) -> bool:
    """Whether a process runs; it may end between two questions about it."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _await_port(port: int, daemon: SupervisedProcess) -> None:
    deadline = time.monotonic() + _READY_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            if not daemon.alive or time.monotonic() > deadline:
                raise daemon.failure("does not listen") from None
            time.sleep(0.1)
        else:
            return
