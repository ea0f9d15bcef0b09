"""An application that is killed again and again while it is moved to and fro: nothing acknowledged is lost."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from anabranch.sandbox import SandboxCluster
from anabranch.sdk import Consumer
from qa.service import until
from tests.chance import seed
from tests.integration.sdk.lab import stored
from tests.integration.sdk.scene import Scene

pytestmark = [pytest.mark.test, pytest.mark.real]
MOMENTS = ("never", "before", "pausing", "paused", "after")


@dataclass
class Application:
    """The process, and what its lives have left in their file."""

    scene: Scene
    directory: Path
    topic: str
    lives: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What was told."""
        return self.directory / "log"

    def start(self) -> None:
        """Another life."""
        self.lives += 1
        config = {"config": self.scene.configured(), "topic": self.topic, "group": self.scene.group}
        file = self.directory / "config.json"
        file.write_text(json.dumps({**config, "life": self.lives, "log": str(self.log)}))
        self.process = subprocess.Popen([sys.executable, "-m", "tests.integration.sdk.application", str(file)])

    def kill(self) -> None:
        """SIGKILL; the service finds out, and another life begins."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.scene.service.forget()
        self.start()

    def end(self) -> None:
        """SIGTERM."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait()

    def lines(self, word: str) -> list[str]:
        """What it has told so."""
        told = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.partition(" ")[2] for line in told if line.startswith(f"{word} ")]

    def works(self) -> None:
        """Wait until this life has had some records acknowledged and has read some."""
        acknowledged, seen = len(self.lines("acknowledged")), len(self.lines("read"))
        until(lambda: len(self.lines("acknowledged")) > acknowledged + 60 and len(self.lines("read")) > seen + 30)


@dataclass
class Walk:
    """Switches between two clusters; ``stages`` are the cluster of each, and its ends as it was left."""

    scene: Scene
    app: Application
    chance: random.Random
    at: SandboxCluster
    version: int = 1
    stages: list[tuple[SandboxCluster, list[int]]] = field(default_factory=list)

    def step(self, number: int) -> None:
        """Prepare a switch, and end it one way or the other; somewhere the application may be killed."""
        service, moment, goes = self.scene.service, self.chance.choice(MOMENTS), self.chance.random() < 0.6
        print(f"step {number}: killed {moment}, {'go' if goes else 'cancel'} on {self.at.spec.name}")
        if moment == "before":
            self.app.kill()
        switch = f"s{number}"
        until(lambda: service.watching == 2)
        service.prepare(switch)
        if moment == "pausing":
            self.app.kill()
        until(service.is_settled)
        if moment == "paused":
            self.app.kill()
            until(service.is_settled)
        if goes:
            self.leave()
            self.version += 1
            self.at = self.scene.new if self.at is self.scene.old else self.scene.old
            service.go(switch, self.scene.route(self.at, self.version))
        else:
            service.cancel(switch)
        if moment == "after":
            self.app.kill()
        self.app.works()

    def leave(self) -> None:
        """Note where the cluster's partitions end, at which nothing is written any more."""
        self.stages.append((self.at, [len(part) for part in stored(self.at, self.app.topic)]))

    def written(self) -> Iterator[list[str]]:
        """What each partition has, stage by stage."""
        begins: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        records = {one.spec.name: stored(one, self.app.topic) for one in (self.scene.old, self.scene.new)}
        for cluster, ends in self.stages:
            name = cluster.spec.name
            yield from (part[begin:end] for part, begin, end in zip(records[name], begins[name], ends, strict=True))
            begins[name] = ends
        for name, parts in records.items():
            assert [len(part) for part in parts] == begins[name], f"{name} was written to when it was left"


def order(value: str) -> tuple[int, int]:
    """Of which life a record is, and which of it."""
    _, life, number = value.split(":")
    return int(life), int(number)


def rest(scene: Scene, cluster: SandboxCluster, version: int, topic: str, missing: set[str]) -> list[str]:
    """What the group has still to read on a cluster."""
    scene.service.lead(scene.route(cluster, version))
    found: list[str] = []
    left = set(missing)
    with Consumer(scene.reading(session_timeout_ms=6000)) as consumer:
        consumer.subscribe([topic])

        def took() -> bool:
            values = [one.value().decode() for one in consumer.consume(500, 0.2) if one.error() is None]
            found.extend(values)
            left.difference_update(values)
            return not left

        until(took)
    return found


def walk(scene: Scene, directory: Path, number: int, steps: int) -> None:
    """So many steps by a seed, and what must hold then."""
    app = Application(scene, directory, scene.topic())
    way = Walk(scene, app, random.Random(number), scene.old)
    app.start()
    try:
        app.works()
        for step in range(steps):
            way.step(step)
    finally:
        app.end()
    way.leave()
    written = list(way.written())
    everything = [value for part in written for value in part]
    assert not app.lines("refused")
    assert set(app.lines("acknowledged")) <= set(everything), "what was acknowledged is there"
    assert max(Counter(everything).values()) == 1, "and once"
    for key in "abc":
        of_key = [order(value) for value in everything if value.startswith(key)]
        assert of_key == sorted(of_key), f"{key}: in its order across all switches"
    read = app.lines("read")
    where: dict[str, str] = {}
    late: list[str] = []
    for cluster in (scene.old, scene.new):
        where |= {value: cluster.spec.name for part in stored(cluster, app.topic) for value in part}
        missing = {value for value, name in where.items() if name == cluster.spec.name and value not in read}
        way.version += 1
        late += rest(scene, cluster, way.version, app.topic, missing)
    assert {*read, *late} == set(everything)
    done: defaultdict[tuple[str, str], tuple[int, int]] = defaultdict(lambda: (0, -1))
    for line in [*app.log.read_text().splitlines(), *(f"read {value}" for value in late)]:
        word, _, value = line.partition(" ")
        if word in ("read", "committed"):
            place = where[value], value[0]
            if word == "committed":
                done[place] = order(value)  # and with it all before it of its key there
            assert word != "read" or order(value) > done[place], f"{value} was read again after it was committed"


def test_an_application_that_is_killed_as_it_is_moved_loses_nothing(scene: Scene, tmp_path: Path) -> None:
    """And reads nothing again that it had committed."""
    walk(scene, tmp_path, seed(12), 4)


@pytest.mark.full
@pytest.mark.parametrize("number", range(5))
def test_an_application_that_is_killed_again_and_again_loses_nothing(scene: Scene, tmp_path: Path, number: int) -> None:
    """The same for longer."""
    walk(scene, tmp_path, seed(100 + number), 12)
