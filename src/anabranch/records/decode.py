"""Read the records of one batch.

Source: KIP-98; ``DefaultRecordBatch.java`` and ``DefaultRecord.java`` in Apache Kafka.
"""

from __future__ import annotations

from anabranch.records.compression import EXPANDED_LIMIT, expand
from anabranch.records.errors import CorruptBatchError
from anabranch.records.header import HEADER_SIZE, BatchHeader
from anabranch.records.record import Record, TimestampType
from anabranch.records.varint import INT_BITS, LONG_BITS, read_rest

_LEAST_RECORD = 7
"""Bytes of a record with nothing in it: length, attributes, two deltas, two null lengths, header count."""

Headers = tuple[tuple[str | bytes, bytes | None], ...]


def decode(buffer: memoryview, position: int, header: BatchHeader, *, limit: int = EXPANDED_LIMIT) -> list[Record]:
    """Return the records of the batch at ``position`` whose header ``split`` read.

    Gaps that compaction left are simply absent; a batch that it emptied gives an empty list.  The CRC is not
    checked here.  Expanded records may take at most ``limit`` bytes.

    Raises CorruptBatchError whenever the bytes contradict themselves: lengths that leave the record or the batch,
    a count that is not the number of records, offsets that don't rise or leave the batch.  Negative lengths of
    keys and values are null, as in Kafka's reader.

    Invariant: offsets rise strictly and lie in ``[base_offset, last_offset]``; memory is bounded by ``limit``
    and the true number of records, whatever the header claims.
    """
    size = header.size
    if size < HEADER_SIZE or position + size > len(buffer):
        raise CorruptBatchError(header.base_offset, f"size {size:,} does not fit the {len(buffer):,} bytes at hand")
    codec = header.codec
    try:
        body = expand(codec, bytes(buffer[position + HEADER_SIZE : position + size]), limit)
        return _records(body, header)
    except ValueError as error:
        raise CorruptBatchError(header.base_offset, str(error)) from error
    except IndexError as error:
        raise CorruptBatchError(header.base_offset, "a record is cut off at the batch's end") from error


def _records(body: bytes, header: BatchHeader) -> list[Record]:
    count, base_offset, base_timestamp = header.count, header.base_offset, header.base_timestamp
    if not 0 <= count <= len(body) // _LEAST_RECORD:
        raise ValueError(f"{count:,} records do not fit {len(body):,} bytes")
    append_time = header.max_timestamp if header.is_log_append_time else None
    kind = TimestampType.CREATE_TIME if append_time is None else TimestampType.LOG_APPEND_TIME
    records: list[Record] = []
    append = records.append
    at = 0
    previous, last = -1, header.last_offset_delta
    for _ in range(count):
        # Varints of one byte are read in line: a call for each of the six of a record would double the time.
        number = body[at]
        at += 1
        if number > 0x7F:
            number, at = read_rest(body, at, number, INT_BITS)
        end = at + ((number >> 1) ^ -(number & 1))
        if end < at or end > len(body):
            raise ValueError(f"a record of {end - at:,} bytes where {len(body) - at:,} are left")
        at += 1  # the record's attributes, unused so far
        number = body[at]
        at += 1
        if number > 0x7F:
            number, at = read_rest(body, at, number, LONG_BITS)
        timestamp = base_timestamp + ((number >> 1) ^ -(number & 1))
        number = body[at]
        at += 1
        if number > 0x7F:
            number, at = read_rest(body, at, number, INT_BITS)
        delta = (number >> 1) ^ -(number & 1)
        if not previous < delta <= last:
            raise ValueError(f"offset delta {delta:,} follows {previous:,}, and the last one should be {last:,}")
        previous = delta
        key, at = _nullable(body, at, end)
        value, at = _nullable(body, at, end)
        number = body[at]
        at += 1
        headers: Headers = ()
        if number:
            headers, at = _headers(body, at, end, number)
        if at != end:
            raise ValueError(f"the record at delta {delta:,} ends {at - end:,} bytes past its length")
        if append_time is not None:
            timestamp = append_time
        append(Record(base_offset + delta, timestamp, kind, key, value, headers))
    if at != len(body):
        raise ValueError(f"{len(body) - at:,} bytes follow the last of {count:,} records")
    return records


def _nullable(body: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    number = body[at]
    at += 1
    if number > 0x7F:
        number, at = read_rest(body, at, number, INT_BITS)
    if number & 1:
        return None, at
    stop = at + (number >> 1)
    if stop > end:
        raise ValueError(f"a field of {stop - at:,} bytes where its record has {end - at:,} left")
    return body[at:stop], stop


def _headers(body: bytes, at: int, end: int, number: int) -> tuple[Headers, int]:
    if number > 0x7F:
        number, at = read_rest(body, at, number, INT_BITS)
    count = (number >> 1) ^ -(number & 1)
    if not 0 <= count <= (end - at) // 2:
        raise ValueError(f"{count:,} record headers do not fit {end - at:,} bytes")
    headers: list[tuple[str | bytes, bytes | None]] = []
    for _ in range(count):
        raw, at = _nullable(body, at, end)
        if raw is None:
            raise ValueError("a record header has no key")
        value, at = _nullable(body, at, end)
        try:
            headers.append((raw.decode(), value))
        except UnicodeDecodeError:
            headers.append((raw, value))
    return tuple(headers), at
