"""A link on a standalone Spark cluster, and what its machines may lack."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

import anabranch
from anabranch.operations.jobs.launcher import job_spec
from anabranch.sandbox import SandboxCluster
from qa.faults.processes import PACKAGE_ROOT, LinkRun
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S
from tests.integration.links.lab import link
from tests.integration.links.topics import create, fresh, numbered, produce
from tests.integration.spark.standalone import SPARK_HOME, kill_tree, standalone

pytestmark = pytest.mark.full
LEASE_S = 300.0
LANES = 4  # a new worker is given some of them; of two that only follow it would be given none
CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.task.maxFailures": "100",
}


def test_lanes_of_a_killed_worker_go_on_where_no_core_is_spare(
    old: SandboxCluster, new: SandboxCluster, tmp_path: Path
) -> None:
    """They stood still for the length of a lease, as their task waited for a core; a worker that comes is used, too."""
    topic = create(old, fresh("standalone"), LANES)
    here = {"PYTHONPATH": PACKAGE_ROOT, "PATH": os.environ["PATH"]}

    def write(first: int) -> None:
        produce(old, topic, [record for at in range(LANES) for record in numbered(10, first=first, partition=at)])

    with standalone(tmp_path) as spark, link(old, new, topic) as made:

        def copied(position: int) -> None:
            for partition in range(LANES):
                made.await_position(topic, position, partition)

        workers = [spark.add_worker(here) for _ in range(2)]
        spec = tmp_path / "run.json"
        spec.write_text(job_spec(made.target, made.source, made.id, LEASE_S))
        run = LinkRun(spec, spark.master, tmp_path / "run.log", conf=CONF)
        try:
            write(0)
            copied(10)
            made.await_(lambda status: len({lane.owner for lane in status.lanes}) == 2)

            kill_tree(workers[0].pid)
            write(10)
            copied(20)
            assert len({lane.owner for lane in made.status().lanes}) == 1

            spark.add_worker(here)
            made.await_(lambda status: len({lane.owner for lane in status.lanes}) == 2)
            write(20)
            copied(30)
            assert run.stop(TIMEOUT_S)
        finally:
            run.end_all()
        assert [made.assert_copied(topic, partition=partition) for partition in range(LANES)] == [30] * LANES


class Desk:
    """Where an operator sits: a contexts file and the verbs."""

    def __init__(self, directory: Path, old: SandboxCluster, new: SandboxCluster) -> None:
        self.directory = directory
        entry = old.context()
        self.contexts = directory / "contexts.yaml"
        self.contexts.write_text(yaml.safe_dump({"contexts": {old.spec.name: entry, new.spec.name: new.context()}}))
        self.target = new.spec.name

    def start(self, *arguments: str, name: str = "run") -> subprocess.Popen[bytes]:
        """A verb of the program, in this directory; what it prints is in a file of this name."""
        return self.spawn([sys.executable, "-m", "anabranch", "--contexts", str(self.contexts), *arguments], name)

    def spawn(self, command: Sequence[str], name: str) -> subprocess.Popen[bytes]:
        """Another program."""
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
        with (self.directory / f"{name}.log").open("wb") as log:
            return subprocess.Popen(command, cwd=self.directory, env=environment, stdout=log, stderr=log)

    def verb(self, *arguments: str) -> tuple[int, str]:
        """Run one to its end: its exit code, and what it said."""
        code = self.start(*arguments, name="verb").wait(LONG_TIMEOUT_S)
        return code, (self.directory / "verb.log").read_text()


def conf(**more: str) -> list[str]:
    """The options for a cluster on loopback."""
    settings = {
        **CONF,
        "spark.task.maxFailures": "1000000",
        **{key.replace("_", "."): one for key, one in more.items()},
    }
    return [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]


def test_the_documented_commands_copy_on_machines_that_have_only_python(
    old: SandboxCluster, new: SandboxCluster, tmp_path: Path
) -> None:
    """`link package`, `link run --archive`, `link stop`; then `--spec` and `spark-submit` with an interpreter."""
    topic = create(old, fresh("documented"))
    desk = Desk(tmp_path, old, new)
    system = os.path.realpath(sys.executable)
    bare = {"PYTHONPATH": "", "PATH": os.environ["PATH"]}
    with standalone(tmp_path) as spark, link(old, new, topic) as made:
        spark.add_worker(bare)
        on = ["--target", desk.target]
        code, said = desk.verb("link", "package", "--out", "anabranch-env.tar.gz", "--python", system)
        assert code == 0, said
        produce(old, topic, numbered(10))
        options = ["--master", spark.master, "--archive", "anabranch-env.tar.gz", *conf()]
        run = desk.start("link", "run", made.id, *on, *options)
        try:
            made.await_position(topic, 10)
            assert desk.verb("link", "stop", made.id, *on)[0] == 0
            assert run.wait(TIMEOUT_S) == 0
        finally:
            kill_tree(run.pid)

        produce(old, topic, numbered(10, first=10))
        code, said = desk.verb("link", "run", made.id, *on, "--spec", "run.json")
        assert code == 0, said
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={PACKAGE_ROOT}:$PYTHONPATH exec {sys.executable} "$@"\n')
        python.chmod(0o700)
        job = str(Path(anabranch.__file__).parent / "spark" / "jobs" / "link.py")
        submit = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", spark.master]
        run = desk.spawn([*submit, *conf(spark_pyspark_python=str(python)), job, "run.json"], "submit")
        try:
            made.await_(lambda _: made.lane(topic).position == 20, LONG_TIMEOUT_S)
            assert desk.verb("link", "stop", made.id, *on)[0] == 0
            assert run.wait(TIMEOUT_S) == 0
        finally:
            kill_tree(run.pid)
        assert made.assert_copied(topic) == 20


def test_what_an_executor_lacks_is_one_error_with_its_way_out(
    old: SandboxCluster, new: SandboxCluster, tmp_path: Path
) -> None:
    """No such Python, no package: two lines and exit code 2."""
    topic = create(old, fresh("lacking"))
    desk = Desk(tmp_path, old, new)
    lacking = {
        "none": ("/nonexistent", 'Cannot run program "/nonexistent"', "spark.pyspark.python"),
        "bare": (_bare(tmp_path), "No module named 'anabranch'", "link package"),
    }
    with standalone(tmp_path) as spark, link(old, new, topic) as made:
        spark.add_worker({"PYTHONPATH": "", "PATH": os.environ["PATH"]})
        for master in (spark.master, "local-cluster[1,1,512]", "local[2,8]"):
            for name, (python, why, hint) in lacking.items():
                if name == "bare" and master != spark.master:
                    continue
                options = ["--master", master, *conf(spark_pyspark_python=python)]
                code, said = desk.verb("link", "run", made.id, "--target", desk.target, *options)
                errors = [line for line in said.splitlines() if line.startswith(("error", "hint"))]
                assert (code, len(errors), "Traceback" in said, "\tat " in said) == (2, 2, False, False), said
                assert why in errors[0] and hint in errors[1], said
        assert not made.status().lanes


def _bare(directory: Path) -> str:
    """A Python of the system, which has no packages."""
    program = directory / "bare"
    program.write_text(f'#!/bin/sh\nexec {os.path.realpath(sys.executable)} "$@"\n')
    program.chmod(0o700)
    return str(program)
