"""A stream's job under one launcher and then another: its state, its position and its rows go along, once each.

The executors of a standalone cluster and of YARN have nothing but Python; what they need is sent.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as Position

from anabranch.cli.serve import launchers_of
from anabranch.config.context_file import read_context
from anabranch.config.serve_file import ServeShape
from anabranch.config.streamspec import StreamRunSpec
from anabranch.operations.jobs import environment
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.jobs.stream_launchers import StreamLauncher, default_launcher
from anabranch.operations.jobs.streamjob import events_of, start_detached
from anabranch.sandbox import SandboxCluster
from anabranch.storage.stream_checkpoints import MOVED
from anabranch.streams.artifacts.values import ArtifactPin
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.links.topics import create, fresh
from tests.integration.spark.standalone import SPARK_HOME, kill_tree, standalone
from tests.integration.spark.yarn import yarn
from tests.integration.streams.artifact_lab import ArtifactLab
from tests.integration.streams.lab import produce_json

pytestmark = pytest.mark.full
CODE = b"def shout(name: str) -> str:\n    return name.upper() + '!'\n"
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
HERE = default_launcher("local[2]", {"spark.driver.memory": "512m", "spark.sql.shuffle.partitions": "1"})


@dataclass
class LaunchedStream:
    """One stream's topics, and its starts."""

    cluster: SandboxCluster
    directory: Path
    pin: ArtifactPin
    source: str
    loud: str
    starts: int = 0
    written: int = 0
    places: tuple[str, ...] = ()

    def run(self, launcher: StreamLauncher, rows: int) -> list[Any]:
        """Run over some rows more, to the end; returns the events, and holds its rows to be there once each."""
        self.starts += 1
        self.written += rows
        produce_json(self.cluster, self.source, [{"page": "home"}] * rows)
        place = launcher.place("clicks", 1, self.directory)
        spec = StreamRunSpec(
            *("clicks", 1, f"run-{self.starts}", self.starts),
            SCRIPT.format(source=self.source, loud=self.loud),
            place,
            {"here": read_context("here", self.cluster.context(), "test")},
            trigger="availableNow",
            artifacts=(self.pin,),
            artifact_place=ArtifactLab(self.directory).place,
        )
        jobs = self.directory / "jobs"
        job = start_detached(replace(spec, former=self.places, has_run=bool(self.places)), launcher, jobs)
        code = _ended(job)
        text = events_of(jobs, spec.run).read_text(encoding="utf-8") if code is not None else ""
        assert code == 0, f"{code}\n{text}\n{job.log.read_text(errors='replace')[-8000:]}"
        self.places = (place, *(one for one in self.places if one != place))
        events = [json.loads(line) for line in text.splitlines()]
        shown = [event["rows"] for event in events if event["event"] == "rows"]
        assert shown[-1] == [["home", self.written]], "the count goes on"
        assert _values(self.cluster, self.loud) == [b'{"value":"HOME!"}'] * self.written
        return events


def _values(cluster: SandboxCluster, topic: str) -> list[bytes | None]:
    """All committed records of a topic, by a reader without a group."""
    consumer = Consumer(
        {"bootstrap.servers": cluster.internal_bootstrap, "group.id": "unused", "enable.partition.eof": True}
    )
    consumer.assign([Position(topic, 0, 0)])
    found: list[bytes | None] = []
    try:
        while True:
            message = consumer.poll(LONG_TIMEOUT_S)
            assert message is not None, f"{topic} is not read to its end"
            if message.error() is not None:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                return found
            found.append(message.value())
    finally:
        consumer.close()


def _ended(job: StartedJob) -> int | None:
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while job.code is None and time.monotonic() < deadline:
        time.sleep(0.2)
    if job.code is None:
        kill_tree(job.pid)
    return job.code


def _application(events: list[Any]) -> str:
    return next(str(one["application"]) for one in events if one["event"] == "started")


def _launcher(**fields: Any) -> StreamLauncher:
    """A launcher as the service's file has it."""
    return launchers_of(ServeShape.model_validate({"launchers": {"there": fields}}), Path("/"))["there"]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `anabranch link package` writes."""
    path = tmp_path_factory.mktemp("archive") / "anabranch-env.tar.gz"
    environment.build(path, os.path.realpath(sys.executable))
    return path


@pytest.fixture
def stream(here: SandboxCluster, tmp_path: Path) -> LaunchedStream:
    """Not started yet."""
    pin = ArtifactLab(tmp_path).pin("text", 1, ("text.py", CODE))
    return LaunchedStream(here, tmp_path, pin, create(here, fresh("clicks")), create(here, fresh("loud")))


def test_a_stream_moves_to_a_standalone_cluster_and_back(stream: LaunchedStream, archive: Path, tmp_path: Path) -> None:
    """Counts go on, each record is written once, and checkpoints come along, both ways."""
    (tmp_path / "spark").mkdir()
    with standalone(tmp_path / "spark") as spark:
        spark.add_worker({"PATH": os.environ["PATH"]})
        settings = {**SMALL, "spark.cores.max": "1"}
        shared = str(tmp_path / "shared")
        there = _launcher(
            kind="standalone", master=spark.master, checkpoints=shared, archive=str(archive), spark=settings
        )
        assert _application(stream.run(HERE, 5)).startswith("local-")
        assert _application(stream.run(there, 4)).startswith("app-")
        assert (tmp_path / "checkpoints-1" / MOVED).is_file()
        assert _application(stream.run(HERE, 3)).startswith("local-")


def test_a_stream_moves_from_yarn_to_this_machine(stream: LaunchedStream, archive: Path, tmp_path: Path) -> None:
    """Its containers get Anabranch, the connector and the artifact from the driver."""
    (tmp_path / "yarn").mkdir()
    with yarn(tmp_path / "yarn", {}) as cluster:
        settings = {**SMALL, "spark.executor.instances": "1", "spark.yarn.jars": f"local:{SPARK_HOME}/jars/*"}
        there = _launcher(
            kind="yarn",
            checkpoints=str(tmp_path / "shared"),
            archive=str(archive),
            hadoop=str(cluster.client),
            spark=settings,
        )
        try:
            application = _application(stream.run(there, 5))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{cluster.output[-8000:]}") from error
        assert application.startswith("application_")
        assert _application(stream.run(HERE, 4)).startswith("local-")
        assert cluster.applications()[application] == ("FINISHED", "SUCCEEDED")
