"""Exit codes of the verbs that only look at a script, and of ``run`` as it looks: whatever ends them, and whenever."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import psutil
import pytest

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.spark.scratch import PREFIX
from qa.faults.processes import PACKAGE_ROOT
from qa.runs import Runs
from qa.timeouts import LONG_TIMEOUT_S
from tests.fault.ends.jobs import NO_HOME, NO_JAVA, as_in_a_shell, assert_told_of_kill, error_of
from tests.integration.links.topics import create, numbered, produce

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]

JOB = "anabranch.spark.jobs.stream"
SCRIPT = """
CREATE TABLE numbers (value BINARY) USING kafka OPTIONS (cluster '{cluster}', topic 'numbers', format 'raw');
CREATE TABLE kept (value BINARY) USING parquet OPTIONS (path '{out}');
INSERT INTO kept SELECT value FROM numbers;
"""
HELD = f"""
import sys
if "{JOB}" in sys.orig_argv:
    import pathlib, signal, time
    import {{module}} as module
    goes_on = module.{{name}}
    def held(*arguments, **named):
        asked, hears = [], signal.getsignal(signal.SIGTERM)
        signal.signal(signal.SIGTERM, lambda *heard: (asked.append(heard), hears(*heard)))
        pathlib.Path("{{directory}}/held").touch()
        while not asked and not pathlib.Path("{{directory}}/goes-on").exists():
            time.sleep(0.02)
        return goes_on(*arguments, **named)
    module.{{name}} = held
"""
"""What Python imports first in a stream's driver: as it calls a function it waits to be asked to end, or let go."""


@dataclass(frozen=True, slots=True)
class Moment:
    """As the JVM starts; as the driver is about to call a function; or as the verb has printed something."""

    name: str
    module: str = ""
    function: str = ""
    says: str = ""


JVM_STARTS = Moment("the JVM starts")
LOOKS = Moment("it looks at the script", "anabranch.spark.streams.analysis", "rows_of")
TRIES = Moment("it tries a query", "anabranch.spark.streams.trial", "refusal")
SHOWS = Moment("it has shown rows", says="7265636f7264203939")
MOMENTS = {
    "validate": (JVM_STARTS, LOOKS),
    "preview": (JVM_STARTS, LOOKS, SHOWS),
    "try": (JVM_STARTS, LOOKS, TRIES),
    "run": (LOOKS,),
}
CASES = [
    pytest.param(verb, moment, id=f"{verb}-{moment.name}") for verb, moments in MOMENTS.items() for moment in moments
]


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """One whose broker is away, and one with a few records."""
    old, new = start_clusters([ClusterSpec("old"), ClusterSpec("new")])
    with old, new:
        create(new, "numbers")
        produce(new, "numbers", numbered(100))
        for broker in old.brokers:
            broker.kill()
        yield old, new


@pytest.fixture
def runs(tmp_path: Path, pair: tuple[SandboxCluster, SandboxCluster]) -> Iterator[Runs]:
    """The verbs, in a directory of their own."""
    made = Runs(tmp_path, *pair)
    (tmp_path / "temporary").mkdir()
    yield made
    made.end_all()


def words_of(runs: Runs, verb: str, cluster: str = "new") -> tuple[str, ...]:
    """A verb on the script; a preview waits for more rows than there are."""
    file, places = runs.directory / "numbers.sql", ("--checkpoints", str(runs.directory / "checkpoints"))
    file.write_text(SCRIPT.format(out=runs.directory / "out", cluster=cluster))
    more = {
        "validate": (),
        "preview": ("--from", "earliest", "--rows", "1000", "--seconds", "1200"),
        "try": places,
        "run": places,
    }
    return ("stream", verb, str(file), *more[verb], "--master", "local[1]")


def environment_of(runs: Runs, moment: Moment = JVM_STARTS) -> Mapping[str, str | None]:
    """Temporary files have a place of their own, and the driver is held at the moment."""
    held = HELD.format(module=moment.module, name=moment.function, directory=runs.directory)
    (runs.directory / "sitecustomize.py").write_text(held if moment.module else "")
    path = f"{runs.directory}{os.pathsep}{PACKAGE_ROOT}"
    return {"TMPDIR": str(runs.directory / "temporary"), "PYTHONPATH": path}


def begun(runs: Runs, verb: str, moment: Moment) -> tuple[subprocess.Popen[bytes], psutil.Process, psutil.Process]:
    """(verb, driver, JVM) at a moment."""
    words = words_of(runs, verb)
    if moment is TRIES:  # of a script that has run, and was changed since
        environment = environment_of(runs)
        assert runs.run(*words_of(runs, "run"), "--trigger", "availableNow", environment=environment) == 0, runs.said
        script = runs.directory / "numbers.sql"
        script.write_text(script.read_text().replace("FROM numbers", "FROM numbers WHERE value IS NOT NULL"))
        runs.log.unlink()
    process = runs.start(*words, environment=environment_of(runs, moment))
    driver = runs.await_process(JOB)
    jvm = runs.await_jvm(driver)
    if moment.says:
        runs.await_said(moment.says)
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while moment.module and not (runs.directory / "held").exists():
        assert process.poll() is None and time.monotonic() < deadline, runs.said
        time.sleep(0.02)
    return process, driver, jvm


def let_go(runs: Runs) -> None:
    """Let a driver that is held go on."""
    (runs.directory / "goes-on").touch()


def scratch(runs: Runs) -> list[str]:
    """Directories that a driver has left among the temporary files."""
    return [path.name for path in (runs.directory / "temporary").glob(f"{PREFIX}*")]


def checkpoints(runs: Runs) -> dict[str, bytes]:
    """What there is of checkpoints, and of rows that were written."""
    places = [path for name in ("checkpoints", "out") for path in (runs.directory / name).rglob("*")]
    return {str(path): path.read_bytes() for path in places if path.is_file()}


# -- what cannot begin ---------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", MOMENTS)
@pytest.mark.parametrize(
    ("environment", "more", "words"),
    [
        (NO_JAVA, (), "java was not found; Spark needs it"),
        (NO_HOME, (), "java (JAVA_HOME is /nowhere) was not found; Spark needs it"),
        ({}, ("--master", "nowhere"), "'nowhere' is no master"),
        ({}, ("--conf", "spark.jars=/nowhere/a.jar"), "spark.jars names /nowhere/a.jar, which is not there"),
    ],
    ids=["no java", "no java home", "no master", "no jar"],
)
def test_what_this_machine_lacks_is_said(
    runs: Runs, verb: str, environment: dict[str, str | None], more: tuple[str, ...], words: str
) -> None:
    """2, a line and what to do; nothing is begun and no process stays."""
    assert runs.run(*words_of(runs, verb), *more, environment=environment) == 2, runs.said
    assert words in error_of(runs)
    assert not checkpoints(runs)
    runs.await_nobody()


@pytest.mark.parametrize("verb", MOMENTS)
def test_a_jar_that_is_none_of_kafka_is_said(runs: Runs, verb: str) -> None:
    """2: it has the name of Spark's Kafka source, and nothing of it."""
    jar = runs.directory / "spark-sql-kafka-0-10_2.13-0.0.0.jar"
    ZipFile(jar, "w").close()
    assert runs.run(*words_of(runs, verb), "--conf", f"spark.jars={jar}") == 2, runs.said
    assert "this Spark has no source for Kafka" in error_of(runs)
    assert not checkpoints(runs)
    runs.await_nobody()


@pytest.mark.parametrize(("verb", "code"), [("validate", 0), ("preview", 4), ("try", 4), ("run", 4)])
def test_a_cluster_that_is_away_is_said(runs: Runs, verb: str, code: int) -> None:
    """4 with its name, before anything is begun; a validation asks none."""
    assert runs.run(*words_of(runs, verb, "old"), environment=environment_of(runs)) == code, runs.said
    if code:
        assert "old" in error_of(runs)
    assert not checkpoints(runs) and not scratch(runs)
    runs.await_nobody()


# -- the job is killed ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("verb", "moment"), CASES)
@pytest.mark.parametrize("victim", ["driver", "JVM"])
def test_a_job_that_is_killed_says_so(runs: Runs, verb: str, moment: Moment, victim: str) -> None:
    """5, and 2 for a JVM that never listened, with one error that blames no script; nobody and nothing is left."""
    process, driver, jvm = begun(runs, verb, moment)
    before = checkpoints(runs)
    (driver if victim == "driver" else jvm).kill()
    let_go(runs)
    code = process.wait(LONG_TIMEOUT_S)
    runs.await_nobody()
    assert_told_of_kill(runs, code, victim, had_started=moment is not JVM_STARTS)
    assert checkpoints(runs) == before
    assert victim == "driver" or not scratch(runs)


# -- the verb is ended ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("verb", "moment"), CASES)
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL], ids=lambda one: one.name
)
def test_a_look_ends_with_its_verb(runs: Runs, number: signal.Signals, verb: str, moment: Moment) -> None:
    """As any program before its answer; 0 for a preview that has shown rows; nobody and nothing is left."""
    process, _, _ = begun(runs, verb, moment)
    before = checkpoints(runs)
    process.send_signal(number)
    code = as_in_a_shell(process.wait(LONG_TIMEOUT_S))
    runs.await_nobody()
    is_clean = moment is SHOWS and number != signal.SIGKILL
    assert code == (0 if is_clean else 128 + number), runs.said
    assert not [line for line in runs.said if line.startswith("error: ") or "Traceback" in line], runs.said
    assert checkpoints(runs) == before
    assert not scratch(runs)
