"""The 61-byte header of a record batch v2, read in one step.

Source: KIP-98; ``DefaultRecordBatch.java`` in Apache Kafka.  All numbers are big-endian.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from anabranch.records.errors import CorruptBatchError

HEADER_SIZE = 61
"""Bytes before the first record."""
LOG_OVERHEAD = 12
"""Bytes before those that ``batch_length`` counts: base offset and the length itself."""
CRC_START = 21
"""The CRC-32C covers the bytes from here to the end of the batch."""

CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

NO_PRODUCER = -1
"""Producer id, producer epoch and base sequence of a batch that no idempotent producer wrote."""

HEADER = Struct(">qiibIhiqqqhii")
assert HEADER.size == HEADER_SIZE


class Codec(IntEnum):
    """How the records after the header are compressed; the value is that of the attribute bits 0 to 2."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class BatchHeader(NamedTuple):
    """The fields of a batch header, in the order of the wire.

    ``base_timestamp`` and ``max_timestamp`` are milliseconds since 1970 (-1: none); with the delete horizon
    bit ``base_timestamp`` holds the horizon, and record timestamps are deltas to it all the same.  Nothing
    here has been checked: a lying ``count`` or ``last_offset_delta`` is found by ``decode``.
    """

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int  # type: ignore[assignment]  # the wire's word; a header is never searched as a tuple

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included."""
        return LOG_OVERHEAD + self.batch_length

    @property
    def last_offset(self) -> int:
        """Offset of the last record that the batch had when it was written (compaction keeps it)."""
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> Codec:
        """The compression; raises CorruptBatchError for a value that no Kafka version writes."""
        value = self.attributes & CODEC_MASK
        if value > Codec.ZSTD:
            raise CorruptBatchError(self.base_offset, f"compression codec {value} does not exist")
        return Codec(value)

    @property
    def is_control(self) -> bool:
        """Whether the batch is a transaction marker (or another control record), seen by no consumer."""
        return self.attributes & CONTROL != 0

    @property
    def is_transactional(self) -> bool:
        """Whether a transaction wrote the batch."""
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_log_append_time(self) -> bool:
        """Whether every record's timestamp is ``max_timestamp``, the broker's clock at the append."""
        return self.attributes & LOG_APPEND_TIME != 0

    @property
    def has_delete_horizon(self) -> bool:
        """Whether ``base_timestamp`` is the time from which the cleaner may drop tombstones."""
        return self.attributes & DELETE_HORIZON != 0

    @property
    def is_dense(self) -> bool:
        """Whether every offset from ``base_offset`` to ``last_offset`` still has its record."""
        return self.count == self.last_offset_delta + 1

    @property
    def is_copyable(self) -> bool:
        """Whether a broker takes these bytes after ``patch`` alone, with no record decoded.

        Predicate: dense, at least one record, not a control batch, timestamps of the producer.
        """
        return (
            self.count == self.last_offset_delta + 1
            and self.count > 0
            and self.attributes & (CONTROL | LOG_APPEND_TIME) == 0
        )


def read_header(buffer: memoryview | bytes | bytearray, position: int = 0) -> BatchHeader:
    """Read the header at ``position``; the caller knows that 61 bytes are there (else struct.error)."""
    return BatchHeader._make(HEADER.unpack_from(buffer, position))
