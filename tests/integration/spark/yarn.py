"""YARN on loopback: a resource manager and a node manager, whose containers know nothing of this installation."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anabranch.sandbox.jars import class_path, java_program
from anabranch.sandbox.process import SupervisedProcess
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S
from tests.integration.spark.standalone import kill_tree
from tests.integration.spark.yarn_page import documented

RUNTIME = "yarn-3.4.2"
_MAIN = Path(__file__).parents[2] / "java" / "Yarn.java"
_CLIENTS = {
    "application": "org.apache.hadoop.yarn.client.cli.ApplicationCLI",
    "logs": "org.apache.hadoop.yarn.client.cli.LogsCLI",
}
"""What ``yarn VERB`` runs, which is not handed the word ``logs``."""
_OURS = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "VIRTUAL_ENV", "SPARK_HOME")


@dataclass(frozen=True)
class Yarn:
    """What a client needs, and where containers write."""

    client: Path
    """A directory for ``HADOOP_CONF_DIR``."""
    work: Path

    @property
    def output(self) -> str:
        """What all containers have printed."""
        files = sorted(self.work.rglob("stderr")) + sorted(self.work.rglob("stdout"))
        return "\n".join(f"== {file}\n{file.read_text(errors='replace')}" for file in files)

    def command(self, words: Sequence[str]) -> list[str]:
        """A line of ``yarn``, which is a script that no registry has, as that script starts it."""
        program, verb, *_ = words
        assert program == "yarn"
        options = ["-XX:TieredStopAtLevel=1", "-cp", f"{self.client}:{class_path(RUNTIME)}"]
        return [java_program(), *options, _CLIENTS[verb], *(words[2:] if verb == "logs" else words[1:])]

    def run(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """A line of ``yarn``, to its end."""
        command = self.command(words)
        return subprocess.run(command, capture_output=True, text=True, timeout=LONG_TIMEOUT_S, check=False)

    def ran(self, words: Sequence[str]) -> str:
        """What a line of ``yarn`` prints, which has to end well."""
        done = self.run(words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def applications(self) -> dict[str, tuple[str, str]]:
        """The state and the final state of each application."""
        told = self.ran(documented("yarn application -list -appStates", {}))
        rows = [[word.strip() for word in line.split("\t")] for line in told.splitlines()]
        return {row[0]: (row[5], row[6]) for row in rows if row[0].startswith("application_")}


@contextmanager
def yarn(directory: Path, nodes: Mapping[str, str]) -> Iterator[Yarn]:
    """A cluster of its own until the end; ``nodes`` is added to what its containers find in their environment."""
    client, work = directory / "client", directory / "work"
    work.mkdir(parents=True)
    (work / "tmp").mkdir()
    options = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true"]
    options += [f"-Djava.io.tmpdir={work / 'tmp'}", "--add-opens", "java.base/java.lang=ALL-UNNAMED"]
    # Its directories lie below the one that it is started in.
    options += [f"-Dtest.build.data={work}", "-cp", class_path(RUNTIME)]
    command = ["env", "-C", str(work), java_program(), *options, str(_MAIN), str(client)]
    environment = {name: value for name, value in os.environ.items() if name not in _OURS}
    log = directory / "yarn.log"
    server = SupervisedProcess.spawn("YARN", command, log, {**environment, **nodes})
    try:
        deadline = time.monotonic() + TIMEOUT_S
        while "ready" not in log.read_text(errors="replace").splitlines():
            if not server.alive:
                raise server.failure("ended at its start")
            if time.monotonic() > deadline:
                raise server.failure("was not ready")
            time.sleep(0.1)
        yield Yarn(client, work)
    finally:
        kill_tree(server.pid)
        server.kill()
