"""Scripts in this process's Spark: analysed, and run over what there is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer
from pyspark.sql import Row, SparkSession

from anabranch.config.catalogspec import CatalogSpec
from anabranch.config.context_file import read_context
from anabranch.config.streamspec import StreamRunSpec
from anabranch.errors import AnabranchError
from anabranch.sandbox import SandboxCluster
from anabranch.spark.streams import running
from anabranch.spark.streams.analysis import AnalysedScript, analyse
from anabranch.spark.streams.clusters import ClusterCodes, ContextClusters, UnaskedClusters
from anabranch.spark.streams.kafka_tables import KafkaReading
from anabranch.spark.streams.kafka_writing import kafka_kind
from anabranch.spark.streams.sinks.console import console_kind
from anabranch.spark.streams.sinks.kinds import sink_kinds
from anabranch.streams.events import StreamEventKind
from qa.timeouts import TIMEOUT_S
from tests.integration.links.topics import produce


@dataclass(slots=True)
class StreamLab:
    """Runs scripts whose clusters are these, with checkpoints in one directory."""

    spark: SparkSession
    directory: Path
    clusters: ClusterCodes = field(default_factory=UnaskedClusters)
    shown: list[tuple[str, list[Row]]] = field(default_factory=list)
    progress: list[Mapping[str, Any]] = field(default_factory=list)
    counts: list[Mapping[str, Any]] = field(default_factory=list)
    told: list[Mapping[str, Any]] = field(default_factory=list)
    catalog: CatalogSpec | None = None

    @classmethod
    def of(cls, spark: SparkSession, directory: Path, cluster: SandboxCluster) -> StreamLab:
        """On a cluster by its code."""
        return cls(spark, directory, ContextClusters({"here": read_context("here", cluster.context(), "test")}))

    def analysed(self, script: str, looks_up: bool = False, kafka: KafkaReading | None = None) -> AnalysedScript:
        """A script in a session of its own; raises ScriptError."""
        reading = kafka or KafkaReading(self.clusters, looks_up)
        return analyse(script, self.spark.newSession(), self.kinds(), reading, catalog=self.catalog)

    def run(self, script: str) -> list[running.RunningQuery]:
        """Run a script over what there is; raises what the job would tell of."""
        spec = StreamRunSpec("lab", 1, "run", 1, script, str(self.directory / "checkpoints"), trigger="availableNow")
        queries: list[running.RunningQuery] = []
        try:
            running.open_sinks(queries, spec, self.analysed(script, looks_up=True).inserts, self.kinds())
            running.start(queries, spec.trigger)
            assert running.watch(queries, lambda: False, self.tell) == "finished"
        except AnabranchError:
            running.stop(queries, self.tell)
            raise
        finally:
            running.close(queries)
        return queries

    def tell(self, kind: StreamEventKind, fields: Mapping[str, Any]) -> None:
        """Take in an event of the queries."""
        self.told.append(fields)
        (self.progress if kind is StreamEventKind.PROGRESS else self.counts).append(fields)

    def rows(self, directory: Path) -> list[tuple[Any, ...]]:
        """What is in a table of files, in order."""
        return sorted(tuple(row) for row in self.spark.read.parquet(str(directory)).collect())

    def kinds(self) -> Any:
        """The sinks."""

        def show(query: str, _batch: int, _columns: Sequence[str], rows: Sequence[Row], _more: bool) -> None:
            self.shown.append((query, list(rows)))

        return sink_kinds((kafka_kind(self.clusters), console_kind(show)))


def produce_json(cluster: SandboxCluster, topic: str, rows: Sequence[Mapping[str, Any]], partition: int = 0) -> None:
    """A record for each row."""
    produce(cluster, topic, [{"value": json.dumps(row).encode(), "partition": partition} for row in rows], batch=1000)


def consumed(cluster: SandboxCluster, topic: str, count: int) -> list[tuple[bytes | None, bytes | None]]:
    """Key and value of the first records of a topic, read by another client."""
    settings = {"bootstrap.servers": cluster.internal_bootstrap, "group.id": "lab", "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.subscribe([topic])
    try:
        found = []
        while len(found) < count:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None and message.error() is None, f"{len(found)} of {count} records of {topic}"
            found.append((message.key(), message.value()))
        return found
    finally:
        consumer.close()
