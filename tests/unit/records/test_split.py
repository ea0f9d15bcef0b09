"""Splitting finds every complete batch, and nothing makes it hang or read past the end."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from anabranch.records.errors import CorruptBatchError, OldFormatError
from anabranch.records.header import read_header
from anabranch.records.record import Record
from anabranch.records.split import split

from .strategies import oracle_build, record_lists

pytestmark = pytest.mark.unit


def old_message(magic: int, offset: int) -> bytes:
    """One message of format v0 or v1, built by kafka-python."""
    builder = LegacyRecordBatchBuilder(magic, 0, 1 << 20)
    builder.append(offset, timestamp=1000, key=b"k", value=b"v", headers=[])
    return bytes(builder.build())


@given(st.lists(record_lists(), min_size=1, max_size=6), st.data())
def test_a_buffer_cut_anywhere_gives_the_batches_before_the_cut(
    batches: list[list[Record]], data: st.DataObject
) -> None:
    """Positions tile the buffer and the batch that was cut off is left out."""
    built = [bytes(oracle_build(records)) for records in batches]
    whole = b"".join(built)
    cut = data.draw(st.integers(0, len(whole)))
    expected, position = [], 0
    for batch in built:
        if position + len(batch) > cut:
            break
        expected.append((position, read_header(batch)))
        position += len(batch)
    assert split(memoryview(whole)[:cut]) == expected


@given(st.binary(max_size=300))
def test_random_bytes_are_refused_or_left_out(noise: bytes) -> None:
    """Any bytes at all give batches inside the buffer or a typed error."""
    try:
        found = split(memoryview(noise))
    except (CorruptBatchError, OldFormatError):
        return
    assert all(position + header.size <= len(noise) for position, header in found)


@given(record_lists(), record_lists(), st.integers(0, 60), st.integers(0, 255))
def test_a_byte_changed_in_a_header_never_makes_it_hang(
    first: list[Record], second: list[Record], at: int, byte: int
) -> None:
    """A damaged header gives batches that still tile the buffer from its start, or a typed error."""
    buffer = bytearray(oracle_build(first) + oracle_build(second))
    buffer[at] = byte
    try:
        found = split(memoryview(buffer))
    except (CorruptBatchError, OldFormatError):
        return
    position = 0
    for start, header in found:
        assert start == position
        position += header.size
    assert position <= len(buffer)


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_are_named_with_their_offset(magic: int) -> None:
    """A message set of Kafka before 0.11 is refused as such, also after good batches."""
    batch = bytes(oracle_build([Record(5, 1, 0, b"k", b"v")]))  # type: ignore[arg-type]
    old = bytearray(old_message(magic, 0))
    old[0:8] = (6).to_bytes(8, "big")
    for buffer in (bytes(old), batch + bytes(old)):
        with pytest.raises(OldFormatError) as caught:
            split(memoryview(buffer))
        assert (caught.value.offset, caught.value.magic) == (6, magic)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.hint


@pytest.mark.parametrize("magic", [0, 1])
def test_an_old_message_that_was_cut_off_is_left_out(magic: int) -> None:
    """Whether it is complete is decided before what it is."""
    assert split(memoryview(old_message(magic, 0))[:-1]) == []


@pytest.mark.parametrize(("length", "magic"), [(48, 2), (0, 2), (-1, 2), (-(2**31), 2), (13, 1), (-5, 0)])
def test_a_length_that_cannot_be_is_corruption(length: int, magic: int) -> None:
    """A length below the format's own fields would make the loop stand still or go back."""
    buffer = bytearray(oracle_build([Record(9, 1, 0, b"k", b"v")]))  # type: ignore[arg-type]
    buffer[8:12] = length.to_bytes(4, "big", signed=True)
    buffer[16] = magic
    with pytest.raises(CorruptBatchError, match=f"length {length}") as caught:
        split(memoryview(buffer))
    assert caught.value.offset == 9
    assert "offset 9" in str(pickle.loads(pickle.dumps(caught.value)))
    assert caught.value.hint


@pytest.mark.parametrize("magic", [3, 127, -1])
def test_an_unknown_format_is_corruption(magic: int) -> None:
    """Neither guessed at nor skipped."""
    buffer = bytearray(oracle_build([Record(9, 1, 0, b"k", b"v")]))  # type: ignore[arg-type]
    buffer[16] = magic & 0xFF
    with pytest.raises(CorruptBatchError, match=f"format v{magic} "):
        split(memoryview(buffer))
