"""What is missing for Spark is told before anything is started."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.errors import AnabranchError, InvalidFieldError
from anabranch.jars.errors import MissingProgramError
from anabranch.model.cluster import ClusterContext
from anabranch.operations.jobs import launcher, sparkready
from anabranch.operations.jobs.readerjob import ReaderJob
from anabranch.operations.jobs.sparkready import check
from anabranch.operations.jobs.submission import Submission
from anabranch.operations.offsets import rebuild
from anabranch.operations.verify import start as verify

pytestmark = pytest.mark.unit

SPEC = cast(Any, SimpleNamespace(link="l", run="verify-1", to_json=lambda: "{}"))
OLD, NEW = ClusterContext("old", ("o:1",)), ClusterContext("new", ("n:1",))


def job(place: Path, master: str) -> ReaderJob:
    """A job that reads both."""
    return ReaderJob(OLD, NEW, master, place)


def start_rebuild(made: ReaderJob) -> object:
    """Have maps made."""
    return rebuild.start(SPEC, made.directory / "maps.json", made, made.arguments())


def start_verify(made: ReaderJob) -> object:
    """Have both sides compared."""
    return verify.launch(SPEC, made, made.arguments())


STARTS: dict[str, Callable[[Path, str], object]] = {
    "link run": lambda place, master: launcher.start_link(NEW, OLD, "l", Submission(master), 60, place),
    "offsets rebuild": lambda place, master: start_rebuild(job(place, master)),
    "verify start": lambda place, master: start_verify(job(place, master)),
}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that are started; nothing is."""
    commands: list[list[str]] = []

    def popen(command: list[str], **_: object) -> None:
        commands.append(command)

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(sparkready, "with_connector", lambda settings: {**settings, "spark.jars": "kafka.jar"})
    return commands


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_without_java_nothing_is_started(
    start: Callable[[Path, str], object], started: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One refusal with its exit code, and no file with a specification is left."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingProgramError) as raised:
        start(tmp_path, "local[1]")
    assert raised.value.exit_code == 2
    assert (started, list(tmp_path.iterdir())) == ([], [])


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_a_name_that_is_no_master_is_refused(
    start: Callable[[Path, str], object], started: list[list[str]], tmp_path: Path
) -> None:
    """As a wrong flag is."""
    with pytest.raises(AnabranchError, match="--master: 'lokal' is no master"):
        start(tmp_path, "lokal")
    assert started == []


@pytest.mark.parametrize("verb", ["offsets rebuild", "verify start"])
def test_readers_are_given_the_connector_as_files(verb: str, started: list[list[str]], tmp_path: Path) -> None:
    """Spark's own way to bring packages knows no mirror of Maven."""
    STARTS[verb](tmp_path, "local[1]")
    (command,) = started
    assert command[-3:] == ["--conf", "spark.jars=kafka.jar", "--tied"]
    assert not any("packages" in word for word in command)


MASTERS = (
    "local",
    "local[4]",
    "local[*,8]",
    "local-cluster[2,1,1024]",
    "yarn",
    "spark://a:1,b:2",
    "k8s://https://c:6443",
)


@pytest.mark.parametrize("master", MASTERS)
def test_what_spark_takes_is_taken(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every form of a master's name."""
    monkeypatch.setattr(sparkready, "check_java_of_spark", lambda: None)
    check(master)


@pytest.mark.parametrize("master", ["", "local[x]", "host:7077", "spark:host", "Yarn", "local[1"])
def test_what_spark_does_not_take_is_refused(master: str) -> None:
    """Before a JVM says so with a stack."""
    with pytest.raises(InvalidFieldError):
        check(master)
