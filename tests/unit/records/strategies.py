"""Batches for property tests, built by kafka-python's own builder, which shares no code with ours."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from anabranch.records.record import Record, TimestampType

CODEC_NONE, CODEC_GZIP = 0, 1
TIMESTAMPS = st.integers(-1, 2**50)
NULLABLE = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=10), st.none() | st.binary(max_size=20)), max_size=3).map(tuple)
PARTS = st.lists(st.tuples(TIMESTAMPS, NULLABLE, NULLABLE, HEADERS), min_size=1, max_size=20)


@st.composite
def record_lists(draw: st.DrawFn, *, sparse: bool = False, base: int | None = None) -> list[Record]:
    """Records with rising offsets, with gaps if ``sparse``."""
    offset = draw(st.integers(0, 2**40)) if base is None else base
    records = []
    for timestamp, key, value, headers in draw(PARTS):
        records.append(Record(offset, timestamp, TimestampType.CREATE_TIME, key, value, headers))
        offset += draw(st.integers(1, 1000)) if sparse else 1
    return records


def oracle_build(records: list[Record], codec: int = CODEC_NONE, transactional: bool = False) -> bytearray:
    """Build a batch with kafka-python, offsets as deltas to the first."""
    builder = DefaultRecordBatchBuilder(2, codec, transactional, 11, 3, 77, 1 << 30)
    for record in records:
        headers: Any = list(record.headers)
        delta = record.offset - records[0].offset
        assert builder.append(delta, record.timestamp, record.key, record.value, headers) is not None
    batch: bytearray = builder.build()
    batch[0:8] = records[0].offset.to_bytes(8, "big")
    return batch


def oracle_read(batch: bytes | bytearray) -> list[Record]:
    """Read a batch with kafka-python, which checks its CRC."""
    reader = DefaultRecordBatch(bytes(batch))
    assert reader.validate_crc()
    return [
        Record(
            record.offset,
            record.timestamp,
            TimestampType(record.timestamp_type),
            record.key,
            record.value,
            tuple((key, value) for key, value in record.headers),
        )
        for record in reader
    ]
