"""A header reads as Kafka wrote it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch

from anabranch.records.errors import CorruptBatchError
from anabranch.records.header import HEADER, HEADER_SIZE, BatchHeader, Codec, read_header
from anabranch.records.record import Record

from .strategies import oracle_build, record_lists

pytestmark = pytest.mark.unit


def header(**changes: int) -> BatchHeader:
    """A header of a plain batch of ten records, with changes."""
    plain = BatchHeader(100, 49, 7, 2, 0, 0, 9, 1000, 1009, -1, -1, -1, 10)
    return plain._replace(**changes)


@given(record_lists(sparse=True), st.booleans())
def test_every_field_is_what_kafka_python_reads(records: list[Record], transactional: bool) -> None:
    """All thirteen fields and the derived ones agree with an independent reader."""
    batch = oracle_build(records, transactional=transactional)
    ours, theirs = read_header(batch), DefaultRecordBatch(bytes(batch))
    assert ours.base_offset == theirs.base_offset == records[0].offset
    assert ours.size == theirs.size_in_bytes == len(batch)
    assert ours.leader_epoch == theirs.leader_epoch
    assert ours.magic == theirs.magic == 2
    assert ours.crc == theirs.crc
    assert ours.attributes == theirs.attributes
    assert ours.last_offset_delta == theirs.last_offset_delta
    assert ours.base_timestamp == theirs.first_timestamp
    assert ours.max_timestamp == theirs.max_timestamp
    assert (ours.producer_id, ours.producer_epoch, ours.base_sequence) == (11, 3, 77)
    assert ours.count == theirs.records_count == len(records)
    assert ours.last_offset == theirs.last_offset == records[-1].offset
    assert ours.is_transactional == theirs.is_transactional == transactional
    assert ours.is_control == theirs.is_control_batch
    assert ours.is_dense == (records[-1].offset - records[0].offset + 1 == len(records))
    assert ours.codec is Codec.NONE


def test_a_header_is_61_bytes() -> None:
    """The struct covers the header and nothing else."""
    assert HEADER.size == HEADER_SIZE == 61


@pytest.mark.parametrize("codec", list(Codec))
def test_each_codec_is_named(codec: Codec) -> None:
    """Bits 0 to 2 name the codec, whatever the other bits are."""
    assert header(attributes=0x78 | codec).codec is codec


@pytest.mark.parametrize("value", [5, 6, 7])
def test_a_codec_that_does_not_exist_is_corruption(value: int) -> None:
    """No Kafka version writes codecs 5 to 7."""
    with pytest.raises(CorruptBatchError, match=f"codec {value}"):
        _ = header(attributes=value).codec


@pytest.mark.parametrize(
    ("bit", "name"),
    [
        (0x08, "is_log_append_time"),
        (0x10, "is_transactional"),
        (0x20, "is_control"),
        (0x40, "has_delete_horizon"),
    ],
)
def test_each_attribute_bit_has_its_name(bit: int, name: str) -> None:
    """One bit sets one property and no other."""
    names = ("is_log_append_time", "is_transactional", "is_control", "has_delete_horizon")
    assert {other: getattr(header(attributes=bit), other) for other in names} == {
        other: other == name for other in names
    }


@pytest.mark.parametrize(
    ("changes", "copyable"),
    [
        ({}, True),
        ({"attributes": 0x50 | Codec.LZ4}, True),
        ({"attributes": 0x08}, False),
        ({"attributes": 0x30}, False),
        ({"count": 9}, False),
        ({"count": 0, "last_offset_delta": -1}, False),
    ],
)
def test_only_what_a_broker_takes_after_a_patch_is_copyable(changes: dict[str, int], copyable: bool) -> None:
    """Control batches, LogAppendTime, gaps and emptied batches need more than a new header."""
    assert header(**changes).is_copyable is copyable
