"""Streaming queries over Kafka that leave checkpoints behind; run by a Python that has the pyspark of one release.

    python queries.py BOOTSTRAP JARS DIRECTORY NAME [NAME...]

Needs nothing of the product, so that any release's environment can run it. Each query ends by itself: a bounded trigger
with a rate limit gives several batches, and a batch that fails leaves one that was begun and not committed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


class Queries:
    """One method a checkpoint; the method's name is the checkpoint's."""

    def __init__(self, spark: SparkSession, bootstrap: str, directory: Path) -> None:
        self.spark = spark
        self.bootstrap = bootstrap
        self.directory = directory

    def kafka(self, topics: str, per_batch: int = 6, kind: str = "subscribe", **options: str) -> DataFrame:
        reader = self.spark.readStream.format("kafka").option("kafka.bootstrap.servers", self.bootstrap)
        reader = reader.option(kind, topics).option("startingOffsets", "earliest")
        for key, value in {"maxOffsetsPerTrigger": str(per_batch), **options}.items():
            reader = reader.option(key, value)
        return reader.load()

    def run(self, frame: DataFrame, name: str, fail_at: int = -1, mode: str = "append") -> None:
        def take(batch: DataFrame, number: int) -> None:
            batch.count()
            if number == fail_at:
                raise RuntimeError("this batch is not to be committed")

        writer = frame.writeStream.foreachBatch(take).outputMode(mode).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(self.directory / name)).start()
        try:
            query.awaitTermination()
        except Exception as error:
            if fail_at < 0:
                raise
            print(name, "failed as it should:", str(error).splitlines()[0][:100])

    def stateless(self) -> None:
        self.run(self.kafka("flights,weather.reports"), "stateless")

    def windowed(self) -> None:
        self.run(self.counts(self.kafka("flights")), "windowed", mode="update")

    def uncommitted(self) -> None:
        self.run(self.counts(self.kafka("flights")), "uncommitted", 2, "update")

    def first_batch(self) -> None:
        self.run(self.kafka("flights"), "first_batch", 0)

    def twice(self) -> None:
        """One source used twice in a plan, beside another one."""
        flights = self.kafka("flights", 100)
        self.run(flights.union(flights).union(self.kafka("weather.reports", 100)), "twice")

    def mixed(self) -> None:
        """Two of Kafka with a source of files between them."""
        files = self.directory.parent / "incoming"
        files.mkdir(exist_ok=True)
        (files / "a.txt").write_text("a\n")
        texts = self.spark.readStream.text(str(files)).select(F.col("value").cast("binary").alias("value"))
        first = self.kafka("flights", 100).select("value")
        second = self.kafka("weather.reports", 100).select("value")
        self.run(first.union(texts).union(second), "mixed")

    def pattern(self) -> None:
        self.run(self.kafka("fl.*|weather.*", 100, "subscribePattern"), "pattern")

    def old_source(self) -> None:
        """The source of Spark 2, which every later release still has."""
        key = "spark.sql.streaming.disabledV2MicroBatchReaders"
        self.spark.conf.set(key, "org.apache.spark.sql.kafka010.KafkaSourceProvider")
        self.run(self.kafka("flights"), "old_source")
        self.spark.conf.unset(key)

    def rocksdb(self) -> None:
        """State of RocksDB with the ids of its files in commits/, which makes commits of version 2."""
        self.spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        self.spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "2")
        self.run(self.counts(self.kafka("flights")), "rocksdb", mode="update")
        self.spark.conf.unset("spark.sql.streaming.stateStore.providerClass")
        self.spark.conf.unset("spark.sql.streaming.stateStore.checkpointFormatVersion")

    def asynchronous(self) -> None:
        """Progress written now and then only."""
        query = (
            self.kafka("flights", 2)
            .writeStream.format("noop")
            .option("checkpointLocation", str(self.directory / "asynchronous"))
            .option("asyncProgressTrackingEnabled", "true")
            .option("asyncProgressTrackingCheckpointIntervalMs", "700")
            .trigger(processingTime="200 milliseconds")
            .start()
        )
        query.awaitTermination(12)
        query.stop()

    def continuous(self) -> None:
        query = (
            self.kafka("weather.reports")
            .writeStream.format("noop")
            .option("checkpointLocation", str(self.directory / "continuous"))
            .trigger(continuous="1 second")
            .start()
        )
        for _ in range(120):
            if (self.directory / "continuous" / "commits" / "2").exists():
                break
            query.awaitTermination(1)
        query.stop()

    def mapped(self) -> None:
        """The offsets log of version 2, where sources have numbers."""
        self.spark.conf.set("spark.sql.streaming.offsetLog.formatVersion", "2")
        self.run(self.kafka("flights", 100).union(self.kafka("weather.reports", 100)), "mapped")
        self.spark.conf.unset("spark.sql.streaming.offsetLog.formatVersion")

    def named(self) -> None:
        """The offsets log of version 2, where sources have names."""
        self.spark.conf.set("spark.sql.streaming.offsetLog.formatVersion", "2")
        self.spark.conf.set("spark.sql.streaming.queryEvolution.enableSourceEvolution", "true")
        frames = []
        for topic, name in (("flights", "flights_in"), ("weather.reports", "weather_in")):
            reader = self.spark.readStream.format("kafka").option("kafka.bootstrap.servers", self.bootstrap)
            reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
            frames.append(reader.option("maxOffsetsPerTrigger", "6").name(name).load())
        self.run(frames[0].union(frames[1]), "named")
        self.spark.conf.unset("spark.sql.streaming.offsetLog.formatVersion")
        self.spark.conf.unset("spark.sql.streaming.queryEvolution.enableSourceEvolution")

    def counts(self, frame: DataFrame) -> DataFrame:
        timed = frame.withWatermark("timestamp", "1 minute")
        return timed.groupBy(F.window("timestamp", "1 minute"), F.col("key")).count()


def main(bootstrap: str, jars: str, directory: str, *names: str) -> None:
    """Run the named queries one after another."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("checkpoints").config("spark.jars", jars)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    queries = Queries(spark, bootstrap, Path(directory))
    for name in names:
        getattr(queries, name)()
        print("made", name)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
