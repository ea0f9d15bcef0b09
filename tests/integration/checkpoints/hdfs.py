"""HDFS on loopback, reached by its WebHDFS."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch.sandbox.jars import class_path, java_program
from anabranch.sandbox.ports import lease_ports
from anabranch.sandbox.process import SupervisedProcess
from anabranch.storage.errors import StorageError
from anabranch.storage.opening import open_files
from qa.timeouts import TIMEOUT_S

RUNTIME = "hdfs-3.4.1"
_MAIN = Path(__file__).parents[2] / "java" / "Hdfs.java"
_START_S = TIMEOUT_S


@contextmanager
def running_hdfs(directory: Path) -> Iterator[str]:
    """A file system of its own until the end; the URI of its root by WebHDFS, without a slash."""
    with hdfs_roots(directory) as (web, _):
        yield web


@contextmanager
def hdfs_roots(directory: Path) -> Iterator[tuple[str, str]]:
    """The same, with its URI by Hadoop's own protocol, too."""
    for name in ("hdfs", "datanode"):  # pages of the web interface, which the servers look for
        (directory / "classes" / "webapps" / name).mkdir(parents=True)
    names, web = lease_ports(2)
    with names, web:
        options = ["-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true"]
        options += ["--add-opens", "java.base/java.lang=ALL-UNNAMED", "-cp"]
        options += [f"{class_path(RUNTIME)}:{directory / 'classes'}"]
        command = [java_program(), *options, str(_MAIN), str(directory / "root"), str(names.port), str(web.port)]
        log = directory / "hdfs.log"
        server = SupervisedProcess.spawn("HDFS", command, log)
        try:
            _await(server, log)
            place = f"webhdfs://someone@127.0.0.1:{web.port}"
            _await_writing(f"{place}/first")
            yield place, f"hdfs://127.0.0.1:{names.port}"
        finally:
            server.kill()


def _await(server: SupervisedProcess, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while "ready" not in log.read_text(errors="replace").splitlines():
        if not server.alive:
            raise server.failure("ended at its start")
        if time.monotonic() > deadline:
            raise server.failure("was not ready")
        time.sleep(0.1)


def _await_writing(place: str) -> None:
    """Both servers run, but the data node makes itself known to the name node by a thread of its own."""
    deadline = time.monotonic() + _START_S
    while True:
        try:
            return open_files(place).put("file", b"written")
        except StorageError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.1)
