"""Streams that are files of PySpark: run as the job runs them, and kept by a service."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from anabranch.config.streamspec import StreamBegin, StreamRunSpec
from anabranch.errors import AnabranchError, ConfigError
from anabranch.model.accounts import Role
from anabranch.model.clock import now_ms
from anabranch.sandbox import SandboxCluster
from anabranch.spark.streams import running
from anabranch.spark.streams.clusters import UnknownClusterError
from anabranch.spark.streams.failing import FailedQueryError
from anabranch.spark.streams.file_logs import ForeignFilesError
from anabranch.spark.streams.pyspark_files.errors import (
    FileRaisedError,
    FileWrongError,
    JobUseError,
    UnwatchedQueryError,
)
from anabranch.spark.streams.pyspark_files.job import FileJob
from anabranch.spark.streams.pyspark_files.running import FileRun
from anabranch.storage.opening import open_files
from anabranch.store.accounts import Accounts
from anabranch.streams.events import StreamEventKind
from anabranch.streams.kinds import StreamKind
from qa.service import Served, serving, until
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.links.topics import create, fresh
from tests.integration.streams.lab import StreamLab, consumed, produce_json

COPY = """
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

FACTOR = 3


def times(n):
    return int(n) * FACTOR


def main(job):
    read = job.spark.readStream.format("kafka").option("startingOffsets", "earliest")
    numbers = read.options(**job.kafka_source("here", "{topic}")).load()
    tripled = numbers.select(F.udf(times, LongType())(F.col("value").cast("string")).alias("n"))
    job.start({writer}, "tripled")
"""
FILES = 'tripled.writeStream.format("parquet").option("path", "{out}")'
SINK = (
    'tripled.select(F.col("n").cast("string").alias("value")).writeStream.format("anabranch-kafka")'
    '.options(**job.kafka_sink("here", "{out}"))'
)


class PySparkLab:
    """Runs of files as the job makes them, in this process."""

    def __init__(self, spark: SparkSession, directory: Path, here: SandboxCluster) -> None:
        self.lab = StreamLab.of(spark, directory, here)
        self.place = str(directory / "checkpoints")
        self.started: list[list[dict[str, Any]]] = []
        self.rows_in = 0

    def run(self, text: str, trigger: str = "availableNow", begin: StreamBegin | None = None) -> FileJob:
        """Run a file until it ends; one that has read something is asked to.  Raises what the job would tell of."""
        spec = StreamRunSpec(
            "lab", 1, "run", 1, text, self.place, trigger=trigger, begin=begin or StreamBegin(), kind=StreamKind.PYSPARK
        )
        job = FileJob(self.lab.spark, spec, self.lab.clusters, open_files(self.place), "lab.py", {})
        run = FileRun(job, text, "lab.py")
        deadline = time.monotonic() + LONG_TIMEOUT_S
        self.rows_in = 0
        try:
            run.watch(
                lambda: time.monotonic() > deadline or (trigger != "availableNow" and self.rows_in > 0),
                self._tell,
                lambda queries: self.started.append([one.fields() for one in queries]),
            )
        finally:
            job.end()
            running.stop(job.queries, self._tell)
            run.join()
            for query in self.lab.spark.streams.active:
                query.stop()
        assert not any(thread.name == "main of the PySpark file" for thread in threading.enumerate())
        return job

    def _tell(self, _kind: StreamEventKind, fields: Mapping[str, Any]) -> None:
        self.rows_in += fields["rows_in"]


@pytest.fixture
def pyspark(spark: SparkSession, tmp_path: Path, here: SandboxCluster) -> PySparkLab:
    """A stream that has not run."""
    return PySparkLab(spark, tmp_path, here)


def numbers(here: SandboxCluster, topic: str, first: int, count: int) -> None:
    """Records whose values are numbers."""
    produce_json(here, topic, list(range(first, first + count)))  # type: ignore[arg-type]


@pytest.mark.test
def test_a_file_goes_on_from_its_checkpoints_and_begins_anew_where_that_is_asked(
    pyspark: PySparkLab, here: SandboxCluster, tmp_path: Path
) -> None:
    """Its functions are known to the workers; each record is read once, until a position is given, and then once."""
    topic, out = create(here, fresh("files"), 1), create(here, fresh("files-out"), 1)
    numbers(here, topic, 0, 10)
    text = COPY.format(topic=topic, writer=SINK.format(out=out))
    job = pyspark.run(text)
    assert pyspark.rows_in == 10
    ((first,),) = pyspark.started
    assert (first["query"], first["connector"], first["table"], first["resumed"]) == (
        "tripled",
        "anabranch-kafka",
        out,
        False,
    )
    assert first["line"] == text.splitlines().index(next(one for one in text.splitlines() if "job.start" in one)) + 1
    assert job.checkpoint("tripled").endswith("/checkpoints/tripled")
    numbers(here, topic, 10, 5)
    pyspark.run(text)
    assert (pyspark.rows_in, pyspark.started[1][0]["resumed"]) == (5, True)
    for _ in range(2):  # a start that is done again finds it done
        job = pyspark.run(text, begin=StreamBegin(7, start=f"{topic}-0:12"))
    assert job.checkpoint("tripled").endswith("/tripled@7")
    assert pyspark.rows_in == 0
    found = [int(value or b"") for _, value in consumed(here, out, 18)]
    assert found == [3 * n for n in (*range(15), 12, 13, 14)]


@pytest.mark.test
def test_a_file_that_waits_is_ended_between_two_batches(pyspark: PySparkLab) -> None:
    """Also where its main never returns by itself."""
    text = (
        "def main(job):\n    rows = job.spark.readStream.format('rate').option('rowsPerSecond', 20).load()\n"
        "    job.start(rows.writeStream.format('noop'), 'a').awaitTermination()\n"
    )
    job = pyspark.run(text, trigger="100 milliseconds")
    (query,) = job.queries
    assert query.query is not None and not query.query.isActive and query.query.exception() is None
    assert pyspark.rows_in > 0


@pytest.mark.test
def test_what_a_file_writes_with_another_checkpoint_is_not_passed_over(
    pyspark: PySparkLab, here: SandboxCluster, tmp_path: Path
) -> None:
    """Spark would write none of the rows of batches that the log of the directory has."""
    topic = create(here, fresh("files"), 1)
    numbers(here, topic, 0, 4)
    text = COPY.format(topic=topic, writer=FILES.format(out=tmp_path / "out"))
    pyspark.run(text)
    with pytest.raises(ForeignFilesError):
        pyspark.run(text, begin=StreamBegin(7, start="earliest"))
    pyspark.run(text)
    assert pyspark.lab.rows(tmp_path / "out") == [(3 * n,) for n in range(4)]


RATE = "    rows = job.spark.readStream.format('rate').load()\n"
BAD: Mapping[str, tuple[str, type[AnabranchError], str]] = {
    "raised": (
        "def helper():\n    raise ValueError('no such thing')\n\n\ndef main(job):\n    helper()\n",
        FileRaisedError,
        "the PySpark file: line 2, in helper: ValueError: no such thing",
    ),
    "a name": (
        "def main(job):\n    jib.start()\n",
        FileWrongError,
        "line 2, in main: NameError: name 'jib' is not defined",
    ),
    "a module": (
        "import nothere\ndef main(job):\n    pass\n",
        FileWrongError,
        "line 1, in <module>: ModuleNotFoundError",
    ),
    "a column": (
        "def main(job):\n" + RATE + "    rows.select('there')\n",
        FileWrongError,
        "line 3, in main: UNRESOLVED_COLUMN.WITH_SUGGESTION: no column 'there'",
    ),
    "an exit": ("import sys\ndef main(job):\n    sys.exit(3)\n", FileRaisedError, "line 3, in main: SystemExit: 3"),
    "a cluster": (
        "def main(job):\n    job.kafka_source('hear', 't')\n",
        UnknownClusterError,
        "no cluster 'hear'",
    ),
    "no topic": ("def main(job):\n    job.kafka_source('here')\n", JobUseError, "it names no topic"),
    "started by itself": (
        "def main(job):\n" + RATE + "    rows.writeStream.format('noop').queryName('own').start()\n",
        UnwatchedQueryError,
        "query own was started without job.start",
    ),
    "a query for a writer": (
        "def main(job):\n" + RATE + "    job.start(rows.writeStream.format('noop').start(), 'x')\n",
        ConfigError,
        "",
    ),
    "a name twice": (
        "def main(job):\n" + RATE + "    for _ in 'ab':\n        job.start(rows.writeStream.format('noop'), 'x')\n",
        JobUseError,
        "there is a query x already",
    ),
    "a path for a name": (
        "def main(job):\n" + RATE + "    job.start(rows.writeStream.format('noop'), '../x')\n",
        JobUseError,
        "'../x' is no name of a query",
    ),
    "a batch": (
        "def each(rows, number):\n    raise KeyError('gone')\n\n\ndef main(job):\n"
        + RATE
        + "    job.start(rows.writeStream.foreachBatch(each), 'x').awaitTermination()\n",
        FailedQueryError,
        "query x (line 7) failed: KeyError: 'gone'",
    ),
}
"""A file, what is raised, and its words."""


@pytest.mark.test
@pytest.mark.parametrize("case", BAD)
def test_what_a_file_does_wrong_is_told_with_its_line(pyspark: PySparkLab, case: str) -> None:
    """And no query of it is left."""
    text, kind, words = BAD[case]
    with pytest.raises(kind) as raised:
        pyspark.run(text, trigger="100 milliseconds")
    assert words in raised.value.message
    assert raised.value.hint
    assert not pyspark.lab.spark.streams.active


LIFE = """
def main(job):
    rows = job.spark.readStream.format("rate").option("rowsPerSecond", 20).load()
    job.start(rows.writeStream.format("noop"), "numbers")
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A service, and mei, an admin."""
    with serving(str(tmp_path / "store.db"), {}, tmp_path) as made:
        accounts, now = Accounts(made.instance.stored.database), now_ms()
        accounts.add("mei", Role.ADMIN, now)
        made.tokens["mei"] = accounts.issue("mei", "test", now, now + 86_400_000)[0]
        until(lambda: made.instance.acting.acts)
        yield made


def planned(served: Served, verb: str, **request: object) -> Any:
    """A plan, or a problem, of a verb on the stream."""
    return served.ask("POST", f"/api/v1/streams/{verb}/plan", {"stream": "file", **request}, role="mei").json


def done(served: Served, verb: str, **request: object) -> None:
    """Carry out a verb on the stream."""
    plan = planned(served, verb, **request)
    assert "id" in plan, plan
    begun = served.ask("POST", f"/api/v1/plans/{plan['id']}/apply", {"hash": plan["hash"]}, role="mei")
    until(lambda: served.get(begun.headers["location"], "mei")["state"] != "running")
    assert served.get(begun.headers["location"], "mei")["state"] == "done"


def shown(served: Served) -> Any:
    """The stream as it is shown."""
    return served.get("/api/v1/streams/file", "viewer")


@pytest.mark.full
def test_a_file_has_the_life_of_a_stream(served: Served) -> None:
    """Saved by an admin alone, versions, run, stopped, failed with its line, rolled back; refused what only SQL has."""
    refused = planned(served, "create", script="def main(job:\n", kind="pyspark")
    assert "line 1, column 9: '(' was never closed" in refused["detail"]
    request = {"stream": "file", "script": LIFE, "kind": "pyspark"}
    answered = served.ask("POST", "/api/v1/streams/create/plan", request, role="operator")
    assert answered.status == 409 and "which is no admin" in answered.json["detail"]
    done(served, "create", script=LIFE, kind="pyspark", restarts=0)
    done(served, "start")
    until(lambda: shown(served)["stream"]["queries"] and shown(served)["stream"]["queries"][0]["rows_in"])
    found = shown(served)["stream"]
    assert (found["kind"], found["state"], found["queries"][0]["query"]) == ("pyspark", "running", "numbers")
    assert (
        'anabranch_stream_batch_rows_in{query="numbers",stream="file"}' in served.ask("GET", "/metrics").body.decode()
    )
    assert served.get("/api/v1/streams", "viewer")[0]["kind"] == "pyspark"

    for kind in ("validation", "preview"):
        told = served.ask("POST", "/api/v1/trials", {"kind": kind, "stream": "file"}, role="mei")
        assert told.status == 409 and "a PySpark file has no" in told.json["detail"]
    assert "has no lineage" in served.ask("GET", "/api/v1/streams/file/lineage", role="mei").json["detail"]
    assert "has no new state to choose" in planned(served, "restart", state="new")["detail"]
    assert "is of kind pyspark" in planned(served, "edit", script="SELECT 1", kind="sql")["detail"]

    done(served, "edit", script=LIFE + "    raise OSError('disk')\n")
    done(served, "publish", version=2)
    done(served, "restart")
    until(lambda: shown(served)["stream"]["state"] == "failed")
    assert shown(served)["stream"]["why"].startswith("the PySpark file: line 5, in main: OSError: disk")
    assert [run["exit_code"] for run in shown(served)["runs"]] == [5, 0]
    done(served, "rollback")
    done(served, "start")
    until(lambda: shown(served)["stream"]["state"] == "running")
    done(served, "stop")
    until(lambda: shown(served)["stream"]["state"] == "stopped")
    assert shown(served)["runs"][0]["exit_code"] == 0

    Accounts(served.instance.stored.database).set("mei", now_ms(), role=Role.OPERATOR)
    done(served, "start")
    until(lambda: "is no admin" in shown(served)["stream"]["why"])
