"""Two drivers of one stream: one that was held up comes back while the next start runs, as real processes, into files.

Nothing but Spark's own logs refuses what it writes there: the log of offsets, of commits, and that of the directory.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from anabranch.config.streamspec import StreamRunSpec
from anabranch.spark.streams.fence import NewerStartError
from qa.timeouts import LONG_TIMEOUT_S
from tests.chance import seed

pytestmark = pytest.mark.full

SCRIPT = """
CREATE TABLE numbers USING `rate-micro-batch` OPTIONS (rowsPerBatch '5000', numPartitions '4');
CREATE TABLE kept (value BIGINT) USING parquet OPTIONS (path '{out}');
INSERT INTO kept SELECT value FROM STREAM numbers;
"""
ROUNDS = 2


class Driver:
    """A start of the stream."""

    def __init__(self, directory: Path, fence: int) -> None:
        script, checkpoints = SCRIPT.format(out=directory / "out"), str(directory / "checkpoints")
        spec = StreamRunSpec("s", 1, f"run-{fence}", fence, script, checkpoints, trigger="100 milliseconds")
        file = directory / f"run-{fence}.json"
        file.write_text(spec.to_json(), encoding="utf-8")
        self.events, self.log = file.with_suffix(".events"), file.with_suffix(".log")
        options = ["--master", "local[2]", "--conf", "spark.ui.enabled=false", "--events", str(self.events)]
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
def start(tmp_path: Path) -> Iterator[Callable[[int], Driver]]:
    """Starts one; all are ended."""
    made: list[Driver] = []

    def started(fence: int) -> Driver:
        made.append(Driver(tmp_path, fence))
        return made[-1]

    yield started
    for one in made:
        if one.process.poll() is None:
            one.send(signal.SIGKILL)
            one.process.wait()


def test_a_driver_that_was_held_up_writes_no_row_beside_the_next_start(
    start: Callable[[int], Driver], tmp_path: Path, spark: SparkSession
) -> None:
    """Each row is in the files once; the earlier start says that it is over, and the later one goes on."""
    chance = random.Random(seed(19))
    driver = start(1)
    driver.until_batches(2)
    for fence in range(2, ROUNDS + 2):
        time.sleep(chance.random())
        driver.send(signal.SIGSTOP)
        held_up, driver = driver, start(fence)
        driver.until_batches(2)
        held_up.send(signal.SIGCONT)
        assert held_up.code() == NewerStartError.exit_code, held_up.log.read_text()[-3000:]
        (why,) = held_up.told("failed")
        assert f"start {fence - 1} of the stream is over" in why["error"]
        driver.until_batches(4)
    driver.send(signal.SIGTERM)
    assert driver.code() == 0, driver.log.read_text()[-3000:]
    found = spark.read.parquet(str(tmp_path / "out")).selectExpr("count(*)", "count(DISTINCT value)", "max(value) + 1")
    total, distinct, last = found.collect()[0]
    assert total == distinct == last and total >= 5_000 * 4
