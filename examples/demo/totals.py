"""A stateful Spark job: count, sum and last number of each store's orders, in one query with a checkpoint.

``python -m examples.demo.totals DIRECTORY old=SERVERS new=SERVERS``.  Its session stays; its query is stopped and
started as it is told, each time on the same checkpoint.  ``DIRECTORY/totals.json`` holds the totals as the sink has
them.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.sandbox.jars import runtime_jars
from examples.demo.control import CHECKPOINT, STOPPED, Control

TOPIC = "orders"
CONNECTOR = "spark-kafka-4.1.3"
_LOOK_S = 0.05
_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
}


def session(directory: Path) -> SparkSession:
    """A local session with the Kafka source."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    jars = ",".join(map(str, sorted(runtime_jars(CONNECTOR).glob("*.jar"))))
    builder = SparkSession.builder.appName("totals").master("local[2]").config("spark.jars", jars)
    builder = builder.config("spark.local.dir", str(directory / "local"))
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


class Totals:
    """The query, on one cluster after the other."""

    def __init__(self, spark: SparkSession, directory: Path, clusters: dict[str, str]) -> None:
        self._spark = spark
        self._directory = directory
        self._clusters = clusters
        self._totals: dict[str, list[int]] = {}
        self._lock = threading.Lock()

    def start(self, cluster: str) -> StreamingQuery:
        """Begin, or go on where the checkpoint is."""
        orders = (
            self._spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self._clusters[cluster])
            .option("subscribe", TOPIC)
            .option("startingOffsets", "earliest")
            .load()
        )
        number = F.split(F.col("value").cast("string"), ":")[1].cast("long")
        rows = orders.select(F.col("key").cast("string").alias("store"), number.alias("number"))
        totals = rows.groupBy("store").agg(F.count("*").alias("orders"), F.sum("number").alias("sum"), F.max("number"))
        writer = totals.writeStream.outputMode("update").option("checkpointLocation", str(self.checkpoint))
        return writer.trigger(processingTime="2 seconds").foreachBatch(self._keep).start()

    def stop(self, query: StreamingQuery) -> bool:
        """Stop between two batches; returns whether no batch is left half done."""
        while query.isActive and query.status["isTriggerActive"]:
            time.sleep(_LOOK_S)
        query.stop()
        begun, done = (self._newest(log) for log in ("offsets", "commits"))
        return begun == done

    @property
    def checkpoint(self) -> Path:
        """Where it is."""
        return self._directory / CHECKPOINT

    def _newest(self, log: str) -> int:
        directory = self.checkpoint / log
        names = os.listdir(directory) if directory.is_dir() else []
        return max((int(name) for name in names if name.isdecimal()), default=-1)

    def _keep(self, batch: DataFrame, number: int) -> None:
        """The sink: a batch that is written again says the same."""
        rows: list[Any] = batch.collect()
        with self._lock:
            self._totals |= {row[0]: [row[1], row[2], row[3]] for row in rows}
            beside = self._directory / "totals.new"
            beside.write_text(json.dumps({"batch": number, "totals": self._totals}))
            beside.replace(self._directory / "totals.json")


def main() -> None:
    """Run where it is told to, until it is killed."""
    directory = Path(sys.argv[1])
    clusters = dict(word.split("=", 1) for word in sys.argv[2:])
    control = Control(directory)
    totals = Totals(session(directory), directory, clusters)
    while True:
        where = control.wanted()
        if where == STOPPED:
            time.sleep(_LOOK_S)
            continue
        query = totals.start(where)
        control.tell(where)
        while query.isActive and control.wanted() == where:
            time.sleep(_LOOK_S)
        if (error := query.exception()) is not None:
            sys.exit(str(error))
        while not totals.stop(query):  # it was stopped in a batch: that one is finished first
            query = totals.start(where)
            time.sleep(1.0)
        control.tell(STOPPED)


if __name__ == "__main__":
    main()
