"""A link as its owner runs it: the command line, a Spark query, and Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from anabranch.model.lane import LaneState
from anabranch.operations.jobs.launcher import job_spec
from anabranch.sandbox import SandboxCluster
from qa.faults.processes import LinkRun
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.links.lab import TIMEOUT_S, Link, link
from tests.integration.links.topics import OLD_MS, create, fresh, grow, newest_offset, numbered, produce

pytestmark = pytest.mark.test


class CommandLine:
    """The program with a contexts file, as processes of their own."""

    def __init__(self, directory: Path, old: SandboxCluster, new: SandboxCluster) -> None:
        self._file = directory / "contexts.yaml"
        self._file.write_text(yaml.safe_dump({"contexts": {"old": old.context(), "new": new.context()}}))
        self._log = directory / "run.log"

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a verb to its end; it must succeed."""
        done = subprocess.run(
            self._command(*arguments), capture_output=True, text=True, timeout=LONG_TIMEOUT_S, check=False
        )
        assert done.returncode == 0, done.stderr
        return done

    @contextmanager
    def running(self, link_id: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """``link run`` while the block lasts; it is interrupted as by Ctrl-C, and must end cleanly."""
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                self._command("link", "run", link_id, "--target", "new", *arguments),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield process
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(TIMEOUT_S) == 0, self.log
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def scrape(self) -> str:
        """What ``link metrics`` serves of the target's links; it is ended as by Ctrl-C."""
        command = self._command("link", "metrics", "--target", "new", "--port", "0")
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            try:
                assert process.stderr is not None
                said = process.stderr.readline()
                found = re.search(r"http://127\.0\.0\.1:\d+/metrics", said)
                assert found is not None, said
                with urllib.request.urlopen(found[0], timeout=TIMEOUT_S) as answer:
                    text: str = answer.read().decode()
                process.send_signal(signal.SIGINT)
                assert process.wait(TIMEOUT_S) == 0
            finally:
                if process.poll() is None:
                    process.kill()
        return text

    @property
    def log(self) -> str:
        """What the run printed."""
        return self._log.read_text()

    @property
    def batches(self) -> int:
        """How many micro-batches have ended, of which Spark's log has a line each."""
        found = re.search(r"Spark's log is (\S+)", self.log)
        return Path(found[1]).read_text().count('"batch"') if found is not None else 0

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "anabranch", "--contexts", str(self._file), *arguments]


@pytest.mark.real
def test_a_link_runs_on_spark_follows_changes_and_stops_with_ctrl_c(
    old: SandboxCluster, new: SandboxCluster, tmp_path: Path
) -> None:
    """Created, run, grown, paused, resumed and interrupted by the command line; nothing is left running after it."""
    cli = CommandLine(tmp_path, old, new)
    name = fresh("spark")
    first = create(old, name + "-a", 2)
    produce(old, first, numbered(50) + numbered(50, partition=1, timestamp=OLD_MS), batch=9)
    reached = json.loads(cli("context", "test", "-o", "json").stdout)
    assert {(one["context"], one["error"], one["brokers"] > 0) for one in reached} == {
        ("old", "", True),
        ("new", "", True),
    }
    cli("link", "create", "--source", "old", "--target", "new", "--id", name, "--include", name + "-.*", "--execute")
    with link(old, new, "", id=name, create=False) as made:
        with cli.running(name, "--master", "local[2]") as process:
            made.await_(lambda status: len(status.lanes) == 2, seconds=LONG_TIMEOUT_S)
            made.await_position(first, 50)
            made.await_position(first, 50, 1)

            # The lease is a minute long: new topics and partitions come sooner, by the survey.
            second = create(old, name + "-b")
            grow(old, first, 3)
            produce(old, second, numbered(20))
            produce(old, first, numbered(20, partition=2))
            made.await_position(second, 20)
            made.await_position(first, 20, 2)
            assert len({lane.owner for lane in made.status().lanes}) == 2, "two tasks, two workers"

            cli("link", "pause", name, "--target", "new")
            made.await_(lambda status: all(lane.state is LaneState.PAUSED for lane in status.lanes))
            produce(old, second, numbered(5, first=20))
            made.await_(
                lambda status: any(lane.source.topic == second and lane.lag_records == 5 for lane in status.lanes)
            )
            made.await_rounds(second)
            assert newest_offset(new, second) == 20
            cli("link", "resume", name, "--target", "new")
            cli("link", "wait", name, "--target", "new", "--caught-up", "--timeout", f"{TIMEOUT_S:.0f}s")
            assert made.lane(second).position == 25
            assert re.search(rf'anabranch_lane_\w+\{{[^}}]*"{second}"', cli.scrape())
            pid = process.pid
        assert "stopped cleanly" in cli.log
        deadline = time.monotonic() + TIMEOUT_S  # the JVM ends when it sees that nobody talks to it any more
        while left := processes_of(pid):
            assert time.monotonic() < deadline, left
            time.sleep(0.1)
        assert "stopped cleanly: 145 records copied" in cli.log
        check(made, first, second)
        shown = json.loads(cli("link", "show", name, "--target", "new", "-o", "json").stdout)
        assert len(shown["lanes"]) == 4
        cli("link", "delete", name, "--target", "new", "--execute")


@pytest.mark.full
def test_a_query_is_started_again_where_a_python_worker_comes_too_late(
    old: SandboxCluster, new: SandboxCluster, tmp_path: Path
) -> None:
    """Spark gives a worker ten seconds; the first that runs the source for the driver takes longer here."""
    slow = tmp_path / "slow-python"
    slow.write_text(
        f"""#!/bin/sh
case "$*" in *python_streaming_source_runner*) mkdir {tmp_path}/late 2>/dev/null && sleep 20 ;; esac
exec {sys.executable} "$@"
"""
    )
    slow.chmod(0o700)
    topic = create(old, fresh("late"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made:
        spec = tmp_path / "spec.json"
        spec.write_text(job_spec(made.target, made.source, made.id, 2.0))
        conf = {"spark.log.level": "OFF"}
        run = LinkRun(spec, "local[1]", tmp_path / "run.log", conf=conf, environment={"PYSPARK_PYTHON": str(slow)})
        try:
            made.await_position(topic, 10)
            assert run.stop(TIMEOUT_S)
        finally:
            run.end_all()
        assert run.process.returncode == 0
        assert made.assert_copied(topic) == 10
    assert (
        "the query is started again" in run.log.read_text()
    )  # more than once where a busy machine makes the next one late too


def check(made: Link, first: str, second: str) -> None:
    """All of it is there."""
    for partition, count in enumerate((50, 50, 20)):
        assert made.assert_copied(first, partition=partition) == count
    assert made.assert_copied(second) == 25


def processes_of(session: int) -> list[str]:
    """The processes of a session that still run."""
    done = subprocess.run(["ps", "-o", "pid=,args=", "-s", str(session)], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if line.strip() and "<defunct>" not in line]
