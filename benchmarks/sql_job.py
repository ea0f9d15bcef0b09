"""A SQL job beside plain PySpark with the same query: ``python -m benchmarks.sql_job``.

One real broker, a topic of four partitions with clicks as JSON, ``local[2]``.  Three questions, each answered by turns
that alternate, of which the first is not counted:

- page views and visitors by page and window over all records, into nothing: the script, run as the job of a stream runs
  it, beside the same query written in PySpark;
- each record into another topic: the exactly-once sink of the script beside Spark's own Kafka sink, which is at least
  once, with the same rows;
- the time from ``start`` to the first rows in files, of a copy of 10,000 records: by the service, by the job alone, and
  by plain ``spark-submit`` with the same settings and the same query.

Counted are records by the time that Spark takes for its micro-batches, without the start of the query.  Writes the
section ``sql_job`` of ``build/bench.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from confluent_kafka.admin import NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.config.context_file import read_context
from anabranch.config.jobsettings import session_settings
from anabranch.config.streamspec import StreamRunSpec
from anabranch.jars.connector import connector, with_connector
from anabranch.operations.jobs.stream_launchers import default_launcher
from anabranch.operations.jobs.streamjob import start_detached
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.spark.session import session
from anabranch.spark.streams import running
from anabranch.spark.streams.analysis import InsertPlan, analyse
from anabranch.spark.streams.clusters import ContextClusters
from anabranch.spark.streams.kafka_tables import KafkaReading, encoded
from anabranch.spark.streams.kafka_writing import kafka_kind
from anabranch.spark.streams.settings import SETTINGS
from anabranch.spark.streams.sinks.console import console_kind
from anabranch.spark.streams.sinks.kinds import sink_kinds
from benchmarks import report
from benchmarks.run import OUTPUT
from qa.brokers import STEADY, create_topics
from qa.stream_lab import stand_ins
from qa.timeouts import LONG_TIMEOUT_S

if TYPE_CHECKING:
    from qa.stream_lab import StandInService

RECORDS, BATCHES, PARTITIONS, TURNS, STARTS = 5_000_000, 10, 4, 5, 3
COPIED = 10_000
MASTER = "local[2]"
SQL, PLAIN = "SQL job", "PySpark"
EXACT, SPARKS = "anabranch-kafka", "kafka"
SERVICE, JOB, SUBMIT = "stream start", "its job alone", "spark-submit"
_LOOK_S = 0.02
_COLUMNS = "page STRING, user_id BIGINT, at TIMESTAMP"
_CLICKS = """
CREATE TABLE clicks ({columns})
USING kafka OPTIONS (cluster 'here', topic '{topic}', format 'json', max.records.per.batch '{most}');
"""
_COUNTED = """
CREATE TABLE counted (since TIMESTAMP, page STRING, pv BIGINT, uv BIGINT) USING noop;
INSERT INTO counted
SELECT window(at, '10 minutes').start, page, count(*), approx_count_distinct(user_id)
FROM STREAM clicks WATERMARK at DELAY OF INTERVAL 10 MINUTES
GROUP BY window(at, '10 minutes'), page;
"""
_COPIED = """
CREATE TABLE copied (page STRING, user_id BIGINT, at TIMESTAMP)
USING kafka OPTIONS (cluster 'here', topic '{out}', key 'page');
INSERT INTO copied SELECT page, user_id, at FROM clicks WHERE user_id >= 0;
"""
_FILES = """
CREATE TABLE files ({columns}) USING parquet OPTIONS (path '{out}');
INSERT INTO files SELECT page, user_id, at FROM clicks WHERE user_id >= 0;
"""
_SUBMITTED = """
import sys
from pyspark.sql import SparkSession, functions as F

servers, topic, out, checkpoint = sys.argv[1:]
spark = SparkSession.builder.appName("plain").getOrCreate()
records = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
values = records.option("startingOffsets", "earliest").load()
clicks = values.select(F.from_json(F.col("value").cast("string"), {columns!r}).alias("click")).select("click.*")
writer = clicks.where("user_id >= 0").writeStream.format("parquet").option("checkpointLocation", checkpoint)
writer.trigger(processingTime="1 second").start(out).awaitTermination()
"""


@dataclass(frozen=True)
class SpeedBeside:
    """Medians over the counted turns; ``ratio`` is ours to theirs, of turns beside each other."""

    what: str
    ours: float
    theirs: float
    ratio: float


@dataclass(frozen=True)
class StartTimes:
    """Seconds of each counted start until the first rows were there, and the median."""

    how: str
    seconds: float
    starts: tuple[float, ...]


@dataclass(frozen=True)
class Bench:
    """Where all of it runs."""

    spark: SparkSession
    cluster: SandboxCluster
    root: Path
    topic: str
    records: int

    def sql(self, text: str, turn: int, sink: str = "") -> float:
        """Records a second of a script as the job of a stream runs it; with ``sink`` Spark's own takes its rows."""
        most = self.records // BATCHES
        script = _CLICKS.format(columns=_COLUMNS, topic=self.topic, most=most) + text
        clusters = ContextClusters({"here": read_context("here", self.cluster.context(), "benchmark")})
        kinds = sink_kinds((kafka_kind(clusters), console_kind(lambda *_: None)))
        found = analyse(script, self.spark, kinds, KafkaReading(clusters))
        if sink:
            return self._sparks(found.inserts[0], turn)
        spec = StreamRunSpec("bench", 1, "run", 1, script, str(self.root / f"sql-{time.monotonic_ns()}"))
        queries: list[running.RunningQuery] = []
        running.open_sinks(queries, spec, found.inserts, kinds)
        try:
            running.start(queries, "availableNow")
            running.watch(queries, lambda: False, lambda _kind, _fields: None)
        finally:
            running.close(queries)
        (one,) = queries
        assert one.query is not None
        return self.speed(one.query)

    def plain(self, _turn: int) -> float:
        """Records a second of the counting query in PySpark."""
        clicks = self._clicks(self.spark).withWatermark("at", "10 minutes")
        window = F.window("at", "10 minutes")
        counted = clicks.groupBy(window, "page").agg(
            F.count("*").alias("pv"), F.approx_count_distinct("user_id").alias("uv")
        )
        rows = counted.select(F.col("window.start").alias("since"), "page", "pv", "uv")
        return self._run(rows.writeStream.format("noop").outputMode("update"))

    def _sparks(self, plan: InsertPlan, turn: int) -> float:
        writer = encoded(plan.rows, plan.target).writeStream.format("kafka").option("topic", f"{SPARKS}-{turn}")
        return self._run(writer.option("kafka.bootstrap.servers", self.cluster.internal_bootstrap))

    def _clicks(self, spark: SparkSession) -> DataFrame:
        records = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.cluster.internal_bootstrap)
            .option("subscribe", self.topic)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", self.records // BATCHES)
            .load()
        )
        return records.select(F.from_json(F.col("value").cast("string"), _COLUMNS).alias("click")).select("click.*")

    def _run(self, writer: object) -> float:
        place = str(self.root / f"plain-{time.monotonic_ns()}")
        query = writer.option("checkpointLocation", place).trigger(availableNow=True).start()  # type: ignore[attr-defined]
        query.awaitTermination()
        return self.speed(query)

    def speed(self, query: StreamingQuery) -> float:
        """Of a query that has read all."""
        if (error := query.exception()) is not None:
            raise error
        seconds: float = sum(one["durationMs"]["triggerExecution"] for one in query.recentProgress) / 1000
        read: int = sum(one["numInputRows"] for one in query.recentProgress)
        assert read == self.records, read
        return read / seconds


def main() -> None:
    """Measure, print, and write down."""
    parser = argparse.ArgumentParser(prog="benchmarks.sql_job", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    print("\n".join(report.machine(ClusterSpec("here").version)), flush=True)
    (cluster,) = start_clusters([ClusterSpec("here", overrides=STEADY, heap_mb=1024)])
    with tempfile.TemporaryDirectory(prefix="anabranch-sql-job-") as name, cluster:
        root = Path(name)
        settings = {**SETTINGS, "spark.driver.memory": "3g"}
        spark = session("SQL job", MASTER, with_connector(settings))
        bench = Bench(spark, cluster, root, "clicks", options.records)
        _fill(bench, "clicks", options.records)
        _fill(bench, "few", COPIED)
        speeds = [_counting(bench, options.turns), _copying(bench, options.turns)]
        spark.stop()
        starts = _starts(cluster, root, options.starts) if options.starts else []
    lines: list[tuple[str, ...]] = [("what", "ours, records/s", "theirs", "ratio")]
    lines += [(one.what, f"{one.ours:,.0f}", f"{one.theirs:,.0f}", f"{one.ratio:.3f}") for one in speeds]
    print(report.columns(lines, left=1))
    lines = [("start to first rows", "seconds", "fastest", "slowest")]
    lines += [(one.how, f"{one.seconds:.1f}", f"{min(one.starts):.1f}", f"{max(one.starts):.1f}") for one in starts]
    print(report.columns(lines, left=1))
    print(f"load after: {os.getloadavg()[0]:.2f}")
    found = {
        "records": options.records,
        "speeds": [asdict(one) for one in speeds],
        "starts": [asdict(one) for one in starts],
    }
    report.write("sql_job", found, options.output)


def _fill(bench: Bench, topic: str, records: int) -> None:
    """Clicks of some pages and users, two milliseconds after each other."""
    create_topics(bench.cluster, [NewTopic(topic, PARTITIONS, 1)])
    click = "named_struct('page', concat('/page/', id * 7919 % 50), 'user_id', id * 104729 % 20000, 'at', at)"
    at = "timestamp_millis(1767225600000 + id * 2) AS at"
    rows = bench.spark.range(0, records, 1, PARTITIONS).selectExpr("id", at)
    values = rows.selectExpr(f"to_json({click}) AS value", f"CAST(id % {PARTITIONS} AS INT) AS partition")
    writer = values.write.format("kafka").option("kafka.bootstrap.servers", bench.cluster.internal_bootstrap)
    writer.option("topic", topic).save()


def _counting(bench: Bench, turns: int) -> SpeedBeside:
    ways = {SQL: lambda turn: bench.sql(_COUNTED, turn), PLAIN: bench.plain}
    return _beside("page views and visitors, beside PySpark", ways, turns)


def _copying(bench: Bench, turns: int) -> SpeedBeside:
    topics = [NewTopic(f"{name}-{turn}", PARTITIONS, 1) for name in (EXACT, SPARKS) for turn in range(turns + 1)]
    create_topics(bench.cluster, topics)
    ways = {
        EXACT: lambda turn: bench.sql(_COPIED.format(out=f"{EXACT}-{turn}"), turn),
        SPARKS: lambda turn: bench.sql(_COPIED.format(out=f"{EXACT}-{turn}"), turn, SPARKS),
    }
    return _beside("to another topic exactly once, beside Spark's sink", ways, turns)


def _beside(what: str, ways: Mapping[str, Callable[[int], float]], turns: int) -> SpeedBeside:
    """Turns of both, of which the first is not counted; who begins changes from turn to turn."""
    ours, theirs = ways
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(turns + 1):
        for name in (ours, theirs) if turn % 2 else (theirs, ours):
            speed = ways[name](turn)
            print(f"{what}, turn {turn}: {name} {speed:,.0f} records/s", flush=True)
            if turn:
                speeds[name].append(speed)
    ratios = [one / other for one, other in zip(speeds[ours], speeds[theirs], strict=True)]
    mine, other = (round(statistics.median(speeds[name])) for name in (ours, theirs))
    return SpeedBeside(what, mine, other, round(statistics.median(ratios), 3))


def _starts(cluster: SandboxCluster, root: Path, times: int) -> list[StartTimes]:
    """Each way in turns; the first of each is not counted."""
    contexts = root / "contexts.json"
    contexts.write_text(json.dumps({"here": cluster.context()}), encoding="utf-8")
    ways: Mapping[str, Callable[[Path], float]] = {}
    with stand_ins(root, str(contexts), MASTER) as services:
        service = services.serve(str(root / "store.db"))
        ways = {
            SERVICE: lambda out: _by_service(service, out),
            JOB: lambda out: _by_job(cluster, out),
            SUBMIT: lambda out: _by_submit(cluster, out),
        }
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(times + 1):
            for number, (name, way) in enumerate(ways.items()):
                seconds = way(root / f"start-{turn}-{number}")
                print(f"start to first rows, turn {turn}: {name} {seconds:.1f} s", flush=True)
                if turn:
                    taken[name].append(round(seconds, 2))
    return [StartTimes(name, statistics.median(seconds), tuple(seconds)) for name, seconds in taken.items()]


def _copying_script(out: Path) -> str:
    return _CLICKS.format(columns=_COLUMNS, topic="few", most=COPIED) + _FILES.format(
        columns=_COLUMNS, out=out / "rows"
    )


def _by_service(service: StandInService, out: Path) -> float:
    service.done("create", stream=out.name, script=_copying_script(out))
    began = time.perf_counter()
    service.done("start", stream=out.name)
    seconds = _until_rows(out, began)
    service.done("stop", stream=out.name)
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while not service.is_in(out.name, "stopped") and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    return seconds


def _by_job(cluster: SandboxCluster, out: Path) -> float:
    context = read_context("here", cluster.context(), "benchmark")
    spec = StreamRunSpec("bench", 1, "run", 1, _copying_script(out), str(out / "checkpoints"), {"here": context})
    began = time.perf_counter()
    job = start_detached(spec, default_launcher(MASTER, {}), out)
    try:
        return _until_rows(out, began)
    finally:
        process = psutil.Process(job.pid)
        process.terminate()
        process.wait()


def _by_submit(cluster: SandboxCluster, out: Path) -> float:
    out.mkdir()
    program = out / "plain.py"
    program.write_text(_SUBMITTED.format(columns=_COLUMNS), encoding="utf-8")
    command = [str(Path(sys.executable).with_name("spark-submit")), "--master", MASTER]
    for key, value in session_settings(MASTER, SETTINGS).items():
        command += ["--conf", f"{key}={value}"]
    command += ["--jars", ",".join(map(str, connector("4.1.3")))]
    command += [str(program), cluster.internal_bootstrap, "few", str(out / "rows"), str(out / "checkpoint")]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    began = time.perf_counter()
    with (out / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
    try:
        return _until_rows(out, began)
    finally:
        process.terminate()
        process.wait()


def _until_rows(out: Path, began: float) -> float:
    """Seconds until Spark's log of the files has the first batch."""
    while not (out / "rows" / "_spark_metadata" / "0").exists():
        if time.perf_counter() - began > LONG_TIMEOUT_S:
            raise TimeoutError(f"no rows in {out}")
        time.sleep(_LOOK_S)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
