"""Build a batch from records.

Source: KIP-98; ``MemoryRecordsBuilder.java`` and ``DefaultRecord.java`` in Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import error as StructError

from google_crc32c import extend
from google_crc32c import value as crc32c

from anabranch.records.compression import compress
from anabranch.records.header import (
    CRC_START,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    NO_PRODUCER,
    TRANSACTIONAL,
    Codec,
)
from anabranch.records.record import Record, TimestampType
from anabranch.records.varint import write

MAGIC = 2


def encode(
    records: Sequence[Record],
    *,
    codec: Codec = Codec.NONE,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = NO_PRODUCER,
    sequence: int = NO_PRODUCER,
    transactional: bool = False,
) -> bytes:
    """Return a batch that a broker takes: base offset 0, offset deltas 0 to n-1, the records' own timestamps.

    The records' offsets are ignored, so that the gaps of a compacted batch close; so are their timestamp types:
    only a broker may mark a batch as LogAppendTime, and the time such a record had is kept as its own.

    Raises ValueError where there is no record or a number does not fit its field.
    """
    return seal(
        body_of(records, range(len(records))),
        count=len(records),
        last_offset_delta=len(records) - 1,
        timestamps=_timestamps(records),
        attributes=codec | (TRANSACTIONAL if transactional else 0),
        producer=(producer_id, producer_epoch, sequence),
    )


def encode_as_logged(records: Sequence[Record], *, codec: Codec = Codec.NONE, last_offset: int = -1) -> bytes:
    """Return a batch as it lies in a broker's log: offsets as the records have them, gaps included.

    ``last_offset`` is that of the batch before compaction (by default the last record's).  All records must have
    one timestamp type; with LogAppendTime the batch's maximum stands for every record's timestamp.

    Raises ValueError where there is no record or a number does not fit its field.
    """
    if not records:
        raise ValueError("a batch has at least one record")
    base = records[0].offset
    kinds = {record.timestamp_type for record in records}
    if len(kinds) != 1:
        raise ValueError("the records of a batch have one timestamp type")
    attributes = codec | (LOG_APPEND_TIME if kinds == {TimestampType.LOG_APPEND_TIME} else 0)
    return seal(
        body_of(records, [record.offset - base for record in records]),
        count=len(records),
        last_offset_delta=max(last_offset, records[-1].offset) - base,
        timestamps=_timestamps(records),
        attributes=attributes,
        base_offset=base,
    )


def seal(
    body: bytes | bytearray,
    *,
    count: int,
    last_offset_delta: int,
    timestamps: tuple[int, int],
    attributes: int,
    base_offset: int = 0,
    producer: tuple[int, int, int] = (NO_PRODUCER, NO_PRODUCER, NO_PRODUCER),
) -> bytes:
    """Compress encoded records as the attributes say and put a header with a CRC before them.

    ``timestamps`` are (base, maximum), ``producer`` (id, epoch, base sequence).  Raises ValueError where there is
    no record or a number does not fit its field.
    """
    if count < 1:
        raise ValueError("a batch has at least one record")
    return seal_packed(
        compress(Codec(attributes & 7), bytes(body)),
        count=count,
        last_offset_delta=last_offset_delta,
        timestamps=timestamps,
        attributes=attributes,
        base_offset=base_offset,
        producer=producer,
    )


def seal_packed(
    packed: bytes,
    *,
    count: int,
    last_offset_delta: int,
    timestamps: tuple[int, int],
    attributes: int,
    base_offset: int = 0,
    producer: tuple[int, int, int] = (NO_PRODUCER, NO_PRODUCER, NO_PRODUCER),
) -> bytes:
    """Put a header with a CRC before records that are compressed already; otherwise as ``seal``."""
    length = HEADER_SIZE - LOG_OVERHEAD + len(packed)
    try:
        head = HEADER.pack(
            base_offset, length, -1, MAGIC, 0, attributes, last_offset_delta, *timestamps, *producer, count
        )
    except StructError as error:
        raise ValueError(f"a number does not fit the batch header: {error}") from error
    crc = extend(crc32c(head[CRC_START:]), packed)
    return b"".join((head[: CRC_START - 4], crc.to_bytes(4, "big"), head[CRC_START:], packed))


def body_of(records: Sequence[Record], deltas: Sequence[int]) -> bytearray:
    """Return the records as they follow a header, uncompressed, with these offset deltas."""
    out = bytearray()
    base = records[0].timestamp if records else 0
    for record, delta in zip(records, deltas, strict=True):
        one = bytearray(1)  # attributes
        write(one, record.timestamp - base)
        write(one, delta)
        _write_nullable(one, record.key)
        _write_nullable(one, record.value)
        write(one, len(record.headers))
        for key, value in record.headers:
            _write_nullable(one, key.encode() if isinstance(key, str) else key)
            _write_nullable(one, value)
        write(out, len(one))
        out += one
    return out


def _timestamps(records: Sequence[Record]) -> tuple[int, int]:
    """Return the base and the maximum; the base is the first record's, as Kafka's producer has it."""
    if not records:
        raise ValueError("a batch has at least one record")
    times = [record.timestamp for record in records]
    if max(times) - min(times) >= 1 << 63:
        raise ValueError("the timestamps are too far apart for one batch")
    return times[0], max(times)


def _write_nullable(out: bytearray, data: bytes | None) -> None:
    if data is None:
        out.append(1)  # the varint of -1
    else:
        write(out, len(data))
        out += data
