"""Verbs that start a Spark job: it ends with them, whatever ends them, and imports nothing of the user's directory."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.sandbox import SandboxCluster
from qa.faults.standalone import StandaloneSpark
from qa.runs import Runs
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.links.lab import link
from tests.integration.links.topics import create, fresh, numbered, produce

pytestmark = pytest.mark.test

EVENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ  \S+: ")
"""How a line of ``link run`` begins."""


@pytest.fixture
def runs(tmp_path: Path, old: SandboxCluster, new: SandboxCluster) -> Iterator[Runs]:
    """The verbs, in a directory of their own."""
    made = Runs(tmp_path, old, new)
    yield made
    made.end_all()


def test_a_link_whose_command_is_killed_ends_and_no_file_of_the_users_is_imported(
    old: SandboxCluster, new: SandboxCluster, runs: Runs
) -> None:
    """SIGKILL tells nobody anything: its Spark job would copy on, and running the link again would make two."""
    for name in ("grp", "json", "random"):
        (runs.directory / f"{name}.py").write_text("raise SystemExit('a file of the user was imported')\n")
    topic = create(old, fresh("killed"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made:
        process = runs.start("link", "run", made.id, "--target", "new", "--master", "local[1]")
        runs.await_said("caught up: 1 lane follows the source's end")
        process.kill()
        process.wait()
        runs.await_nobody()
        made.await_(lambda status: not status.running)
        assert made.assert_copied(topic) == 10
    assert [line for line in runs.said if not EVENT.match(line)] == [], "Spark's own words are in its log"


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, signal.SIGHUP, pytest.param(signal.SIGINT, marks=pytest.mark.full)],
    ids=lambda number: number.name,
)
def test_a_link_ends_cleanly_by_any_signal_and_tells_its_life_as_json(
    old: SandboxCluster, new: SandboxCluster, runs: Runs, number: signal.Signals
) -> None:
    """0, whether systemd ends it, a terminal is closed or Ctrl-C is pressed; all lanes are released.

    Standard error has one object for each event, and nothing of Spark's.
    """
    topic = create(old, fresh("ended"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made:
        arguments = ("--target", "new", "--master", "local[1]", "--log-format", "json")
        process = runs.start("link", "run", made.id, *arguments)
        runs.await_said("caught_up")
        process.send_signal(number)
        assert process.wait(LONG_TIMEOUT_S) == 0
        runs.await_nobody()
        made.await_(lambda status: not status.running)
    events = [json.loads(line) for line in runs.said]
    kinds = [event["event"] for event in events]
    assert kinds == ["starting", "started", "taken_over", "caught_up", "stopping", "stopped"]
    assert events[-1]["records"] == 10
    assert Path(events[0]["spark_log"]).parent == runs.directory / "state" / "anabranch" / "link" / made.id
    assert '"records": 10' in Path(events[0]["spark_log"]).read_text()


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *(pytest.param(one, marks=pytest.mark.full) for one in (signal.SIGINT, signal.SIGHUP))]
)
def test_a_link_that_is_ended_as_spark_starts_exits_as_any_program(
    old: SandboxCluster, new: SandboxCluster, runs: Runs, number: signal.Signals
) -> None:
    """130, 143 and 129, and no process is left."""
    topic = create(old, fresh("early"))
    with link(old, new, topic) as made:
        process = runs.start("link", "run", made.id, "--target", "new", "--master", "local[1]")
        runs.await_said("starts on local[1]")
        process.send_signal(number)
        assert process.wait(LONG_TIMEOUT_S) == 128 + number
        runs.await_nobody()


def test_a_detached_link_is_stopped_from_anywhere(old: SandboxCluster, new: SandboxCluster, runs: Runs) -> None:
    """It outlives its command; `link stop` says when it has ended, and does nothing the second time."""
    topic = create(old, fresh("detached"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made:
        assert (
            runs.start("link", "run", made.id, "--target", "new", "--master", "local[1]", "-d").wait(LONG_TIMEOUT_S)
            == 0
        )
        made.await_position(topic, 10)
        assert made.status().running
        assert runs.start("link", "stop", made.id, "--target", "new").wait(LONG_TIMEOUT_S) == 0
        assert "has ended; go on with: anabranch link run" in runs.said[-1]
        runs.await_nobody()
        assert runs.start("link", "stop", made.id, "--target", "new").wait(LONG_TIMEOUT_S) == 0
        assert runs.said[-1] == f"link {made.id} does not run"
        assert made.assert_copied(topic) == 10
    (log,) = (runs.directory / "state").rglob("run-*.log")
    assert "stopping (anabranch link stop)" in log.read_text() and "stopped cleanly: 10 records" in log.read_text()


@pytest.mark.full
def test_a_link_on_a_remote_master_ends_with_its_command_too(
    old: SandboxCluster, new: SandboxCluster, runs: Runs
) -> None:
    """Its executors with it; and nothing that Spark's driver says there reaches the terminal."""
    topic = create(old, fresh("remote"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made, StandaloneSpark(runs.directory) as spark:
        process = runs.start("link", "run", made.id, "--target", "new", "--master", spark.url)
        runs.await_said("caught up: 1 lane follows the source's end")
        executors = spark.executors
        assert executors
        process.kill()
        process.wait()
        runs.await_nobody()
        assert spark.gone_after(executors, LONG_TIMEOUT_S) is not None
        assert made.assert_copied(topic) == 10
    assert [line for line in runs.said if not EVENT.match(line)] == []


@pytest.mark.real
def test_a_comparison_whose_command_is_killed_ends_and_can_be_resumed(
    old: SandboxCluster, new: SandboxCluster, runs: Runs
) -> None:
    """It says so on the target: nobody has to wait until it counts as silent."""
    topic = create(old, fresh("compared"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made:
        with made.running():
            made.await_position(topic, 10)
        words = (made.id, "--target", "new", "--master", "local[1]")
        process = runs.start("verify", "start", *words)
        runs.await_said("log, report and page are in")
        runs.await_told(made.id, '"running"')
        process.kill()
        process.wait()
        runs.await_nobody()
        runs.await_told(made.id, "the command that started it is gone")
        assert runs.start("verify", "resume", *words).wait(LONG_TIMEOUT_S) == 0
        runs.await_nobody()


@pytest.mark.full
def test_a_rebuilding_whose_command_is_killed_ends(old: SandboxCluster, new: SandboxCluster, runs: Runs) -> None:
    """At once, and not with its next step."""
    topic = create(old, fresh("rebuilt"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made:
        with made.running():
            made.await_position(topic, 10)
        words = ("--source", "old", "--target", "new", "--topic", f"{topic}={topic}", "--out", "maps.json")
        process = runs.start("offsets", "rebuild", *words, "--master", "local[1]")
        runs.await_process("anabranch.spark.jobs.rebuild")
        process.kill()
        process.wait()
        runs.await_nobody()
        assert not (runs.directory / "maps.json").exists()
