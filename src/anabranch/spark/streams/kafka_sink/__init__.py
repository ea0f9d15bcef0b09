"""An exactly-once Kafka sink: ``df.writeStream.format("anabranch-kafka")``, a transaction for each micro-batch.

Invariants
    X1  A reader of committed records sees all records of a micro-batch, or none.
    X2  Each record of a micro-batch is committed once, however often tasks, executors, the driver or brokers end.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import SparkSession

from anabranch.spark.streams.closing import active
from anabranch.spark.streams.kafka_sink.coordinator import SinkCoordinator
from anabranch.spark.streams.kafka_sink.data_source import KafkaSink
from anabranch.spark.streams.kafka_sink.messages import Address
from anabranch.spark.streams.kafka_sink.settings import FORMAT
from anabranch.spark.streams.sinks.port import SinkCounts

__all__ = ["FORMAT", "counts_of", "register"]

_LOOPBACK = "127.0.0.1"
_started: WeakKeyDictionary[SparkContext, tuple[Address, SinkCoordinator]] = WeakKeyDictionary()


def register(spark: SparkSession) -> None:
    """Let a session's queries write with the format ``anabranch-kafka``; calling it again changes nothing.

    It starts a server in this process, which tasks ask before they write: at the loopback address where Spark's
    master is
    local, else at ``spark.driver.bindAddress``, found by tasks at ``spark.driver.host``.  Raises OSError where it
    cannot listen there.
    """
    context = spark.sparkContext
    started = _started.get(context)
    if started is None:
        host = bind = _LOOPBACK
        if not context.master.startswith("local"):
            host = context.getConf().get("spark.driver.host") or _LOOPBACK
            bind = context.getConf().get("spark.driver.bindAddress") or host
        started = _started[context] = SinkCoordinator.start(bind, host)
    found = started[0]

    class RegisteredKafkaSink(KafkaSink):
        """The sink that knows this driver's coordinator."""

        coordinator = found

    with active(spark):  # Spark looks for another source of the name in the active session, which may have ours
        spark.dataSource.register(RegisteredKafkaSink)


def counts_of(spark: SparkSession, query: str) -> SinkCounts:
    """What the query of that id of Spark's has written with the format since this process began."""
    started = _started.get(spark.sparkContext)
    return SinkCounts(bytes=0) if started is None else started[1].counts_of(query)
