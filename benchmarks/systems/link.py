"""The link: Anabranch on Spark, its driver JVM and Python workers in one process tree."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import yaml

from anabranch.config import contexts
from anabranch.operations.jobs.launcher import JOB, job_spec
from anabranch.sandbox.process import SupervisedProcess
from benchmarks.logs import TopicLog
from benchmarks.systems import Stage, delete_topic
from qa.faults.processes import WORKERS

NAME = "link"
_STOP_SECONDS = 40.0
_LEASE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class RunningLink:
    """The link's Spark job; a supervisor ends it with the benchmark, however that ends."""

    process: SupervisedProcess

    @property
    def pid(self) -> int:
        """The driver's Python process, the parent of its JVM and of the workers."""
        return self.process.pid

    @property
    def worker(self) -> str:
        """Spark's Python workers: each is a slot of the link, and copies."""
        return WORKERS

    def check(self) -> None:
        """Raise ``SandboxProcessError`` with the end of its log if it has ended."""
        if not self.process.alive:
            raise self.process.failure("ended")

    def stop(self) -> None:
        """End it as a user's Ctrl-C does, and whatever is left of its tree after 40 s by force."""
        try:
            tree = psutil.Process(self.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            tree = []
        self.process.terminate(_STOP_SECONDS)
        for left in psutil.wait_procs(tree, 5.0)[1]:
            left.kill()


@dataclass(frozen=True, slots=True)
class LinkSystem:
    """``link create`` with all defaults but the topic's name, then the job that ``link run`` starts."""

    master: str = "local[2]"
    lease_seconds: int = _LEASE_SECONDS

    @property
    def name(self) -> str:
        """As in the table."""
        return NAME

    @property
    def settings(self) -> dict[str, str]:
        """All else is the link's default."""
        return {"master": self.master, "lease_seconds": str(self.lease_seconds)}

    def place(self, stage: Stage, number: int) -> TopicLog:
        """``link<number>-<topic>`` on the target."""
        return TopicLog(stage.target.brokers[0].data_path, f"link{number}-{stage.loaded.topic}")

    @contextmanager
    def copy(self, stage: Stage, number: int) -> Iterator[RunningLink]:
        """A new link for each copy."""
        spec = prepare(stage, number, self.lease_seconds)
        link, directory = spec.stem, spec.parent
        environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
        command = [sys.executable, "-m", JOB, str(spec), "--master", self.master]
        process = SupervisedProcess.spawn(f"link {link}", command, directory / f"{link}.log", environment)
        running = RunningLink(process)
        try:
            yield running
        finally:
            running.stop()
            delete_topic(stage.target, f"link{number}-{stage.loaded.topic}")


def prepare(stage: Stage, number: int, lease_seconds: int) -> Path:
    """Create the link ``bench-<number>`` to the topic ``link<number>-...``, and write its job's specification."""
    directory = stage.directory / NAME
    directory.mkdir(exist_ok=True)
    link = f"bench-{number}"
    file = _contexts_file(stage, directory)
    selection = ["--id", link, "--include", stage.loaded.topic, "--naming", f"link{number}-{{topic}}"]
    _anabranch(file, "link", "create", "--source", "source", "--target", "target", *selection, "--execute")
    known = contexts.load(contexts.locate(file, os.environ, directory))
    spec = directory / f"{link}.json"
    spec.write_text(job_spec(known.get("target"), known.get("source"), link, lease_seconds))
    return spec


def _contexts_file(stage: Stage, directory: Path) -> Path:
    path = directory / "contexts.yaml"
    entries = {"source": stage.source.context(), "target": stage.target.context()}
    path.write_text(yaml.safe_dump({"contexts": entries}))
    return path


def _anabranch(file: Path, *arguments: str) -> None:
    """Run the command line; its refusal is shown and raised as ``CalledProcessError``."""
    command = [sys.executable, "-m", "anabranch", "--contexts", str(file), *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
