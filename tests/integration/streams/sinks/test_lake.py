"""Iceberg and Delta with their own connectors, in a process of their own: a JVM has its jars from its start."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import LongType, StructField, StructType

from anabranch.errors import AnabranchError
from anabranch.sandbox.jars import runtime_jars
from anabranch.spark.session import session
from anabranch.spark.streams.analysis import analyse
from anabranch.spark.streams.clusters import UnaskedClusters
from anabranch.spark.streams.kafka_tables import KafkaReading
from anabranch.spark.streams.progress import QueryTotals, progress_fields
from anabranch.spark.streams.sinks.errors import BatchBehindError, BranchGoneError, SinkMissingError, SinkSchemaError
from anabranch.spark.streams.sinks.iceberg import IcebergSink
from anabranch.spark.streams.sinks.kinds import sink_kinds
from anabranch.spark.streams.sinks.port import BatchSink, NativeSink, QueryIdentity, Sink
from anabranch.spark.streams.written_bytes import WrittenBytes
from anabranch.streams.tables import TableDeclaration
from qa.timeouts import LONG_TIMEOUT_S

pytestmark = pytest.mark.full

COLUMNS = "id BIGINT, name STRING"
Publish = Callable[[Any], None]


def test_a_batch_that_is_asked_for_again_is_there_once(tmp_path: Path) -> None:
    """The commit of a batch is lost, as by a crash; what differs is told before.

    Then scripts read both, each as a stream and as it is.
    """
    words = [sys.executable, "-m", "tests.integration.streams.sinks.test_lake", str(tmp_path)]
    done = subprocess.run(words, cwd=Path(__file__).parents[4], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["iceberg", "3", "3", "delta", "3", "3", "read", "held-up"]


def main(directory: str) -> None:
    """Write into both, twice."""
    jars = [str(jar) for one in ("delta-4.4.0", "iceberg-1.12.0") for jar in sorted(runtime_jars(one).glob("*.jar"))]
    settings = {
        "spark.jars": ",".join(jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": f"{directory}/warehouse",
    }
    spark = session("lake", "local[2]", {**settings, "spark.sql.shuffle.partitions": "1"})
    spark.range(3).selectExpr("id", "CAST(id AS STRING) AS name").write.parquet(f"{directory}/rows")
    _refused(_sink("iceberg", table="lake.db.t"), spark, SinkMissingError)
    spark.sql(f"CREATE TABLE lake.db.t ({COLUMNS}) USING iceberg")
    for provider, options in (("iceberg", {"table": "lake.db.t"}), ("delta", {"path": f"{directory}/delta"})):
        print(provider)
        for wanted in (3, 0):
            sink = _sink(provider, **options)
            rows = spark.readStream.schema(COLUMNS).parquet(f"{directory}/rows")
            sink.check(rows.schema)
            is_ours = isinstance(sink, BatchSink)
            writer = rows.writeStream.foreachBatch(sink.write) if is_ours else sink.writer(rows)
            writer = writer.option("checkpointLocation", f"{directory}/{provider}-checkpoint")
            query = writer.trigger(availableNow=True).start()
            assert query.awaitTermination(int(LONG_TIMEOUT_S))
            assert (sink.counts.records if is_ours else _told(query)) == wanted
            written = WrittenBytes(spark, str(query.runId)).look(is_last=True)
            _check_bytes(spark, provider, options, sink.counts.bytes if is_ours else written, wanted > 0)
            if is_ours:
                sink.close()
            Path(directory, f"{provider}-checkpoint", "commits", "0").unlink()
            written = spark.table("lake.db.t") if provider == "iceberg" else spark.read.format("delta").load(**options)
            print(written.count())
        _refused(_sink(provider, **options), spark, SinkSchemaError)

    _read(spark, directory)
    _held_up(spark)


def _told(query: StreamingQuery) -> int | None:
    """The records that the query says it has written."""
    totals = QueryTotals()
    for one in query.recentProgress:
        progress_fields("q", one.json, totals, None)
    return totals.told


def _check_bytes(
    spark: SparkSession, provider: str, options: dict[str, str], counted: int | None, is_written: bool
) -> None:
    """Against what the table itself says of its files."""
    if provider == "iceberg":
        (row,) = spark.sql("SELECT sum(file_size_in_bytes) FROM lake.db.t.files").collect()
        there = int(row[0])
    else:
        (row,) = spark.sql(f"DESCRIBE HISTORY delta.`{options['path']}` LIMIT 1").collect()
        there = int(row["operationMetrics"]["numOutputBytes"])
    assert counted == (there if is_written else 0), (provider, counted, there)


def _read(spark: SparkSession, directory: str) -> None:
    """Each is a stream that is joined with the other one as it is, and written into a third."""
    iceberg = "CREATE TABLE i (name STRING, id BIGINT) USING iceberg OPTIONS (table 'lake.db.t')"
    delta = f"CREATE TABLE d USING delta OPTIONS (path '{directory}/delta')"
    for number, (stream, lookup) in enumerate((("i", "d"), ("d", "i"))):
        place = f"{directory}/joined-{number}"
        query = f"SELECT s.id, s.name, l.id + 10 AS other FROM STREAM {stream} s JOIN {lookup} l ON s.name = l.name"
        written = f"CREATE TABLE o USING delta OPTIONS (path '{place}')"
        script = f"{iceberg}; {delta}; {written}; INSERT INTO o {query};"
        (plan,) = analyse(script, spark.newSession(), sink_kinds(), KafkaReading(UnaskedClusters())).inserts
        sink = sink_kinds()["delta"].open(plan.target, QueryIdentity("j", "o", 1))
        assert isinstance(sink, NativeSink)
        writer = sink.writer(plan.rows).option("checkpointLocation", f"{place}-checkpoint")
        assert writer.trigger(availableNow=True).start().awaitTermination(int(LONG_TIMEOUT_S))
        found = spark.read.format("delta").load(place).orderBy("id").collect()
        assert [tuple(row) for row in found] == [(one, str(one), one + 10) for one in range(3)], found
    for wrong, told in (("other BIGINT", "no such column"), ("id STRING", "declared string")):
        script = f"CREATE TABLE d ({wrong}) USING delta OPTIONS (path '{directory}/delta'); SELECT * FROM d;"
        with pytest.raises(AnabranchError, match=told):
            analyse(script, spark.newSession(), {}, KafkaReading(UnaskedClusters()))
    print("read")


def _held_up(spark: SparkSession) -> None:
    """A start that has appended to its branch is held up, the next one writes the same batch and another: each once."""
    spark.sql(f"CREATE TABLE lake.db.held ({COLUMNS}) USING iceberg PARTITIONED BY (bucket(2, id))")
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "of-the-checkpoint")
    for first in (0, 2):
        batches = [spark.range(start, start + 3).select("id") for start in (3 * first, 3 * first + 3)]
        early, late = (_iceberg("lake.db.held", fence) for fence in (1, 2))
        if first:
            late._loaded()  # the branch of the earlier start comes after what were there are taken away
        early._publish = partial(_after, spark, late, batches, first, early._publish)  # type: ignore[method-assign]
        if first:
            early.write(batches[0], first)
        else:
            with pytest.raises(BranchGoneError):
                early.write(batches[0], first)
        with pytest.raises(BatchBehindError):
            early.write(batches[0], first)
        late.write(batches[1], first + 1)
        assert (early.counts.records, late.counts.records) == (0, 6)
        early.close()
        late.close()
    found = [row.id for row in spark.sql("SELECT id FROM lake.db.held WHERE id >= 0 ORDER BY id").collect()]
    assert found == [*range(12)], found
    assert [row.name for row in spark.sql("SELECT name FROM lake.db.held.refs").collect()] == ["main"]
    kinds = {row.operation for row in spark.sql("SELECT operation FROM lake.db.held.snapshots").collect()}
    assert kinds == {"append"}, "a stream of the table reads on"
    print("held-up")


def _after(
    spark: SparkSession, late: IcebergSink, batches: list[DataFrame], first: int, publish: Publish, table: Any
) -> None:
    """Publish what a start has appended after the next start, and somebody else, have written."""
    for number, batch in enumerate(batches):
        late.write(batch, first + number)
    spark.sql("INSERT INTO lake.db.held VALUES (-1, 'of somebody else')")
    publish(table)


def _iceberg(table: str, fence: int) -> IcebergSink:
    sink = IcebergSink(TableDeclaration("t", "iceberg", options={"table": table}), QueryIdentity("j", "t", fence))
    sink.check(StructType([StructField("id", LongType())]))
    return sink


def _sink(provider: str, **options: str) -> Sink:
    return sink_kinds()[provider].open(TableDeclaration("t", provider, options=options), QueryIdentity("j", "t", 1))


def _refused(sink: Sink, spark: SparkSession, kind: type[AnabranchError]) -> None:
    try:
        sink.check(spark.range(1).selectExpr("id AS number").schema)
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


if __name__ == "__main__":
    main(*sys.argv[1:])
