"""The rows of a task as encoded batches of the partitions that they belong to.

The partition of a row is that of its ``partition`` column, else that of its key as Java's producer has it (murmur2),
else, without a key, one after the other for runs of rows.  Rows of one partition keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from anabranch.model.clock import now_ms
from anabranch.model.topics import TopicPartition
from anabranch.records.compression import compress
from anabranch.records.header import Codec
from anabranch.spark.streams.kafka_sink.encoding import OVERHEAD, cuts, encode, headers_of, sizes_of
from anabranch.spark.streams.kafka_sink.errors import KafkaSinkOptionError, SinkColumnError, SinkRowError
from anabranch.spark.streams.kafka_sink.murmur2 import partitions_of
from anabranch.spark.streams.kafka_sink.spool import PackedBatch, Spool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHUNK_BYTES = 32 << 20
"""Rows are encoded together that take so many bytes as Spark hands them over."""
_KEYLESS_RUN = 1000
_TYPES: dict[str, tuple[type, ...]] = {
    "key": (StringType, BinaryType),
    "value": (StringType, BinaryType),
    "topic": (StringType,),
    "partition": (IntegerType,),
    "timestamp": (TimestampType, TimestampNTZType),
    "headers": (ArrayType,),
}
Layout = Callable[[Sequence[str]], dict[str, int]]


def check_columns(schema: StructType, topic: str | None) -> None:
    """Raise SinkColumnError, or KafkaSinkOptionError where nothing names the topic."""
    for field in schema.fields:
        kinds = _TYPES.get(field.name)
        if kinds is None:
            raise SinkColumnError(field.name, "unknown")
        if not isinstance(field.dataType, kinds):
            raise SinkColumnError(field.name, f"its type is {_type_of(field)}")
        if field.name == "headers":
            inner = getattr(field.dataType, "elementType", None)
            wanted = [("key", StringType), ("value", BinaryType)]
            if (
                not isinstance(inner, StructType)
                or [(part.name, type(part.dataType)) for part in inner.fields] != wanted
            ):
                raise SinkColumnError(field.name, f"its type is {_type_of(field)}")
    names = schema.fieldNames()
    if "value" not in names:
        raise SinkColumnError("value", "missing")
    if "topic" not in names and topic is None:
        raise KafkaSinkOptionError("topic", "missing", "name the topic, or give the rows a column `topic`")


def _type_of(field: StructField) -> str:
    return str(field.dataType.simpleString())


class RecordEncoder:
    """Puts rows into a spool.

    ``layout`` tells how many partitions topics have, ``first`` where rows without a key begin.
    """

    def __init__(self, spool: Spool, codec: Codec, topic: str | None, layout: Layout, first: int) -> None:
        self._spool = spool
        self._codec = codec
        self._topic = topic
        self._layout = layout
        self._partitions: dict[str, int] = {}
        self._keyless = first * _KEYLESS_RUN

    def add_all(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Encode everything; the number of rows.  Raises SinkRowError."""
        waiting: list[pa.RecordBatch] = []
        held = rows = 0
        for batch in batches:
            waiting.append(batch)
            held += batch.nbytes
            rows += batch.num_rows
            if held >= CHUNK_BYTES:
                self._add(waiting)
                waiting, held = [], 0
        self._add(waiting)
        return rows

    def _add(self, batches: Sequence[pa.RecordBatch]) -> None:
        import numpy as np

        if not any(batch.num_rows for batch in batches):
            return
        table = pa.Table.from_batches(batches).combine_chunks()
        keys = _binary(table, "key")
        topics, topic_of = self._topics(table)
        partition_of = self._partition(table, keys, topics, topic_of)
        targets = topic_of * (1 << 32) + partition_of
        order = np.argsort(targets, kind="stable")
        sorted_targets = targets[order]
        starts = np.flatnonzero(np.diff(sorted_targets, prepend=-1))
        rows = pa.array(order)
        keys, values = keys.take(rows), _binary(table, "value").take(rows)
        headers = headers_of(_one(table, "headers").take(rows)) if "headers" in table.column_names else None
        times = _times(table)[order]
        sizes = sizes_of(keys).clip(0) + sizes_of(values).clip(0) + OVERHEAD
        if headers is not None:
            sizes += sizes_of(headers)
        bounds = cuts(sizes, starts)
        begins = np.repeat(bounds[:-1], np.diff(bounds))
        data, places = encode(keys, values, headers, np.arange(len(order)) - begins, times - times[begins])
        for first, stop in pairwise(bounds):
            target = int(sorted_targets[first])
            records = bytes(data[places[first] : places[stop]])
            stamps = int(times[first]), int(times[first:stop].max())
            packed = PackedBatch(compress(self._codec, records), stop - first, stamps, self._codec)
            self._spool.add(TopicPartition(topics[target >> 32], target & 0xFFFFFFFF), packed)

    def _topics(self, table: pa.Table) -> tuple[list[str], NDArray[np.int64]]:
        """The topics of these rows, and which of them each row has; how many partitions each has is known after."""
        import numpy as np

        if self._topic is not None:
            names, found = [self._topic], np.zeros(table.num_rows, np.int64)
        else:
            column = _one(table, "topic")
            if column.null_count:
                raise SinkRowError("a row has no topic")
            coded = pc.dictionary_encode(column)
            names = coded.dictionary.to_pylist()
            found = np.asarray(coded.indices.to_numpy(zero_copy_only=False), np.int64)
        new = [name for name in names if name not in self._partitions]
        if new:
            self._partitions |= self._layout(new)
        return names, found

    def _partition(
        self, table: pa.Table, keys: pa.LargeBinaryArray, topics: Sequence[str], topic_of: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        import numpy as np

        counts = np.array([self._partitions[name] for name in topics], np.int64)[topic_of]
        numbers = self._keyless + np.arange(table.num_rows)
        self._keyless += table.num_rows
        found = (numbers // _KEYLESS_RUN) % counts
        with_key = keys.is_valid().to_numpy(zero_copy_only=False)
        for count in np.unique(counts):
            rows = np.flatnonzero(with_key & (counts == count))
            if len(rows):
                chosen = keys.take(pa.array(rows))
                _, offsets, data = chosen.buffers()
                places = np.frombuffer(offsets, np.int64)[chosen.offset : chosen.offset + len(chosen) + 1]
                found[rows] = partitions_of(np.frombuffer(data or b"", np.uint8), places, int(count))
        if "partition" in table.column_names:
            column = _one(table, "partition")
            given = column.is_valid().to_numpy(zero_copy_only=False)
            told = np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False), np.int64)
            wrong = np.flatnonzero(given & ((told < 0) | (told >= counts)))
            if len(wrong):
                row = int(wrong[0])
                name = topics[topic_of[row]]
                raise SinkRowError(f"a row is for partition {told[row]} of {name}, which has {counts[row]}")
            found = np.where(given, told, found)
        return found


def _one(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _binary(table: pa.Table, name: str) -> pa.LargeBinaryArray:
    """A column of strings or bytes as bytes; nulls where there is no such column."""
    if name not in table.column_names:
        return pa.nulls(table.num_rows, pa.large_binary())
    column = _one(table, name)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.large_string())
    return column.cast(pa.large_binary())


def _times(table: pa.Table) -> NDArray[np.int64]:
    """Milliseconds since 1970 of each row; of now where it has no time."""
    import numpy as np

    now = now_ms()
    if "timestamp" not in table.column_names:
        return np.full(table.num_rows, now, np.int64)
    column = _one(table, "timestamp").cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    found = np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False), np.int64) // 1000
    return np.where(column.is_valid().to_numpy(zero_copy_only=False), found, now)
