"""The sinks: how a query writes into one, and what is in it afterwards."""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.window import Window

from qa.streamjobs.spec import Kind, QuerySpec, Sink, Trigger

CATALOG = "lake"
# Queries of one process stay together.
_PACE = "3 seconds"


def start(spark: SparkSession, rows: DataFrame, spec: QuerySpec) -> StreamingQuery:
    """Start the query into its sink."""
    mode = "update" if spec.kind is Kind.COUNTS else "append"
    writer = rows.writeStream.queryName(spec.name).outputMode(mode).option("checkpointLocation", spec.checkpoint)
    writer = _triggered(writer, spec.trigger)
    match spec.sink:
        case Sink.DELTA:
            return writer.format("delta").start(spec.output)
        case Sink.FILES:
            return writer.format("parquet").start(spec.output)
        case Sink.ICEBERG:
            columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema.fields)
            spark.sql(f"CREATE TABLE IF NOT EXISTS {_table(spec)} ({columns}) USING iceberg")
            return writer.format("iceberg").toTable(_table(spec))
        case Sink.BATCHES:
            return writer.foreachBatch(lambda batch, number: _write(batch, number, spec)).start()


def content(spark: SparkSession, spec: QuerySpec, columns: list[str]) -> DataFrame:
    """What a reader of the sink sees now; of rewritten rows the latest."""
    match spec.sink:
        case Sink.DELTA:
            return spark.read.format("delta").load(spec.output)
        case Sink.FILES:
            return spark.read.parquet(spec.output)
        case Sink.ICEBERG:
            return spark.table(_table(spec))
        case Sink.BATCHES:
            rows = spark.read.parquet(spec.output)
            if spec.kind is not Kind.COUNTS:
                return rows.select(columns)
            latest = Window.partitionBy("origin", "dest").orderBy(F.col("batch").desc())
            return rows.withColumn("age", F.row_number().over(latest)).where("age = 1").select(columns)


def _write(batch: DataFrame, number: int, spec: QuerySpec) -> None:
    """The same batch again takes the place of what it wrote before."""
    batch.write.mode("overwrite").parquet(f"{spec.output}/batch={number}")
    if spec.hold is not None and number >= spec.hold:
        spec.held.touch()
        time.sleep(3600)


def _triggered(writer: DataStreamWriter, trigger: Trigger) -> DataStreamWriter:
    match trigger:
        case Trigger.FOLLOWING:
            return writer.trigger(processingTime=_PACE)
        case Trigger.AVAILABLE:
            return writer.trigger(availableNow=True)
        case Trigger.ONCE:
            return writer.trigger(once=True)


def _table(spec: QuerySpec) -> str:
    return f"{CATALOG}.jobs.{Path(spec.output).name.replace('-', '_')}"
