"""Encoded batches are read by others as they were meant, with the CRC they check."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.records.control import ControlType, marker_of
from anabranch.records.decode import decode
from anabranch.records.encode import encode, encode_as_logged, seal
from anabranch.records.errors import CorruptBatchError
from anabranch.records.filler import filler_batch
from anabranch.records.header import Codec, read_header
from anabranch.records.patch import check_and_patch, check_crc
from anabranch.records.record import Record, TimestampType
from anabranch.records.varint import write

from .strategies import oracle_build, oracle_read, record_lists

pytestmark = pytest.mark.unit
PLAIN = Record(3, 1000, TimestampType.CREATE_TIME, b"k", b"v")


def dense(records: list[Record]) -> list[Record]:
    """The records as a client's batch has them: offsets from 0."""
    return [record._replace(offset=n) for n, record in enumerate(records)]


@given(record_lists(sparse=True), st.sampled_from([Codec.NONE, Codec.GZIP]))
def test_kafka_python_reads_what_is_encoded(records: list[Record], codec: Codec) -> None:
    """Gaps are closed and everything else is kept, by the account of an independent reader."""
    assert oracle_read(encode(records, codec=codec)) == dense(records)


@given(record_lists())
def test_without_compression_the_bytes_are_kafka_pythons(records: list[Record]) -> None:
    """The encoding has no freedom, so two writers agree to the byte, but for the leader epoch before the CRC."""
    ours = encode(records, producer_id=11, producer_epoch=3, sequence=77, transactional=True)
    theirs = oracle_build(records, transactional=True)
    assert ours[8:12] == theirs[8:12]
    assert ours[16:] == theirs[16:]


@pytest.mark.parametrize("codec", list(Codec))
@given(records=record_lists(sparse=True))
def test_every_codec_round_trips(codec: Codec, records: list[Record]) -> None:
    """Encode, check, decode: the same records with dense offsets, and the header says so."""
    batch = memoryview(encode(records, codec=codec, producer_id=8, producer_epoch=1, sequence=2**31 - 1))
    header = read_header(batch)
    check_crc(batch, 0, header)
    assert decode(batch, 0, header) == dense(records)
    assert header.is_copyable
    assert header.codec is codec
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (8, 1, 2**31 - 1)
    assert header.max_timestamp == max(record.timestamp for record in records)


@given(record_lists(sparse=True), st.integers(0, 500))
def test_a_logged_batch_keeps_offsets_and_gaps(records: list[Record], behind: int) -> None:
    """Also the gap behind its last record."""
    last = records[-1].offset + behind
    batch = memoryview(encode_as_logged(records, last_offset=last))
    header = read_header(batch)
    assert decode(batch, 0, header) == records
    assert header.last_offset == last
    assert header.base_offset == records[0].offset


def test_log_append_time_becomes_the_records_own_time() -> None:
    """The time that the source's broker gave is written out, since a client may not set the bit."""
    logged = memoryview(encode_as_logged([PLAIN._replace(timestamp_type=TimestampType.LOG_APPEND_TIME)] * 1))
    again = encode(decode(logged, 0, read_header(logged)))
    assert not read_header(again).is_log_append_time
    assert oracle_read(again) == [PLAIN._replace(offset=0)]


@pytest.mark.parametrize(
    "records",
    [
        [],
        [PLAIN._replace(timestamp=2**63)],
        [PLAIN._replace(timestamp=-(2**63)), PLAIN._replace(timestamp=2**62)],
    ],
)
def test_what_does_not_fit_is_refused(records: list[Record]) -> None:
    """No batch without a record, no number outside its field."""
    with pytest.raises(ValueError, match=r"at least one|too far|fit"):
        encode(records)
    with pytest.raises(ValueError, match=r"at least one|too far|fit"):
        encode_as_logged(records)


def test_an_empty_or_mixed_batch_cannot_be_sealed() -> None:
    """A broker would refuse the one and could not store the other."""
    with pytest.raises(ValueError, match="at least one"):
        seal(b"", count=0, last_offset_delta=-1, timestamps=(0, 0), attributes=0)
    with pytest.raises(ValueError, match="one timestamp type"):
        encode_as_logged([PLAIN, PLAIN._replace(offset=4, timestamp_type=TimestampType.LOG_APPEND_TIME)])


@pytest.mark.parametrize("count", [1, 63, 64, 65, 8191, 8192, 8193])
def test_a_filler_batch_holds_that_many_empty_records(count: int) -> None:
    """By the account of an independent reader, and after it was given a producer."""
    batch = bytearray(filler_batch(count, 1234, Codec.GZIP))
    header = read_header(batch)
    check_and_patch(memoryview(batch), 0, header, 9, 0, 100)
    assert header.is_copyable
    records = oracle_read(batch)
    assert len(records) == count
    assert records == [Record(n, 1234, TimestampType.CREATE_TIME, None, None) for n in range(count)]


def test_fillers_are_small() -> None:
    """A hundred thousand take well under a tenth of a batch of the size that brokers accept."""
    assert len(filler_batch(100_000, 0)) < 100_000
    with pytest.raises(ValueError, match="at least one"):
        filler_batch(0, 0)


@pytest.mark.parametrize(("kind", "marker"), [(0, ControlType.ABORT), (1, ControlType.COMMIT), (2, ControlType.OTHER)])
def test_a_control_batch_says_how_its_transaction_ended(kind: int, marker: ControlType) -> None:
    """Type 0 aborts, 1 commits, the rest is not about transactions."""
    batch = control_batch((0).to_bytes(2, "big") + kind.to_bytes(2, "big"))
    assert marker_of(memoryview(batch), 0, read_header(batch)) is marker


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00"])
def test_a_control_record_without_a_type_is_corrupt(key: bytes | None) -> None:
    """Nothing is assumed about how a transaction ended."""
    batch = control_batch(key)
    with pytest.raises(CorruptBatchError, match="without its type"):
        marker_of(memoryview(batch), 0, read_header(batch))


def test_data_is_no_marker() -> None:
    """A data batch whose key looks like a marker's is refused, an emptied control batch says nothing."""
    batch = encode([PLAIN._replace(key=bytes(4))])
    with pytest.raises(CorruptBatchError, match="not a control"):
        marker_of(memoryview(batch), 0, read_header(batch))
    emptied = bytearray(control_batch(bytes(4))[:61])
    emptied[8:12] = (49).to_bytes(4, "big")
    emptied[57:61] = bytes(4)
    assert marker_of(memoryview(emptied), 0, read_header(emptied)) is ControlType.OTHER


def control_batch(key: bytes | None) -> bytes:
    """A control batch as a broker writes it, with this key."""
    inner = bytearray(3)
    for field in (key, bytes(6)):
        write(inner, -1 if field is None else len(field))
        inner += field or b""
    inner.append(0)
    body = bytearray()
    write(body, len(inner))
    return seal(
        body + inner,
        count=1,
        last_offset_delta=0,
        timestamps=(5, 5),
        attributes=0x30,
        base_offset=70,
        producer=(4, 0, -1),
    )
