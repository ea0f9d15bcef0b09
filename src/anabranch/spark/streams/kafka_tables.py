"""Kafka tables: a topic's records as rows, by the table's format.

Without columns a table is schemaless: ``key``, ``value`` (text), ``topic``, ``partition``, ``offset``, ``timestamp``
and ``headers``.  With columns they are the value's, but for those that are the record's own (``_key``, ``_topic``,
``_partition``, ``_offset``, ``_timestamp``, ``_headers``).

Invariants
    K1  a record that cannot be decoded is never taken for another one: the query fails and names its topic, partition
        and offset, or passes over it, or has nulls for it, as ``on.error`` says.
    K2  whether a record can be decoded does not depend on which columns a query reads.
    K3  each record is decoded once, whatever conditions the query has.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from anabranch.errors import ConfigError, InvalidFieldError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.kafka.security import open_cluster
from anabranch.kafka.start import look_up
from anabranch.model.cluster import ClusterContext
from anabranch.model.routing import ClientRole
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition
from anabranch.spark.streams import formats
from anabranch.spark.streams.clusters import ClusterCodes, LedTable
from anabranch.spark.streams.formats import ValueFormat, columns_of, format_of
from anabranch.spark.streams.formats.port import OWN
from anabranch.streams.connectors import Connector, choice, flag, option
from anabranch.streams.tables import Column as Declared
from anabranch.streams.tables import TableDeclaration

PROVIDER = "kafka"
ON_ERROR = ("fail", "skip", "null")
READING = Connector(
    PROVIDER,
    {"cluster": "the code of the cluster", "topic": "the topic, or several with commas"},
    {
        **formats.OPTIONS,
        "start": "where a first start begins: earliest, latest, a time, group:NAME, or TOPIC-PARTITION:OFFSET,...",
        "fail.on.data.loss": "whether the query fails where records expired before it read them: true or false",
        "on.error": f"what becomes of a record that cannot be decoded: {', '.join(ON_ERROR)}",
        "max.records.per.batch": "how many records one micro-batch reads at most",
    },
    (*formats.PREFIXES, "kafka."),
)
WRITING = Connector(
    PROVIDER,
    {"cluster": "the code of the cluster", "topic": "the topic"},
    {**formats.OPTIONS, "key": "the column whose text is the record's key"},
    (*formats.PREFIXES, "kafka."),
)
SCHEMALESS = "key STRING, value STRING, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, headers ..."
_KAFKA = "kafka."
_VALUE, _DECODED, _NUMBER = "_anabranch_value", "_anabranch_decoded", "_anabranch_number"


@dataclass(eq=False)
class NoTopicError(ConfigError):
    """A topic of a table is not there."""

    topic: str
    cluster: str

    _message = "cluster {cluster} has no topic {topic!r}"
    _hint = "correct the option topic, or make the topic"


@dataclass(frozen=True, slots=True)
class KafkaReading:
    """How Kafka tables are read: whom to ask for clusters, and whether topics and starts are looked up there.

    ``start`` is taken in place of each table's own; where it is partial, only by a table that has a topic in it.
    ``most`` bounds a micro-batch, 0 does not.
    """

    clusters: ClusterCodes
    looks_up: bool = True
    start: StartPosition | None = None
    most: int = 0
    is_partial: bool = False

    def rows(self, spark: SparkSession, table: TableDeclaration) -> DataFrame:
        """The records of a table as a stream; raises ConfigError, ClusterError."""
        topics = topics_of(table)
        led = self.clusters.lead(option(table, "cluster"), topics, ClientRole.CONSUMER)
        if self.looks_up:
            check_topics(led)
        settings = {
            **led.options(ClientRole.CONSUMER),
            **kafka_settings(table),
            "subscribe": ",".join(led.topics),
            "includeHeaders": "true",
            "failOnDataLoss": str(flag(table, "fail.on.data.loss", True)).lower(),
            **self._starting(table, led.context, dict(zip(topics, led.topics, strict=True))),
        }
        if most := _most(table) or self.most:
            settings["maxOffsetsPerTrigger"] = str(min(most, self.most or most))
        records = spark.readStream.format("kafka").options(**settings).load()
        if not table.columns and choice(table, "format", formats.FORMATS, "json") not in formats.WITH_SCHEMA:
            return records.select(
                F.col("key").cast("string"),
                F.col("value").cast("string"),
                *("topic", "partition", "offset", "timestamp", "headers"),
            )
        return decoded(records, table, format_of(table))

    def _starting(self, table: TableDeclaration, context: ClusterContext, names: Mapping[str, str]) -> dict[str, str]:
        start = self.start or start_of(table)
        if self.is_partial:
            own = {one: at for one, at in start.offsets.items() if one.topic in names.values()}
            start = StartPosition(StartKind.OFFSETS, offsets=own) if own else start_of(table)
        is_looked_up = start.kind in (StartKind.GROUP, StartKind.OFFSETS)
        return {} if is_looked_up and not self.looks_up else starting_options(context, start, names)


def starting_options(context: ClusterContext, start: StartPosition, names: Mapping[str, str]) -> dict[str, str]:
    """A start as options of Spark's source; ``names`` are the topics' names there, by those that they are asked for.

    Raises ClusterError, NoTopicError, InvalidFieldError for a partition that is not there.
    """
    if start.kind in (StartKind.EARLIEST, StartKind.LATEST):
        return {"startingOffsets": start.kind.value}
    if start.kind is StartKind.TIMESTAMP:
        # Where no record is as young: the end, as for links and groups.
        how = {"startingOffsetsByTimestampStrategy": "latest"}
        return {"startingTimestamp": str(start.timestamp_ms), **how}
    return {"startingOffsets": json.dumps(asyncio.run(_offsets(context, start, names)))}


def decoded(records: DataFrame, table: TableDeclaration, form: ValueFormat) -> DataFrame:
    """Spark's records of Kafka as the columns of a table (K1, K2, K3)."""
    wanted = choice(table, "on.error", ON_ERROR, "fail")
    value, struct = F.col(_VALUE), F.col(_DECODED)
    rows = records.select(
        *(F.col(name).alias(own) for own, name in OWN.items()),
        F.col("value").alias(_VALUE),
        form.decode(F.col("value")).alias(_DECODED),
        # Spark pushes no condition below a column that is not deterministic; it would decode there once more.
        F.spark_partition_id().alias(_NUMBER),
    )
    bad = form.is_bad(struct, value) & (F.col(_NUMBER) >= 0)
    if wanted == "fail":
        place = F.format_string("%s-%d at offset %d", "_topic", "_partition", "_offset")
        message = F.concat(F.lit(f"table {table.name}: the record of "), place, F.lit(" cannot be decoded"))
        rows = rows.where(F.when(bad, F.raise_error(message).cast("boolean")).otherwise(True))
    elif wanted == "skip":
        rows = rows.where(~bad)
    else:
        rows = rows.where(F.col(_NUMBER) >= 0)
        struct = F.when(~form.is_bad(struct, value), struct)
    columns = columns_of(table) if table.columns else form.fields
    return rows.select(*(_column(columns, name, struct) for name in columns.names))


def encoded(rows: DataFrame, table: TableDeclaration) -> DataFrame:
    """Rows as Spark's sink of Kafka takes them: ``key``, ``value``, and ``headers`` where the table has them."""
    own = {name.lower() for name in rows.columns} & set(OWN)
    for name in sorted(own - {"_key", "_headers"}):
        problem = "a record gets it where it is written"
        raise InvalidFieldError(f"table {table.name}", name, problem, "leave the column out of the sink table")
    fields = [name for name in rows.columns if name.lower() not in OWN]
    shape = table if table.columns else _as_declared(table, rows.schema)
    form = format_of(shape)
    key = option(table, "key")
    if key and key not in rows.columns:
        problem = f"the rows have no column {key}"
        raise InvalidFieldError(f"table {table.name}", "key", problem, f"they have {', '.join(rows.columns)}")
    chosen = F.col(_quoted(key)) if key else F.col("_key") if "_key" in own else F.lit(None)
    found = [chosen.cast("string").alias("key") if key or "_key" not in own else chosen.alias("key")]
    found.append(form.encode(F.struct(*(F.col(_quoted(name)) for name in fields))).alias("value"))
    if "_headers" in own:
        found.append(F.col("_headers").alias("headers"))
    return rows.select(*found)


def topics_of(table: TableDeclaration) -> tuple[str, ...]:
    """The topics that a table names."""
    return tuple(dict.fromkeys(one for one in (part.strip() for part in option(table, "topic").split(",")) if one))


def start_of(table: TableDeclaration) -> StartPosition:
    """Where a first start of a query begins, the earliest record where nothing is said; raises InvalidFieldError."""
    try:
        return StartPosition.parse(option(table, "start", "earliest"))
    except InvalidFieldError as error:
        raise InvalidFieldError(f"table {table.name}", "start", error.problem, error.fix) from error


def check(table: TableDeclaration) -> None:
    """Raise InvalidFieldError for options whose values cannot be; connects to nothing."""
    if not topics_of(table):
        raise InvalidFieldError(f"table {table.name}", "topic", "it is empty", "name a topic")
    start_of(table)
    flag(table, "fail.on.data.loss", True)
    choice(table, "on.error", ON_ERROR, "fail")
    _most(table)
    if table.columns:
        columns_of(table)
    if table.columns or choice(table, "format", formats.FORMATS, "json") in formats.WITH_SCHEMA:
        format_of(table)


def kafka_settings(table: TableDeclaration) -> dict[str, str]:
    """What is handed on to Kafka's own client."""
    return {name: value for name, value in table.options.items() if name.lower().startswith(_KAFKA)}


def _most(table: TableDeclaration) -> int:
    text = option(table, "max.records.per.batch", "0")
    if not text.isascii() or not text.isdigit():
        raise InvalidFieldError(f"table {table.name}", "max.records.per.batch", f"{text!r} is no number")
    return int(text)


def _column(columns: StructType, name: str, struct: Column) -> Column:
    kind = columns[name].dataType
    source = F.col(name.lower()) if name.lower() in OWN else struct.getField(name)
    return source.cast(kind).alias(name)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _as_declared(table: TableDeclaration, schema: StructType) -> TableDeclaration:
    """A sink without columns takes those of the rows."""
    return replace(table, columns=tuple(Declared(one.name, one.dataType.simpleString()) for one in schema))


def check_topics(led: LedTable) -> None:
    """Raise NoTopicError for a topic that is not there, ClusterError where the cluster does not answer."""
    asyncio.run(_partitions(led.context, led.topics))


async def _partitions(context: ClusterContext, topics: Iterable[str]) -> None:
    async with open_cluster(context) as cluster:
        await _known(cluster, topics)


async def _known(cluster: Cluster, topics: Iterable[str]) -> list[TopicPartition]:
    """All partitions of some topics."""
    names = sorted(topics)
    answer = await cluster.metadata(names)
    found: list[TopicPartition] = []
    for topic in names:
        known = answer.topics.get(topic)
        if known is None or known.error == UNKNOWN_TOPIC:
            raise NoTopicError(topic, cluster.name)
        cluster.check(known.error, "Describe", f"topic {topic}")
        found += [TopicPartition(topic, number) for number in sorted(known.partitions)]
    return found


async def _offsets(
    context: ClusterContext, start: StartPosition, names: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    """A start as offsets of every partition there; ``names`` are the topics' names there, by those of the table."""
    async with open_cluster(context) as cluster:
        partitions = await _known(cluster, names.values())
        if start.kind is StartKind.OFFSETS:
            given = {
                TopicPartition(names.get(one.topic, one.topic), one.partition): at for one, at in start.offsets.items()
            }
            start = StartPosition(StartKind.OFFSETS, offsets=given)
            for one in given:
                if one not in partitions:
                    raise InvalidFieldError("start", str(one), f"cluster {context.name} has no such partition")
        found = (await look_up(cluster, start, partitions)).offsets
    told: dict[str, dict[str, int]] = {}
    for one, offset in sorted(found.items()):
        told.setdefault(one.topic, {})[str(one.partition)] = offset
    return told
