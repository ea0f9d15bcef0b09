"""The sink of Kafka tables."""

from __future__ import annotations

import json

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from anabranch.config.jobspec import entry_of
from anabranch.errors import InvalidFieldError
from anabranch.model.cluster import ClusterContext
from anabranch.model.routing import ClientRole
from anabranch.spark.streams.clusters import ClusterCodes, LedTable
from anabranch.spark.streams.kafka_sink import FORMAT, counts_of, register
from anabranch.spark.streams.kafka_tables import PROVIDER, WRITING, check_topics, encoded, kafka_settings, topics_of
from anabranch.spark.streams.sinks.port import SinkCounts, SinkKind
from anabranch.streams.connectors import option
from anabranch.streams.tables import TableDeclaration


class KafkaTableSink:
    """Rows of a table as records of its topic."""

    def __init__(self, clusters: ClusterCodes, table: TableDeclaration) -> None:
        self.counts = SinkCounts()
        self._clusters = clusters
        self._table = table
        self._spark: SparkSession | None = None

    def counts_of(self, query: str) -> SinkCounts:
        """As the coordinator of the sink's transactions counts it."""
        return self.counts if self._spark is None else counts_of(self._spark, query)

    @property
    def context(self) -> ClusterContext:
        """How its tasks reach its cluster; raises UnknownClusterError."""
        return self._lead().context

    def check(self, _schema: StructType) -> None:
        if len(topics_of(self._table)) != 1:
            raise InvalidFieldError(f"table {self._table.name}", "topic", "a table that is written has one topic")
        check_topics(self._lead())

    def writer(self, rows: DataFrame) -> DataStreamWriter:
        self._spark = rows.sparkSession
        led = self._lead()
        context = json.dumps(entry_of(led.context))
        settings = {**kafka_settings(self._table), "context": context, "topic": led.topics[0]}
        return kafka_writer(encoded(rows, self._table), settings)

    def _lead(self) -> LedTable:
        return self._clusters.lead(option(self._table, "cluster"), topics_of(self._table), ClientRole.PRODUCER)


def kafka_writer(records: DataFrame, settings: dict[str, str]) -> DataStreamWriter:
    """The writer of records (``key``, ``value``, ``headers``) to the topic that the settings name: each once.

    Its transactional id is the query's, which the checkpoint keeps: a start fences the ones before it.
    """
    register(records.sparkSession)
    return records.writeStream.format(FORMAT).options(**settings).outputMode("append")


def kafka_kind(clusters: ClusterCodes) -> SinkKind:
    """The sink of tables whose cluster codes are led so."""
    return SinkKind(
        PROVIDER,
        lambda table, _: KafkaTableSink(clusters, table),
        dict(WRITING.required),
        dict(WRITING.optional),
        exact=True,
    )
