"""A patched batch is the same batch under another producer, and broken bytes never get a good CRC."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch

from anabranch.records.errors import CorruptBatchError
from anabranch.records.header import HEADER_SIZE, Codec, read_header
from anabranch.records.patch import check_and_patch, check_crc, patch
from anabranch.records.record import Record, TimestampType

from .strategies import oracle_build, oracle_read, record_lists

pytestmark = pytest.mark.unit
PRODUCERS = st.tuples(st.integers(0, 2**62), st.integers(0, 2**15 - 1), st.integers(0, 2**31 - 1))
BEFORE, AFTER = b"before", b"after"


def surrounded(batch: bytes | bytearray) -> tuple[bytearray, memoryview, int]:
    """A batch in the middle of a larger buffer."""
    buffer = bytearray(BEFORE + batch + AFTER)
    return buffer, memoryview(buffer), len(BEFORE)


@given(record_lists(), PRODUCERS, st.booleans(), st.booleans())
def test_only_the_producers_fields_change(
    records: list[Record], producer: tuple[int, int, int], transactional: bool, fused: bool
) -> None:
    """Records, timestamps and boundaries stay; an independent reader accepts the CRC and reads the same."""
    batch = oracle_build(records, transactional=transactional)
    buffer, view, position = surrounded(batch)
    header = read_header(view, position)
    (check_and_patch if fused else patch)(view, position, header, *producer)

    assert buffer.startswith(BEFORE)
    assert buffer.endswith(AFTER)
    patched = buffer[position : -len(AFTER)]
    assert patched[HEADER_SIZE:] == batch[HEADER_SIZE:]
    after = read_header(patched)
    assert after == header._replace(
        base_offset=0,
        leader_epoch=-1,
        crc=after.crc,
        attributes=header.attributes & ~0x50,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
    )
    assert DefaultRecordBatch(bytes(patched)).validate_crc()
    assert oracle_read(patched) == [record._replace(offset=record.offset - records[0].offset) for record in records]


@pytest.mark.parametrize("codec", list(Codec))
def test_the_delete_horizon_goes_and_the_rest_of_the_attributes_stays(codec: Codec) -> None:
    """Bits 4 and 6 are cleared; codec and timestamp type are kept, and so is the base timestamp."""
    batch = oracle_build([Record(7, 1000, TimestampType.CREATE_TIME, b"k", None)])
    header = read_header(batch)._replace(attributes=0x58 | codec)
    patch(memoryview(batch), 0, header, 5, 0, 7)
    after = read_header(batch)
    assert after.attributes == 0x08 | codec
    assert after.base_timestamp == 1000


@given(record_lists(), st.data())
def test_a_flipped_bit_is_found(records: list[Record], data: st.DataObject) -> None:
    """Any bit under the CRC, or of the CRC itself, that flips is found, and nothing is written then."""
    batch = oracle_build(records)
    check_crc(memoryview(batch), 0, read_header(batch))
    bit = data.draw(st.integers(17 * 8, len(batch) * 8 - 1))
    batch[bit // 8] ^= 1 << bit % 8
    broken = bytes(batch)
    header = read_header(batch)
    with pytest.raises(CorruptBatchError, match="CRC-32C"):
        check_crc(memoryview(batch), 0, header)
    with pytest.raises(CorruptBatchError, match="CRC-32C"):
        check_and_patch(memoryview(batch), 0, header, 1, 0, 0)
    assert batch == broken
