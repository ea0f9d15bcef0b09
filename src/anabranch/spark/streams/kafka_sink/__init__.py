"""An exactly-once Kafka sink: ``df.writeStream.format("anabranch-kafka")``, a transaction for each micro-batch.

Invariants
    X1  A reader of committed records sees all records of a micro-batch, or none.
    X2  Each record of a micro-batch is committed once, however often tasks, executors, the driver or brokers end.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import SparkSession

from anabranch.spark.streams.kafka_sink.coordinator import SinkCoordinator
from anabranch.spark.streams.kafka_sink.data_source import KafkaSink
from anabranch.spark.streams.kafka_sink.messages import Address
from anabranch.spark.streams.kafka_sink.settings import FORMAT

__all__ = ["FORMAT", "register"]

_LOOPBACK = "127.0.0.1"
_started: WeakKeyDictionary[SparkContext, Address] = WeakKeyDictionary()


def register(spark: SparkSession) -> None:
    """Let a session's queries write with the format ``anabranch-kafka``; calling it again changes nothing.

    It starts a server in this process, which tasks ask before they write: at the loopback address where Spark's
    master is
    local, else at ``spark.driver.bindAddress``, found by tasks at ``spark.driver.host``.  Raises OSError where it
    cannot listen there.
    """
    context = spark.sparkContext
    address = _started.get(context)
    if address is None:
        host = bind = _LOOPBACK
        if not context.master.startswith("local"):
            host = context.getConf().get("spark.driver.host") or _LOOPBACK
            bind = context.getConf().get("spark.driver.bindAddress") or host
        address = SinkCoordinator.start(bind, host)
        _started[context] = address
    found = address

    class RegisteredKafkaSink(KafkaSink):
        """The sink that knows this driver's coordinator."""

        coordinator = found

    spark.dataSource.register(RegisteredKafkaSink)
