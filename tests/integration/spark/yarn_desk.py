"""Where an operator of links on YARN sits, and what is seen from there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from anabranch.kafka.cluster import Cluster
from anabranch.sandbox import SandboxCluster
from anabranch.state.topics.journal import Journal
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S
from tests.integration.links.lab import Link, link
from tests.integration.links.topics import create, fresh, numbered, produce
from tests.integration.spark.standalone import SPARK_HOME
from tests.integration.spark.yarn import Yarn

PASSWORD = "yarn-secret"
CONF = {
    "spark.executor.instances": "1",
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.yarn.jars": f"local:{SPARK_HOME}/jars/*",  # else some hundred megabytes are copied each time
    "spark.yarn.am.clientModeExitOnError": "true",
    "spark.yarn.am.waitTime": "600s",  # a busy machine takes minutes to start a context
}


@dataclass
class Desk:
    """Where an operator sits: a contexts file, the secret's file, and the verbs."""

    directory: Path
    yarn: Yarn
    contexts: Path
    files: tuple[Path, ...]

    @property
    def settings(self) -> dict[str, str]:
        """Of Spark: what an application that is killed has had sent stays, but not in whoever's home runs the tests."""
        return {**CONF, "spark.yarn.stagingDir": f"file://{self.yarn.work}/staging"}

    def command(self, *arguments: str) -> list[str]:
        """A verb of the program."""
        return [sys.executable, "-m", "anabranch", "--contexts", str(self.contexts), *arguments]

    def verb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return subprocess.run(
            self.command(*arguments),
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=LONG_TIMEOUT_S,
            check=False,
        )

    @property
    def variables(self) -> dict[str, str]:
        """What a shell there has set."""
        home = str(self.yarn.client)
        return {**os.environ, "HADOOP_CONF_DIR": home, "YARN_CONF_DIR": home, "SPARK_LOCAL_IP": "127.0.0.1"}

    @contextmanager
    def running(self, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
        """A command while the block lasts."""
        with (self.directory / "run.log").open("wb") as log:
            process = subprocess.Popen(
                command, env=self.variables, cwd=self.directory, stdout=log, stderr=log, start_new_session=True
            )
        try:
            yield process
        except BaseException:
            print(self.log[-6000:], self.yarn.output[-12000:], sep="\n")
            raise
        finally:
            for one in [*psutil.Process(process.pid).children(recursive=True)] if process.poll() is None else []:
                one.kill()
            process.kill()
            process.wait()

    @property
    def log(self) -> str:
        """What the command printed."""
        return (self.directory / "run.log").read_text(errors="replace")


def options(desk: Desk, archive: Path) -> list[str]:
    """What a run of a link on YARN is given."""
    conf = [word for key, value in desk.settings.items() for word in ("--conf", f"{key}={value}")]
    known = desk.contexts.read_text()
    files = [word for file in desk.files if str(file) in known for word in ("--file", str(file))]
    return ["--master", "yarn", "--archive", str(archive), *files, *conf]


@contextmanager
def linked(pair: tuple[SandboxCluster, SandboxCluster]) -> Iterator[tuple[Link, str, Callable[[int], None]]]:
    """A link of one topic, and how to write ten records more."""
    old, new = pair
    topic = create(old, fresh("yarn"))
    with link(old, new, topic) as made:
        yield made, topic, lambda first: produce(old, topic, numbered(10, first=first))


def await_succeeded(cluster: Yarn, before: set[str], number: int) -> None:
    """Wait until so many applications that there were not before have succeeded."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        ended = [state for name, state in cluster.applications().items() if name not in before]
        if ended == [("FINISHED", "SUCCEEDED")] * number:
            return
        assert time.monotonic() < deadline, ended
        time.sleep(0.5)


def copied(made: Link, topic: str, position: int) -> None:
    """Wait until the lane is there: for YARN, an archive that is unpacked, a driver and an executor."""
    made.await_(
        lambda status: any(one.source.topic == topic and one.position >= position for one in status.lanes),
        LONG_TIMEOUT_S,
    )


def owner(made: Link) -> str:
    """The run that plans the link."""
    plan = made.status().plan
    return "" if plan is None else plan.owner


def held(made: Link, run: str) -> int:
    """How many lanes a run has not given back."""

    async def read(client: Cluster) -> int:
        return (await Journal(client).read()).held(made.id, run)

    return int(made.on_target(read))


def drivers(cluster: Yarn) -> list[psutil.Process]:
    """The application masters, each a JVM with a Python driver; waits for one."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        found = [one for one in psutil.process_iter(["cmdline"]) if is_driver(one, cluster)]
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError("no driver runs")


def is_driver(process: psutil.Process, cluster: Yarn) -> bool:
    """Whether a process is the JVM of a driver on this YARN."""
    words = process.info["cmdline"] or []
    is_jvm = bool(words) and words[0].endswith("java")
    return (
        is_jvm and any(word.endswith(".ApplicationMaster") for word in words) and str(cluster.work) in " ".join(words)
    )


def launch_scripts(cluster: Yarn) -> str:
    """What YARN starts containers with."""
    return "\n".join(file.read_text() for file in cluster.work.rglob("launch_container.sh"))
