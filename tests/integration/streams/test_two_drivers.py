"""Two drivers of one stream: one that was held up comes back while the next start runs, as real processes.

It is held up as it commits: its files are there, and the table has not got them yet.  Nothing but the tables' own
logs, and Spark's of offsets and commits, refuses what it writes then.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from anabranch.config.streamspec import StreamRunSpec
from anabranch.sandbox.jars import runtime_jars
from anabranch.spark.session import session
from anabranch.spark.streams.fence import NewerStartError
from qa.timeouts import LONG_TIMEOUT_S
from tests.chance import seed

pytestmark = pytest.mark.full

SCRIPT = """
CREATE TABLE numbers USING `rate-micro-batch` OPTIONS (rowsPerBatch '5000', numPartitions '4');
CREATE TABLE kept (value BIGINT) USING {provider} OPTIONS ({place});
INSERT INTO kept SELECT value FROM STREAM numbers;
"""
ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Target:
    """What is written: its table's options, the jars and settings, and the files that are there before a commit."""

    provider: str
    place: str
    before_commit: str
    runtime: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    def conf(self, directory: Path) -> dict[str, str]:
        """Spark's settings."""
        jars = sorted(runtime_jars(self.runtime).glob("*.jar")) if self.runtime else []
        made = {name: text.format(directory=directory) for name, text in self.settings.items()}
        return {**made, **({"spark.jars": ",".join(map(str, jars))} if jars else {})}

    def script(self, directory: Path) -> str:
        """The script of the stream."""
        return SCRIPT.format(provider=self.provider, place=self.place.format(directory=directory))


TARGETS = (
    Target("parquet", "path '{directory}/out'", "out/part-*"),
    Target(
        "iceberg",
        "table 'lake.shop.kept'",
        "warehouse/shop/kept/metadata/*.avro",
        "iceberg-1.12.0",
        {
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": "{directory}/warehouse",
        },
    ),
    Target(
        "delta",
        "path '{directory}/out'",
        "out/part-*",
        "delta-4.4.0",
        {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        },
    ),
)


class Driver:
    """A start of the stream."""

    def __init__(self, target: Target, directory: Path, fence: int) -> None:
        script, checkpoints = target.script(directory), str(directory / "checkpoints")
        spec = StreamRunSpec("s", 1, f"run-{fence}", fence, script, checkpoints, trigger="100 milliseconds")
        file = directory / f"run-{fence}.json"
        file.write_text(spec.to_json(), encoding="utf-8")
        self.events, self.log = file.with_suffix(".events"), file.with_suffix(".log")
        options = ["--master", "local[2]", "--conf", "spark.ui.enabled=false", "--events", str(self.events)]
        options += [word for name, text in target.conf(directory).items() for word in ("--conf", f"{name}={text}")]
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "anabranch.spark.jobs.stream", str(file), *options]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def told(self, kind: str) -> list[dict[str, Any]]:
        """Its events of a kind."""
        lines = self.events.read_text(encoding="utf-8").splitlines() if self.events.exists() else []
        return [one for one in map(json.loads, lines) if one["event"] == kind]

    def until_batches(self, count: int) -> None:
        """Wait until it has done so many."""
        self._until(lambda: sum(bool(one["rows_in"]) for one in self.told("progress")) >= count)

    def send(self, number: signal.Signals) -> None:
        """To it and its JVM."""
        os.killpg(self.process.pid, number)

    def code(self) -> int:
        """What it ends with."""
        return self.process.wait(LONG_TIMEOUT_S)

    def _until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LONG_TIMEOUT_S
        while not condition():
            assert self.process.poll() is None and time.monotonic() < deadline, self.log.read_text()[-3000:]
            time.sleep(0.05)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[Target, int], Driver]]:
    """Starts one; all are ended."""
    made: list[Driver] = []

    def started(target: Target, fence: int) -> Driver:
        made.append(Driver(target, tmp_path, fence))
        return made[-1]

    yield started
    for one in made:
        if one.process.poll() is None:
            one.send(signal.SIGKILL)
            one.process.wait()


def until_it_commits(target: Target, directory: Path) -> None:
    """Wait for a file more of those that are there before a commit."""
    there = set(directory.glob(target.before_commit))
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while there.issuperset(directory.glob(target.before_commit)):
        assert time.monotonic() < deadline, f"nothing is written to {target.before_commit}"


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.provider)
def test_a_driver_that_was_held_up_writes_no_row_beside_the_next_start(
    target: Target, start: Callable[[Target, int], Driver], tmp_path: Path
) -> None:
    """Each row is in the table once; the earlier start says that it is over, and the later one goes on."""
    chance = random.Random(seed(19))
    _asked("make", target, tmp_path)
    driver = start(target, 1)
    driver.until_batches(2)
    for fence in range(2, ROUNDS + 2):
        until_it_commits(target, tmp_path)
        time.sleep(chance.choice((0.0, 0.02, 0.05)))
        driver.send(signal.SIGSTOP)
        held_up, driver = driver, start(target, fence)
        driver.until_batches(2)
        held_up.send(signal.SIGCONT)
        assert held_up.code() == NewerStartError.exit_code, held_up.log.read_text()[-3000:]
        (why,) = held_up.told("failed")
        assert f"start {fence - 1} of the stream is over" in why["error"]
        driver.until_batches(4)
    driver.process.terminate()  # its JVM is its own to end
    assert driver.code() == 0, driver.log.read_text()[-3000:]
    total, distinct, last = map(int, _asked("count", target, tmp_path).split())
    assert total == distinct == last and total >= 5_000 * 4


def _asked(what: str, target: Target, directory: Path) -> str:
    """In a process of its own: the connector's jars are of the JVM."""
    words = [sys.executable, "-m", "tests.integration.streams.test_two_drivers", what, target.provider, str(directory)]
    done = subprocess.run(words, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def main(what: str, provider: str, place: str) -> None:
    """Make the table where it is to be there before, or count its rows, the different ones, and what they end with."""
    target, directory = next(one for one in TARGETS if one.provider == provider), Path(place)
    is_named = provider == "iceberg"
    if what == "make" and not is_named:
        return
    spark = session("two drivers", "local[2]", target.conf(directory))
    if what == "make":
        spark.sql("CREATE TABLE lake.shop.kept (value BIGINT) USING iceberg")
    else:
        rows = spark.table("lake.shop.kept") if is_named else spark.read.format(provider).load(f"{directory}/out")
        print(*rows.selectExpr("count(*)", "count(DISTINCT value)", "max(value) + 1").collect()[0])
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
