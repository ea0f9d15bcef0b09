"""A stream that moves between launchers by their names: its state, its position and its rows go along, once each.

The executors of a standalone cluster and of YARN have nothing but Python; what they need is sent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anabranch.operations.jobs import environment
from anabranch.sandbox import SandboxCluster
from qa.stream_lab import StandInService, stand_ins
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.links.topics import create, ends, fresh
from tests.integration.spark.standalone import SPARK_HOME, standalone
from tests.integration.spark.yarn import yarn
from tests.integration.streams.lab import consumed, produce_json

pytestmark = pytest.mark.full
CODE = "def shout(name: str) -> str:\n    return name.upper() + '!'\n"
SCRIPT = """
CREATE TEMPORARY FUNCTION shout AS 'text.shout' USING FILE 'artifact:text';
CREATE TABLE clicks (page STRING) USING kafka OPTIONS (cluster 'here', topic '{source}');
CREATE TABLE views (page STRING, times BIGINT) USING console;
CREATE TABLE loud (value STRING) USING kafka OPTIONS (cluster 'here', topic '{loud}');
INSERT INTO views SELECT page, count(*) FROM STREAM clicks GROUP BY page;
INSERT INTO loud SELECT shout(page) FROM STREAM clicks;
"""
SMALL = {
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
}


@dataclass
class LauncherLab:
    """A service with launchers, a stream's topics, and the commands that a person types."""

    service: StandInService
    cluster: SandboxCluster
    directory: Path
    source: str
    loud: str

    def typed(self, *words: str) -> str:
        """Run `anabranch ...`; returns what it printed."""
        address = f"http://127.0.0.1:{self.service.port}"
        done = subprocess.run(
            [sys.executable, "-m", "anabranch", *words],
            env={**os.environ, "ANABRANCH_SERVICE": address, "ANABRANCH_TOKEN": self.service.token},
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=LONG_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{done.stderr}\n{self.logs()}"
        return done.stdout

    def logs(self) -> str:
        """The ends of all logs of jobs."""
        files = sorted((self.service.directory / "jobs").rglob("run-*.log"))
        return "\n".join(f"== {file}\n{file.read_text(errors='replace')[-5000:]}" for file in files)

    def save(self, *more: str) -> None:
        """Keep the script as a new stream."""
        (self.directory / "text.py").write_text(CODE, encoding="utf-8")
        script = SCRIPT.format(source=self.source, loud=self.loud)
        (self.directory / "clicks.sql").write_text(script, encoding="utf-8")
        self.typed("artifact", "upload", "text", "text.py")
        self.typed("stream", "create", "clicks", "clicks.sql", *more)

    def move(self, launcher: str) -> None:
        """Have the next start run elsewhere, by its name."""
        self.typed("stream", "edit", "clicks", "--launcher", launcher)
        newest = self.service.stream("clicks")["versions"][0]["number"]
        self.typed("stream", "publish", "clicks", str(newest))

    def run(self, rows: int, counted: int) -> Mapping[str, Any]:
        """Start it, have it count so many rows of a page more, and stop it; returns its run."""
        self.service.done("start", stream="clicks")
        produce_json(self.cluster, self.source, [{"page": "home"}] * rows)
        try:
            _wait(lambda: self._counts()[-1:] == [["home", counted]])
            _wait(lambda: ends(self.cluster, self.loud)[1] > counted)
            told = consumed(self.cluster, self.loud, counted)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._counts()}\n{self.logs()}") from error
        assert [value for _, value in told] == [b"HOME!"] * counted
        self.service.done("stop", stream="clicks")
        _wait(lambda: self.service.is_in("clicks", "stopped"))
        run: Mapping[str, Any] = self.service.stream("clicks")["runs"][0]
        assert run["exit_code"] == 0, self.logs()
        return run

    def _counts(self) -> list[Any]:
        """What the newest run has counted, in order."""
        run = self.service.stream("clicks")["runs"][0]
        return [row for event in self._events(run) if event["event"] == "rows" for row in event["rows"]]

    def _events(self, run: Mapping[str, Any]) -> list[Any]:
        file = self.service.directory / "jobs" / "streams" / "clicks" / f"{run['id']}.events"
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    def application(self, run: Mapping[str, Any]) -> str:
        """Spark's name of a run's application."""
        return next(str(one["application"]) for one in self._events(run) if one["event"] == "started")


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, "it never held"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `anabranch link package` writes."""
    path = tmp_path_factory.mktemp("archive") / "anabranch-env.tar.gz"
    environment.build(path, os.path.realpath(sys.executable))
    return path


@pytest.fixture
def lab(here: SandboxCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A service with launchers, while the block lasts."""

    @contextmanager
    def made(launchers: Mapping[str, Any]) -> Iterator[LauncherLab]:
        monkeypatch.setenv("ANABRANCH_LAUNCHERS", json.dumps(launchers))
        contexts = tmp_path / "contexts.json"
        contexts.write_text(json.dumps({"here": here.context()}), encoding="utf-8")
        with stand_ins(tmp_path, str(contexts), "local[2]") as services:
            service = services.serve(str(tmp_path / "store.db"))
            topics = [create(here, fresh(name)) for name in ("clicks", "loud")]
            yield LauncherLab(service, here, tmp_path, *topics)

    return made


def test_a_stream_moves_to_a_standalone_cluster_and_back(
    lab: Callable[..., Any], archive: Path, tmp_path: Path
) -> None:
    """By its launcher's name alone: counts go on, each record is written once, checkpoints go along."""
    (tmp_path / "spark").mkdir()
    with standalone(tmp_path / "spark") as spark:
        spark.add_worker({"PATH": os.environ["PATH"]})
        shared = tmp_path / "shared"
        big = {"kind": "standalone", "master": spark.master, "checkpoints": str(shared), "archive": str(archive)}
        with lab({"big": {**big, "spark": {**SMALL, "spark.cores.max": "1"}}}) as made:
            made.save()
            first = made.run(5, 5)
            assert (first["launcher"], made.application(first)[:6]) == ("default", "local-")
            made.move("big")
            second = made.run(4, 9)
            assert (second["launcher"], made.application(second)[:4]) == ("big", "app-")
            place = made.service.stream("clicks")["checkpoints"]
            assert place.startswith(f"file://{shared}/clicks/checkpoints-")
            assert "files of checkpoints came from" in made.logs()
            made.move("default")
            third = made.run(3, 12)
            assert made.application(third)[:6] == "local-"


def test_a_stream_moves_from_yarn_to_this_machine(lab: Callable[..., Any], archive: Path, tmp_path: Path) -> None:
    """Its containers get Anabranch, the connector and the artifact from the driver."""
    (tmp_path / "yarn").mkdir()
    with yarn(tmp_path / "yarn", {}) as cluster:
        settings = {**SMALL, "spark.executor.instances": "1", "spark.yarn.jars": f"local:{SPARK_HOME}/jars/*"}
        lake = {"kind": "yarn", "checkpoints": str(tmp_path / "shared"), "archive": str(archive)}
        with lab({"lake": {**lake, "hadoop": str(cluster.client), "spark": settings}}) as made:
            made.save("--launcher", "lake")
            first = made.run(5, 5)
            assert made.application(first).startswith("application_")
            made.move("default")
            made.run(4, 9)
            assert cluster.applications()[made.application(first)][0] == "FINISHED"
