"""Exit codes of verbs whose Spark job cannot begin, or whose result cannot be written."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from anabranch.jars.java import java_program
from anabranch.sandbox import SandboxCluster
from qa.runs import Runs
from qa.timeouts import LONG_TIMEOUT_S
from tests.fault.ends.jobs import EQUAL, INTERRUPTED, NO_CLUSTER, NO_HOME, NO_JARS, NO_JAVA, error_of, rebuild, verify

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]

VERBS = {
    "verify start": ("verify", "start", EQUAL, "--target", "new"),
    "verify resume": ("verify", "resume", INTERRUPTED, "--target", "new"),
    "offsets rebuild": rebuild(),
    "link run": ("link", "run", EQUAL, "--target", "new"),
}


@pytest.fixture(scope="module")
def interrupted(pair: tuple[SandboxCluster, SandboxCluster], tmp_path_factory: pytest.TempPathFactory) -> None:
    """A comparison that was killed, and can be resumed."""
    runs = Runs(tmp_path_factory.mktemp("interrupted"), *pair)
    process = runs.start(*verify(INTERRUPTED))
    runs.await_said("Spark starts")
    process.kill()
    process.wait()
    runs.await_nobody()


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("environment", "more", "words"),
    [
        (NO_JAVA, (), "java was not found; Spark needs it"),
        (NO_HOME, (), "java (JAVA_HOME is /nowhere) was not found; Spark needs it"),
        ({}, ("--master", "nowhere"), "'nowhere' is no master"),
        (NO_CLUSTER, ("--master", "yarn"), "Spark could not be started on yarn"),
    ],
    ids=["no java", "no java home", "no master", "no cluster"],
)
def test_what_this_machine_lacks_is_said(
    runs: Runs, verb: str, environment: dict[str, str | None], more: tuple[str, ...], words: str
) -> None:
    """2, a line and what to do; no process stays, and a comparison that could be resumed still can."""
    assert runs.run(*VERBS[verb], *more, environment=environment) == 2, runs.said
    assert words in error_of(runs)
    runs.await_nobody()


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "link run"])
def test_jars_that_cannot_be_found_are_said(runs: Runs, verb: str) -> None:
    """2: those that are brought, and those that were named."""
    java = str(Path(java_program("a test")).resolve().parents[1])
    assert runs.run(*VERBS[verb], environment={**NO_JARS, "JAVA_HOME": java}) == 2, runs.said
    assert "the jars of spark-kafka" in error_of(runs)
    other = runs.directory / "spark-sql-kafka-0-10_2.13-0.0.0.jar"
    ZipFile(other, "w").close()
    for named, words in (
        ("/nowhere/connector.jar", "spark.jars names /nowhere/connector.jar, which is not there"),
        (other, "has no source for Kafka"),
    ):
        runs.log.unlink()
        assert runs.run(*VERBS[verb], "--master", "local[1]", "--conf", f"spark.jars={named}") == 2, runs.said
        assert words in error_of(runs)
    runs.await_nobody()


@pytest.mark.usefixtures("interrupted")
def test_a_master_that_does_not_answer_is_said(pair: tuple[SandboxCluster, SandboxCluster], tmp_path: Path) -> None:
    """2, as soon as Spark gives it up, which takes a minute: all verbs at the same time."""
    started = {}
    for verb, words in VERBS.items():
        directory = tmp_path / verb.replace(" ", "-")
        directory.mkdir()
        runs = Runs(directory, *pair)
        started[verb] = (runs, runs.start(*words, "--master", "spark://127.0.0.1:1"))
    try:
        for verb, (runs, process) in started.items():
            assert (verb, process.wait(LONG_TIMEOUT_S)) == (verb, 2), runs.said
            assert "Spark could not be started on spark://127.0.0.1:1" in error_of(runs)
            runs.await_nobody()
    finally:
        for runs, _ in started.values():
            runs.end_all()


@pytest.mark.parametrize("out", ["file/maps.json", "nowhere/maps.json", "directory"])
def test_a_maps_file_that_cannot_be_written_is_said_first(runs: Runs, out: str) -> None:
    """2, with its name, and before a job is started."""
    (runs.directory / "file").touch()
    (runs.directory / "directory").mkdir()
    assert runs.run(*rebuild(out), environment=NO_JAVA) == 2, runs.said
    assert out in error_of(runs) and "java" not in error_of(runs), "Java is looked for before a job is started"
    runs.await_nobody()


@pytest.mark.parametrize("flag", ["--spec", "--verify-spec"])
def test_a_specification_that_cannot_be_written_is_said_first(runs: Runs, flag: str) -> None:
    """2, with its name: not after an hour of aligning."""
    assert runs.run(*rebuild(), flag, "nowhere/spec.json", environment=NO_JAVA) == 2, runs.said
    assert "nowhere/spec.json" in error_of(runs)
    assert not (runs.directory / "maps.json").exists()


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("verb", ["start", "resume"])
@pytest.mark.parametrize("flag", ["--directory", "--spec"])
def test_a_directory_of_a_comparison_that_cannot_be_written_is_said(runs: Runs, verb: str, flag: str) -> None:
    """2, with its name, and nothing is forgotten of what was compared."""
    (runs.directory / "file").touch()
    anew = ("verify", "start", EQUAL, "--target", "new", "--fresh", "--execute")
    words = verify(INTERRUPTED, verb) if verb == "resume" else anew
    assert runs.run(*words, flag, "file/there") == 2, runs.said
    assert "file/there" in error_of(runs) and not [line for line in runs.said if ": process " in line]
    runs.await_nobody()
