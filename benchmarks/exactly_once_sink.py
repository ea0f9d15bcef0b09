"""The exactly-once Kafka sink beside Spark's own: ``python -m benchmarks.exactly_once_sink``.

One real broker and one Spark session, ``local[2]``.  A streaming query reads Parquet files with keys of 8 bytes and
values of 200, in batches of 500,000 records, and writes them to a topic of four partitions: in turns with Spark's own
sink, which is at least once, and with the exactly-once sink, which commits each batch as one transaction.  Counted is
the time that Spark takes for its batches, reading and committing included, without the start of the query; a first turn
of each is not counted.  Writes the section ``exactly_once_sink`` of ``build/bench.json``.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from confluent_kafka.admin import NewTopic
from pyspark.sql import SparkSession

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.spark.streams.kafka_sink import FORMAT, register
from benchmarks import report
from benchmarks.run import OUTPUT
from qa.brokers import STEADY, create_topics
from qa.verify_lab import spark_session

BATCH, BATCHES, PARTITIONS = 500_000, 3, 4
SPARKS = "kafka"


@dataclass(frozen=True)
class SinkSpeed:
    """Records per second of each counted turn, and the median."""

    sink: str
    records_per_s: float
    turns: tuple[float, ...]


def main() -> None:
    """Measure, print, and write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--records", type=int, default=BATCH, help="records of a batch")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    (cluster,) = start_clusters([ClusterSpec("here", overrides=STEADY, heap_mb=1024)])
    with tempfile.TemporaryDirectory() as name, cluster:
        root = Path(name)
        spark = spark_session("exactly-once sink", "local[2]")
        register(spark)
        _make_files(spark, root, arguments.records)
        turns: dict[str, list[float]] = {SPARKS: [], FORMAT: []}
        for turn in range(arguments.turns + 1):
            for sink, speeds in turns.items():
                speed = _turn(spark, cluster, root, sink, turn, arguments.records)
                if turn:
                    speeds.append(speed)
        spark.stop()
    found = [
        SinkSpeed(sink, round(statistics.median(speeds)), tuple(round(one) for one in speeds))
        for sink, speeds in turns.items()
    ]
    ratios = [ours / theirs for theirs, ours in zip(turns[SPARKS], turns[FORMAT], strict=True)]
    lines = [("sink", "records/s", "slowest", "fastest")]
    lines += [(one.sink, f"{one.records_per_s:,.0f}", f"{min(one.turns):,}", f"{max(one.turns):,}") for one in found]
    print(report.columns(lines, left=1))
    print(f"{FORMAT} writes {statistics.median(ratios):.2f} times as many records a second as Spark's own sink")
    ratio = round(statistics.median(ratios), 3)
    report.write("exactly_once_sink", {"sinks": [asdict(one) for one in found], "ratio": ratio}, arguments.output)


def _make_files(spark: SparkSession, root: Path, records: int) -> None:
    """The input, a directory a batch, with four files each."""
    for batch in range(BATCHES):
        frame = spark.range(batch * records, (batch + 1) * records, 1, 4).selectExpr(
            "encode(lpad(string(id % 100000), 8, '0'), 'UTF-8') AS key",
            "encode(rpad(string(id), 200, sha2(string(id), 512)), 'UTF-8') AS value",
        )
        frame.write.mode("append").parquet(str(root / "in"))


def _turn(spark: SparkSession, cluster: SandboxCluster, root: Path, sink: str, turn: int, records: int) -> float:
    """Records per second of one query over all files."""
    topic = f"{sink}-{turn}"
    create_topics(cluster, [NewTopic(topic, PARTITIONS, 1)])
    rows = spark.readStream.schema("key binary, value binary").option("maxFilesPerTrigger", 4).parquet(str(root / "in"))
    query = (
        rows.writeStream.format(sink)
        .option("kafka.bootstrap.servers", cluster.internal_bootstrap)
        .option("topic", topic)
        .option("checkpointLocation", str(root / "checkpoints" / topic))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    seconds: float = sum(one["durationMs"]["triggerExecution"] for one in query.recentProgress) / 1000
    written: int = sum(one["numInputRows"] for one in query.recentProgress)
    assert written == BATCHES * records, written
    return written / seconds


if __name__ == "__main__":
    main()
