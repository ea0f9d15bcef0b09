"""Decoding gives what the producer wrote, or a typed error; never less, never something else."""

from __future__ import annotations

import pytest
from google_crc32c import value as crc32c
from hypothesis import example, given
from hypothesis import strategies as st

from anabranch.records.compression import compress
from anabranch.records.decode import decode
from anabranch.records.encode import encode_as_logged, seal
from anabranch.records.errors import CorruptBatchError
from anabranch.records.header import HEADER, HEADER_SIZE, Codec, read_header
from anabranch.records.record import Record, TimestampType
from anabranch.records.varint import write
from tests.chance import examples

from .strategies import CODEC_GZIP, CODEC_NONE, oracle_build, record_lists

pytestmark = pytest.mark.unit
PLAIN = Record(0, 1000, TimestampType.CREATE_TIME, b"key", b"value", (("h", b"1"), ("h", None)))


def read(batch: bytes | bytearray, limit: int = 1 << 26) -> list[Record]:
    """Decode a batch that begins its buffer."""
    return decode(memoryview(batch), 0, read_header(batch), limit=limit)


def recompressed(batch: bytearray, codec: Codec) -> bytes:
    """The same batch under another codec, the header written by hand."""
    body = compress(codec, bytes(batch[HEADER_SIZE:]))
    fields = list(HEADER.unpack_from(batch))
    fields[1], fields[5] = 49 + len(body), codec
    head = HEADER.pack(*fields)
    fields[4] = crc32c(head[21:] + body)
    return HEADER.pack(*fields) + body


@given(record_lists(sparse=True), st.sampled_from([CODEC_NONE, CODEC_GZIP]))
def test_what_kafka_python_wrote_reads_back(records: list[Record], codec: int) -> None:
    """Offsets with gaps, timestamps, nulls and headers, from an independent writer."""
    assert read(oracle_build(records, codec)) == records


@pytest.mark.parametrize("codec", list(Codec))
@given(records=record_lists(sparse=True))
def test_every_codec_reads_back(codec: Codec, records: list[Record]) -> None:
    """The records of an independent writer under each of the five codecs."""
    assert read(recompressed(oracle_build(records), codec)) == records


def test_a_batch_in_the_middle_of_a_buffer_is_read_at_its_place() -> None:
    """Neighbours are not looked at."""
    batch = bytes(oracle_build([PLAIN]))
    buffer = memoryview(b"\xff" * 9 + batch + b"\xff" * 9)
    assert decode(buffer, 9, read_header(buffer, 9)) == [PLAIN]


def test_log_append_time_is_the_batch_maximum_for_every_record() -> None:
    """With bit 3 a record's own delta no longer counts."""
    records = [Record(n, time, TimestampType.LOG_APPEND_TIME, None, b"v") for n, time in enumerate((5, 900, 20))]
    assert read(encode_as_logged(records)) == [record._replace(timestamp=900) for record in records]


def test_a_header_key_that_is_not_utf8_stays_bytes() -> None:
    """Kafka's own clients would put question marks there; a copy may not."""
    headers = ((b"\xff\xfe", b"1"), ("\N{SNOWMAN}", b"2"), (b"\xed\xa0\x80", None))
    assert read(encode_as_logged([PLAIN._replace(headers=headers)]))[0].headers == headers


def test_null_and_empty_are_different() -> None:
    """A tombstone is not an empty value."""
    records = [PLAIN._replace(offset=n, key=k, value=v) for n, (k, v) in enumerate(((None, b""), (b"", None)))]
    decoded = read(encode_as_logged(records))
    assert [(r.key, r.value) for r in decoded] == [(None, b""), (b"", None)]


def test_a_batch_that_compaction_emptied_has_no_records() -> None:
    """The cleaner keeps the last batch of a live producer with a count of 0."""
    head = HEADER.pack(40, 49, 3, 2, 0, 0, 9, -1, 1009, 5, 0, 7, 0)
    assert read(head) == []
    assert read_header(head).last_offset == 49


@examples(400)
@given(
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4),
    st.sampled_from(list(Codec)),
    st.integers(0, 40),
)
@example([(0.0, 0)], Codec.NONE, 0)
def test_damaged_bytes_give_records_or_a_typed_error(damage: list[tuple[float, int]], codec: Codec, cut: int) -> None:
    """Any bytes after the magic may change, any number may be cut off: no other error, no hang, no bloat."""
    records = [PLAIN._replace(offset=30 + n, value=b"v" * n) for n in range(20)]
    batch = bytearray(recompressed(oracle_build(records), codec))
    for place, byte in damage:
        batch[17 + int(place * (len(batch) - 17))] = byte
    header = read_header(batch)
    shorter = memoryview(batch)[: len(batch) - cut] if cut > 20 else memoryview(batch)
    if len(shorter) == len(batch) and batch == recompressed(oracle_build(records), codec):
        assert decode(shorter, 0, header, limit=1 << 20) == records
    refused = None
    try:
        found = decode(shorter, 0, header, limit=1 << 20)
    except CorruptBatchError as error:
        refused = error
    if refused is not None:
        assert refused.offset == header.base_offset and refused.reason
        return
    assert len(found) == header.count
    offsets = [record.offset for record in found]
    assert offsets == sorted(set(offsets))
    assert all(header.base_offset <= offset <= header.last_offset for offset in offsets)


@pytest.mark.parametrize("codec", list(Codec))
def test_another_byte_in_a_value_is_that_bytes_record_alone(codec: Codec) -> None:
    """Decoding looks at no CRC: what is altered is read as it stands, and the neighbours as they were."""
    records = [PLAIN._replace(offset=n, value=b"v" * n) for n in range(20)]
    for at in range(1, 20):
        changed = [*records[:at], records[at]._replace(value=b"w" * at), *records[at + 1 :]]
        batch = bytearray(recompressed(oracle_build(changed), codec))
        batch[17:21] = b"none"
        assert read(batch) == changed


def record_bytes(*, delta: int = 0, length: int | None = None, rest: bytes = b"\x01\x01\x00") -> bytes:
    """One record with an offset delta, perhaps a false length, and what follows the deltas."""
    inner = bytearray(2)
    write(inner, delta)
    inner += rest
    out = bytearray()
    write(out, len(inner) if length is None else length)
    return bytes(out + inner)


def sealed(body: bytes, count: int, last: int) -> bytes:
    """A batch around a body that may be false."""
    return seal(body, count=count, last_offset_delta=last, timestamps=(0, 0), attributes=0, base_offset=30)


@pytest.mark.parametrize(
    ("body", "count", "last", "reason"),
    [
        (record_bytes(), 2, 1, "2 records do not fit 7 bytes"),
        (record_bytes(), 2**31 - 1, 2**31 - 2, "do not fit"),
        (record_bytes() * 2, 1, 1, "7 bytes follow the last"),
        (record_bytes(length=200), 1, 0, "a record of 200 bytes where 6"),
        (record_bytes(length=-1), 1, 0, "a record of -1 bytes"),
        (record_bytes(length=5, rest=b"\x01\x01\x00\x00"), 1, 0, "ends 1 bytes past"),
        (record_bytes(delta=1), 1, 0, "offset delta 1 follows -1"),
        (record_bytes(delta=-1), 1, 0, "offset delta -1"),
        (record_bytes(delta=3) + record_bytes(delta=3), 2, 9, "offset delta 3 follows 3"),
        (record_bytes(rest=b"\x14\x01\x00"), 1, 0, "a field of 10 bytes"),
        (record_bytes(rest=b"\x01\x01\xfe\xff\xff\xff\x0f"), 1, 0, "record headers do not fit"),
        (record_bytes(rest=b"\x01\x01\x01"), 1, 0, "-1 record headers"),
        (record_bytes(rest=b"\x01\x01\x02\x01\x01"), 1, 0, "has no key"),
        (record_bytes(rest=b"\x01\x01\xff\xff\xff\xff\xff\x01"), 1, 0, "more than 32 bits"),
        (b"\xff\xff\xff\xff\x7f\x00\x00", 1, 0, "more than 32 bits"),
        (b"\x0c\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 1, 0, "more than 64 bits"),
        (b"\x0c\x00\x00\x00\x01\x01\x80", 1, 0, "cut off"),
    ],
)
def test_each_lie_is_named(body: bytes, count: int, last: int, reason: str) -> None:
    """Counts, lengths and offsets that cannot be true are refused with the batch's offset."""
    with pytest.raises(CorruptBatchError, match=reason) as caught:
        read(sealed(body, count, last))
    assert caught.value.offset == 30


def test_a_negative_count_is_refused() -> None:
    """The count is signed on the wire."""
    batch = bytearray(sealed(record_bytes(), 1, 0))
    batch[57:61] = b"\xff\xff\xff\xff"
    with pytest.raises(CorruptBatchError, match="-1 records"):
        read(batch)


@pytest.mark.parametrize("codec", [5, 7])
def test_an_unknown_codec_is_refused(codec: int) -> None:
    """Before anything is expanded."""
    batch = bytearray(oracle_build([PLAIN]))
    batch[22] = codec
    with pytest.raises(CorruptBatchError, match="codec"):
        read(batch)


@pytest.mark.test
def test_a_bomb_is_refused_at_the_limit() -> None:
    """A megabyte that expands to a gigabyte never gets it."""
    record = PLAIN._replace(value=bytes(8 << 20))
    batch = recompressed(oracle_build([record]), Codec.ZSTD)
    assert len(batch) < 10_000
    assert read(batch, limit=9 << 20) == [record]
    with pytest.raises(CorruptBatchError, match="within"):
        read(batch, limit=1 << 20)
