"""Exit codes of ``stream run``, whatever ends its job or the verb, and whenever it does."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.runs import Runs
from qa.timeouts import LONG_TIMEOUT_S
from tests.fault.ends.jobs import JVM_STARTS, NO_HOME, NO_JAVA, Moment, as_in_a_shell, assert_told_of_kill, error_of
from tests.integration.links.topics import create, numbered, produce

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]

JOB = "anabranch.spark.jobs.stream"
RECORDS = 2_000
SCRIPT = """
CREATE TABLE numbers (value BINARY)
USING kafka OPTIONS (cluster 'new', topic 'numbers', format 'raw', max.records.per.batch '10');
CREATE TABLE kept (value BINARY) USING parquet OPTIONS (path '{out}');
INSERT INTO kept SELECT value FROM numbers;
"""
PROGRESS = Moment("the first progress", '"event": "progress"')
MOMENTS = pytest.mark.parametrize("moment", [JVM_STARTS, PROGRESS], ids=lambda moment: moment.name)


@pytest.fixture(scope="module")
def cluster() -> Iterator[SandboxCluster]:
    """A cluster with a topic that a stream is at for minutes, ten records at a time."""
    (new,) = start_clusters([ClusterSpec("new")])
    with new:
        create(new, "numbers")
        produce(new, "numbers", numbered(RECORDS))
        yield new


@pytest.fixture
def runs(tmp_path: Path, cluster: SandboxCluster) -> Iterator[Runs]:
    """The verbs, in a directory of their own."""
    made = Runs(tmp_path, cluster, cluster)
    yield made
    made.end_all()


def stream_run(runs: Runs, *more: str) -> tuple[str, ...]:
    """The verb that runs the script; as each test is in a new directory, from the topic's beginning."""
    file = runs.directory / "numbers.sql"
    file.write_text(SCRIPT.format(out=runs.directory / "out"))
    words = ("stream", "run", str(file), "--checkpoints", str(runs.directory / "checkpoints"), "--log-format", "json")
    return (*words, *(more or ("--master", "local[1]")))


def last_event(runs: Runs) -> tuple[str, str]:
    """What the job told last, and with which outcome; empty where it told nothing."""
    told = [json.loads(line) for line in runs.said if line.startswith("{")]
    return (told[-1]["event"], told[-1].get("outcome", "")) if told else ("", "")


@pytest.mark.parametrize(
    ("environment", "more", "words"),
    [
        (NO_JAVA, (), "java was not found; Spark needs it"),
        (NO_HOME, (), "java (JAVA_HOME is /nowhere) was not found; Spark needs it"),
        ({}, ("--master", "nowhere"), "'nowhere' is no master"),
    ],
    ids=["no java", "no java home", "no master"],
)
def test_what_this_machine_lacks_for_a_stream_is_said(
    runs: Runs, environment: dict[str, str | None], more: tuple[str, ...], words: str
) -> None:
    """2, a line and what to do; no checkpoint is begun and no process stays."""
    assert runs.run(*stream_run(runs, *more), environment=environment) == 2, runs.said
    assert words in error_of(runs)
    assert not (runs.directory / "checkpoints").exists()
    runs.await_nobody()


@MOMENTS
@pytest.mark.parametrize("victim", ["driver", "JVM"])
def test_a_stream_whose_job_is_killed_says_so(runs: Runs, victim: str, moment: Moment) -> None:
    """5, and 2 for a JVM that never listened, with one error; nobody is left."""
    process = runs.start(*stream_run(runs))
    driver = runs.await_process(JOB)
    jvm = runs.await_jvm(driver)
    if moment.says:
        runs.await_said(moment.says)
    (driver if victim == "driver" else jvm).kill()
    code = process.wait(LONG_TIMEOUT_S)
    runs.await_nobody()
    assert_told_of_kill(runs, code, victim, had_started=moment is not JVM_STARTS)


@MOMENTS
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL], ids=lambda one: one.name
)
def test_a_stream_ends_with_its_verb(runs: Runs, number: signal.Signals, moment: Moment) -> None:
    """As any program as Spark starts; 0 as its queries run, but for SIGKILL, of which its job hears by itself."""
    process = runs.start(*stream_run(runs))
    runs.await_jvm(runs.await_process(JOB))
    if moment.says:
        runs.await_said(moment.says)
    process.send_signal(number)
    code = as_in_a_shell(process.wait(LONG_TIMEOUT_S))
    runs.await_nobody()
    is_clean = moment is PROGRESS and number != signal.SIGKILL
    assert code == (0 if is_clean else 128 + number), runs.said
    if is_clean:
        assert last_event(runs) == ("ended", "stopped")
    assert not [line for line in runs.said if line.startswith("error: ") or "Traceback" in line], runs.said
    if (number, moment) == (signal.SIGKILL, PROGRESS):
        (log,) = (runs.directory / "state").rglob("run-*.log")
        assert "Traceback" not in log.read_text(), "it ended in order"
