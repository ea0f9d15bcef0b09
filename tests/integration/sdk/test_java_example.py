"""examples/java-route: a program in Java that knows the HTTP API alone, on real clusters."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from anabranch.jars.cache import Runtime, bring
from anabranch.sandbox import SandboxCluster
from anabranch.sandbox.jars import java_program
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.integration.sdk.fake_service import FakeService, route_json
from tests.integration.sdk.lab import Lab, commit, committed, write

pytestmark = [pytest.mark.test, pytest.mark.real]
EXAMPLE = Path(__file__).parents[3] / "examples" / "java-route"
LATER = 10**15
"""A deadline that does not come."""


@pytest.fixture(scope="module")
def class_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example, compiled with the jars that Maven brings by its own pom, as it brings those of all JVM parts."""
    jars = bring(Runtime("java-route", (EXAMPLE / "pom.xml").read_bytes()))
    classes, sources = tmp_path_factory.mktemp("classes"), sorted(EXAMPLE.glob("src/main/java/**/*.java"))
    javac = Path(java_program()).with_name("javac") if os.environ.get("JAVA_HOME") else "javac"
    command = [str(javac), "--release", "17", "-Xlint:all", "-Werror", "-cp", f"{jars}/*", "-d", str(classes)]
    done = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return f"{classes}:{jars}/*"


@dataclass(frozen=True)
class Line:
    """A record as the program prints it."""

    cluster: str
    place: str
    offset: int
    value: str


class Program:
    """The program as it runs."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, error: Path) -> None:
        self._process, self._out, self._error = process, out, error

    def lines(self, number: int = 0) -> list[Line]:
        """Those that it has printed, once there are so many, in order of their places."""
        until(lambda: self._process.poll() is not None or self._out.read_text().count("\n") >= number)
        text = self._out.read_text()
        assert text.count("\n") >= number, self._error.read_text()
        cut = [line.split("\t") for line in text.splitlines()]
        return sorted(
            (Line(one[0], one[1], int(one[2]), one[3]) for one in cut), key=lambda one: (one.place, one.offset)
        )

    def end(self) -> None:
        """SIGTERM."""
        self._process.terminate()
        self._process.wait(TIMEOUT_S)


@contextmanager
def running(class_path: str, directory: Path, group: str, topic: str) -> Iterator[Program]:
    """Started with the service and the token of the environment."""
    quick = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
    command = [java_program(), *quick, "-cp", class_path, "example.Main", "orders", group, topic]
    out, error = directory / "records", directory / "messages"
    with out.open("wb") as told, error.open("wb") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=told, stderr=said)
    try:
        yield Program(process, out, error)
    finally:
        process.kill()
        process.wait()


def fill(cluster: SandboxCluster, topic: str, partition: int, values: list[str]) -> None:
    """Write to one partition."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for value in values:
        producer.produce(topic, value, partition=partition)
    write(producer, topic, [])


def on(lines: list[Line], cluster: str) -> list[tuple[str, int]]:
    """Where the records are that were read from one cluster."""
    return [(one.place, one.offset) for one in lines if one.cluster == cluster]


def test_it_reads_where_it_is_led_and_follows_a_change(lab: Lab, class_path: str, tmp_path: Path) -> None:
    """By the real service: it is on the list with what it reports, and off the list once it has ended."""
    topic = lab.topic()
    for partition in (0, 1):
        fill(lab.old, topic, partition, list("abcde"))
        fill(lab.new, topic, partition, list("abcdef"))
    commit(lab.new, lab.group, [(topic, 0, 5), (topic, 1, 4)])
    with running(class_path, tmp_path, lab.group, topic) as program:
        assert on(program.lines(10), "old") == [(f"{topic}-{part}", at) for part in (0, 1) for at in range(5)]
        until(lambda: [one["report"]["records"] for one in lab.service.clients(cluster="old")] == [10])
        (seen,) = lab.service.clients()
        assert (seen["facts"]["application"], seen["query"]["group"]) == ("java-route", lab.group)
        assert (seen["report"]["positions"], seen["report"]["lag"]) == ({f"{topic}-0": 5, f"{topic}-1": 5}, 0)
        lab.lead("new")
        assert on(program.lines(13), "new") == [(f"{topic}-0", 5), (f"{topic}-1", 4), (f"{topic}-1", 5)]
        assert committed(lab.old, lab.group, topic) == [5, 5]
        until(lambda: committed(lab.new, lab.group, topic) == [6, 6])
        program.end()
        assert lab.service.clients() == []
        assert len(program.lines()) == 13


class Stage(FakeService):
    """A service that says what it is told to."""

    def prepare(self, switch: str) -> Any:
        """Ask the client to pause; what it answers."""
        until(lambda: self.watching == 1)
        self.tell("prepare", {"switch": switch, "deadline_ms": LATER})
        return self.ready(switch)

    def ready(self, switch: str) -> Any:
        """The positions at which it has paused."""

        def found() -> list[Any]:
            return [one["positions"] for one in self.bodies("POST", "/ready") if one["switch"] == switch]

        until(lambda: len(found()) == 1)
        return found()[0]


def led(cluster: SandboxCluster, topic: str, version: int) -> Any:
    """A route that leads there."""
    return route_json(cluster.spec.name, version, {topic: topic}, bootstrap=[cluster.bootstrap])


@pytest.fixture
def stage(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """In the place of the real service."""
    with Stage() as service:
        monkeypatch.setenv("ANABRANCH_SERVICE", service.url)
        yield service


def test_a_switch_moves_it_to_exactly_the_next_record(lab: Lab, stage: Stage, class_path: str, tmp_path: Path) -> None:
    """Paused, committed and told; one that is given up leaves it where it was, and one that is made moves it."""
    topic, group = lab.topic(), lab.group
    stage.route = led(lab.old, topic, 1)
    fill(lab.old, topic, 0, list("abcd"))
    fill(lab.old, topic, 1, list("ab"))
    fill(lab.new, topic, 0, list("0123456789"))
    fill(lab.new, topic, 1, list("012"))
    with running(class_path, tmp_path, group, topic) as program:
        program.lines(6)
        assert stage.prepare("first") == {f"{topic}-0": 4, f"{topic}-1": 2}
        assert committed(lab.old, group, topic) == [4, 2]
        fill(lab.old, topic, 0, ["e"])
        stage.tell("cancel", {"switch": "first", "why": "a test"})
        assert on(program.lines(7), "old")[4] == (f"{topic}-0", 4)
        assert stage.prepare("second") == {f"{topic}-0": 5, f"{topic}-1": 2}
        fill(lab.old, topic, 0, ["written behind the switch"])
        commit(lab.new, group, [(topic, 1, 1)])
        stage.route = led(lab.new, topic, 2)
        starts = {f"{topic}-0": 7, f"{topic}-1": 0}
        stage.tell("go", {"switch": "second", "route": stage.route, "starts": starts})
        lines = program.lines(12)
        assert on(lines, "new") == [(f"{topic}-0", at) for at in (7, 8, 9)] + [(f"{topic}-1", at) for at in (1, 2)]
        assert len(on(lines, "old")) == 7 and committed(lab.old, group, topic) == [5, 2]
        until(lambda: committed(lab.new, group, topic) == [10, 3])
        program.end()
    assert stage.bodies("DELETE") == [None]


@pytest.mark.full
def test_it_connects_nowhere_while_a_switch_holds_it_and_comes_back_to_a_service_that_was_away(
    lab: Lab, stage: Stage, class_path: str, tmp_path: Path
) -> None:
    """The end of a switch that it did not hear is in the answer to its next registration."""
    topic, group = lab.topic(), lab.group
    stage.route, stage.hold = led(lab.old, topic, 1), "begun"
    fill(lab.old, topic, 0, ["a"])
    fill(lab.new, topic, 0, ["b"])
    with running(class_path, tmp_path, group, topic) as program:
        assert stage.ready("begun") == {}
        port = stage.port
        stage.stop()
        stage.route, stage.hold = led(lab.new, topic, 2), None
        stage.start(port)
        assert on(program.lines(1), "new") == [(f"{topic}-0", 0)]
        until(lambda: any(one["records"] == 1 and one["version"] == 2 for one in stage.bodies("POST", "/report")))
        program.end()
        assert on(program.lines(), "old") == []
