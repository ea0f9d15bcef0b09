"""Rows of the exactly-once Kafka sink as batches: read back by a decoder that shares no code with the encoder."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import ArrayType, IntegerType, LongType, StringType, StructType

from anabranch.errors import ConfigError
from anabranch.kafka.transactional import TransactionalProducer
from anabranch.model.topics import TopicPartition
from anabranch.records.decode import decode
from anabranch.records.header import HEADER_SIZE, Codec
from anabranch.records.patch import check_crc
from anabranch.records.split import split
from anabranch.spark.streams.kafka_sink.encoding import BATCH_BYTES
from anabranch.spark.streams.kafka_sink.errors import SinkRowError
from anabranch.spark.streams.kafka_sink.murmur2 import murmur2, partition_of
from anabranch.spark.streams.kafka_sink.rows import RecordEncoder, check_columns
from anabranch.spark.streams.kafka_sink.spool import Spool
from tests.chance import examples

pytestmark = pytest.mark.unit
PRODUCER = TransactionalProducer("id", 4711, 3)
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("headers", HEADERS),
    ]
)
LAYOUT = {"a": 1, "b": 3, "c": 7}
ROWS = st.fixed_dictionaries(
    {
        "key": st.none() | st.binary(max_size=9) | st.binary(min_size=250, max_size=300),
        "value": st.none() | st.text(max_size=40),
        "topic": st.sampled_from(sorted(LAYOUT)),
        "partition": st.none() | st.just(0),
        "timestamp": st.integers(0, 1 << 48),
        "headers": st.none()
        | st.lists(
            st.fixed_dictionaries({"key": st.text(max_size=3), "value": st.none() | st.binary(max_size=3)}), max_size=2
        ),
    }
)


def read(spool: Spool, first: int = 5) -> dict[TopicPartition, list[Any]]:
    """The records of each partition, after their CRCs, numbers and sequences were looked at."""
    found: dict[TopicPartition, list[Any]] = {}
    for partition in spool.partitions:
        sequence = first
        for batch in spool.sealed(partition, PRODUCER, first):
            view = memoryview(batch)
            ((position, header),) = split(view)
            check_crc(view, position, header)
            assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4711, 3, sequence)
            assert header.is_transactional and header.last_offset_delta == header.count - 1
            records = decode(view, position, header)
            assert [record.offset for record in records] == list(range(header.count))
            assert header.max_timestamp == max(record.timestamp for record in records)
            sequence += header.count
            found.setdefault(partition, []).extend(records)
        assert spool.count(partition) == sequence - first
    return found


def encoded(spool: Spool, batches: list[pa.RecordBatch], topic: str | None = None, codec: Codec = Codec.NONE) -> int:
    """Encode these."""
    return RecordEncoder(spool, codec, topic, lambda names: {name: LAYOUT[name] for name in names}, 0).add_all(batches)


@examples(160)
@given(
    rows=st.lists(ROWS, max_size=30),
    size=st.integers(1, 12),
    codec=st.sampled_from([Codec.NONE, Codec.LZ4]),
    memory=st.sampled_from([0, 1 << 20]),
)
def test_each_row_is_one_record_of_its_partition_in_the_order_of_rows(
    rows: list[dict[str, Any]], size: int, codec: Codec, memory: int
) -> None:
    """Key, value, headers and timestamp are kept; the partition is the given one, or that of the key."""
    batches = [pa.RecordBatch.from_pylist(rows[at : at + size], SCHEMA) for at in range(0, len(rows), size)]
    with Spool(memory) as spool:
        assert encoded(spool, batches, codec=codec) == len(rows)
        found = read(spool)
    expected: dict[TopicPartition, list[Any]] = {}
    for row in rows:
        number = row["partition"]
        if number is None:
            number = 0 if row["key"] is None else partition_of(row["key"], LAYOUT[row["topic"]])
        value = None if row["value"] is None else row["value"].encode()
        headers = tuple((header["key"], header["value"]) for header in row["headers"] or ())
        made = (row["key"], value, headers, row["timestamp"] // 1000)
        expected.setdefault(TopicPartition(row["topic"], number), []).append(made)
    assert {
        partition: [(one.key, one.value, tuple(one.headers), one.timestamp) for one in records]
        for partition, records in found.items()
    } == expected


def test_batches_stay_below_what_brokers_take_unless_one_record_is_larger() -> None:
    """Small records share a batch, a large one has its own."""
    sizes = [100] * 9000 + [BATCH_BYTES + 1] + [400_000, 400_000, 10]
    batch = pa.RecordBatch.from_pydict({"value": pa.array([b"x" * size for size in sizes], pa.binary())})
    with Spool() as spool:
        encoded(spool, [batch], "a")
        batches = list(spool.sealed(TopicPartition("a", 0), PRODUCER, 0))
        assert [record.value for record in read(spool)[TopicPartition("a", 0)]] == [b"x" * size for size in sizes]
    large = [batch for batch in batches if len(batch) > BATCH_BYTES + HEADER_SIZE]
    assert len(large) == 1 and split(memoryview(large[0]))[0][1].count == 1 and len(batches) < 10


def test_rows_without_a_key_are_spread_over_all_partitions() -> None:
    """In runs, one partition after the other."""
    batch = pa.RecordBatch.from_pydict({"value": pa.array([b"x"] * 30_000, pa.binary())})
    with Spool() as spool:
        encoded(spool, [batch], "b")
        assert {one.partition: spool.count(one) for one in spool.partitions} == {0: 10_000, 1: 10_000, 2: 10_000}


@pytest.mark.parametrize("row", [{"topic": None}, {"topic": "b", "partition": 3}, {"topic": "b", "partition": -1}])
def test_a_row_that_has_no_place_is_refused(row: dict[str, Any]) -> None:
    """Without a topic, or for a partition that the topic has not."""
    with Spool() as spool, pytest.raises(SinkRowError):
        encoded(spool, [pa.RecordBatch.from_pylist([{"value": "x", **row}], SCHEMA)])


def test_the_hash_of_keys_is_that_of_kafkas_java_client() -> None:
    """Known answers of ``Utils.murmur2`` in Apache Kafka's own tests."""
    known = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536, b"abc": 479470107}
    assert {key: (murmur2(key) ^ 1 << 31) - (1 << 31) for key in known} == known


@pytest.mark.parametrize(
    "columns",
    [
        "key string",
        "value long",
        "value string, more int",
        "value string, headers array<string>",
        "value string, partition long",
    ],
)
def test_columns_that_cannot_be_written_are_refused_before_anything_runs(columns: str) -> None:
    """A column that is missing, unknown or of another type; Spark's own types are the rule."""
    with pytest.raises(ConfigError):
        check_columns(_parse_ddl(columns), "t")


def _parse_ddl(columns: str) -> StructType:
    """Without a JVM."""
    kinds = {"string": StringType(), "long": LongType(), "int": IntegerType(), "array<string>": ArrayType(StringType())}
    found = StructType()
    for column in columns.split(", "):
        name, kind = column.split()
        found.add(name, kinds[kind])
    return found
