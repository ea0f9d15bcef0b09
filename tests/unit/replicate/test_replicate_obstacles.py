"""What a lane cannot copy as it is, told from a batch's header; and cutting the head off a batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.lanes.endings import Stop
from anabranch.records.compression import Codec
from anabranch.records.decode import decode
from anabranch.records.encode import encode
from anabranch.records.header import BatchHeader, read_header
from anabranch.records.record import Record, TimestampType
from anabranch.replicate.fetcher import obstacle
from anabranch.replicate.trim import trim_batch

pytestmark = pytest.mark.unit

TRANSACTIONAL, CONTROL, LOG_APPEND_TIME = 0x10, 0x20, 0x08


def batch(count: int, first: int = 0, codec: Codec = Codec.NONE) -> tuple[memoryview, BatchHeader]:
    """A batch of records with headers, and its header."""
    records = [
        Record(at, 1000 + at, TimestampType.CREATE_TIME, b"k%d" % at, None, (("h", b"1"), ("h", None)))
        for at in range(first, first + count)
    ]
    view = memoryview(bytearray(encode(records, codec=codec)))
    return view, read_header(view)._replace(base_offset=first)


def test_a_plain_batch_at_its_place_has_no_obstacle() -> None:
    """Also where it begins below the position: it is trimmed then."""
    _, header = batch(5, 10)
    assert obstacle(header, 10) is None
    assert obstacle(header, 12) is None


@pytest.mark.parametrize(
    ("bits", "stop"),
    [
        (TRANSACTIONAL, Stop.TRANSACTIONAL),
        (TRANSACTIONAL | CONTROL, Stop.TRANSACTIONAL),
        (LOG_APPEND_TIME, Stop.LOG_APPEND_TIME),
    ],
)
def test_attributes_that_cannot_be_copied_are_obstacles(bits: int, stop: Stop) -> None:
    """Each names the offset at which it was met."""
    _, header = batch(5, 10)
    found = obstacle(header._replace(attributes=header.attributes | bits), 10)
    assert found is not None
    assert found[0] is stop
    assert "10" in found[1]


def test_holes_before_and_inside_a_batch_are_told_with_their_offsets() -> None:
    """The records that compaction took are named, so that nobody thinks them lost by the copy."""
    _, header = batch(5, 10)
    assert obstacle(header, 7) == (Stop.HOLE, "offsets 7 to 9 hold no record", obstacle(header, 7)[2])  # type: ignore[index]
    sparse = header._replace(last_offset_delta=9)
    assert "10 to 19 has 5 records" in obstacle(sparse, 10)[1]  # type: ignore[index]
    empty = header._replace(count=0, last_offset_delta=4)
    assert obstacle(empty, 10)[0] is Stop.HOLE  # type: ignore[index]


@given(st.integers(1, 30), st.data(), st.sampled_from(list(Codec)), st.integers(0, 2**40))
def test_a_trimmed_batch_holds_the_same_records_from_an_offset_on(
    count: int, data: st.DataObject, codec: Codec, first: int
) -> None:
    """Keys, values, headers, times and the codec are kept; nothing below the offset is."""
    view, header = batch(count, first, codec)
    begin = first + data.draw(st.integers(0, count - 1))
    trimmed, as_read = trim_batch(view, header, begin)
    assert (as_read.base_offset, as_read.count, as_read.codec) == (begin, first + count - begin, codec)
    assert as_read.is_dense
    kept = [record for record in decode(view, 0, header) if record.offset >= begin]
    assert list(decode(trimmed, 0, as_read)) == kept
