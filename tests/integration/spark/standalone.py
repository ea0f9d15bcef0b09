"""A standalone Spark cluster on loopback: a master, and workers that a test adds and kills."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import psutil

from anabranch.sandbox.jars import java_program
from anabranch.sandbox.ports import lease_ports
from anabranch.sandbox.process import SupervisedProcess
from qa.timeouts import TIMEOUT_S

SPARK_HOME = Path((find_spec("pyspark").submodule_search_locations or ["."])[0])  # type: ignore[union-attr]
_NO_REST = "-Dspark.master.rest.enabled=false"  # else it takes a port that is the same on each machine
_OPENED = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.nio", "sun.nio.ch", "java.util", "java.lang")]

_SPARK = {"SPARK_HOME": str(SPARK_HOME), "SPARK_SCALA_VERSION": "2.13", "SPARK_LOCAL_IP": "127.0.0.1"}


class Standalone:
    """The cluster; its workers have one core each."""

    def __init__(self, directory: Path, port: int, web: int) -> None:
        self.master = f"spark://127.0.0.1:{port}"
        self._directory = directory
        self._workers: list[SupervisedProcess] = []
        main = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1"]
        self._master = self._spawn("master", [*main, "--port", str(port), "--webui-port", str(web)], {})
        self._await("master", "New state: ALIVE")

    def add_worker(self, environment: Mapping[str, str]) -> SupervisedProcess:
        """Another one, which the master knows."""
        name = f"worker-{len(self._workers)}"
        main = ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "700m"]
        work = self._directory / name
        worker = self._spawn(name, [*main, "--work-dir", str(work), "--webui-port", "0", self.master], environment)
        self._workers.append(worker)
        self._await(name, "Successfully registered with master")
        return worker

    def close(self) -> None:
        """End all of it."""
        for process in (*self._workers, self._master):
            kill_tree(process.pid)
            process.kill()

    def _spawn(self, name: str, main: list[str], environment: Mapping[str, str]) -> SupervisedProcess:
        options = [
            "-Xmx256m",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            *_OPENED,
            _NO_REST,
            "-cp",
            f"{SPARK_HOME}/jars/*",
        ]
        here = {**os.environ, **_SPARK, **environment}
        return SupervisedProcess.spawn(name, [java_program(), *options, *main], self._log(name), here)

    def _log(self, name: str) -> Path:
        return self._directory / f"{name}.log"

    def _await(self, name: str, text: str) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while text not in self._log(name).read_text(errors="replace"):
            assert time.monotonic() < deadline, self._log(name).read_text(errors="replace")[-2000:]
            time.sleep(0.1)


@contextmanager
def standalone(directory: Path) -> Iterator[Standalone]:
    """A cluster of its own, without a worker yet."""
    master, web = lease_ports(2)
    with master, web:
        cluster = Standalone(directory, master.port, web.port)
        try:
            yield cluster
        finally:
            cluster.close()


def kill_tree(pid: int) -> None:
    """A machine that is gone: SIGKILL to a process and all that it started."""
    try:
        root = psutil.Process(pid)
        for process in (*root.children(recursive=True), root):
            process.kill()
    except psutil.NoSuchProcess:
        return
