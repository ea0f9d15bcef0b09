"""Splitting finds every complete batch, and nothing makes it hang or read past the end."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from anabranch.records.errors import CorruptBatchError, OldFormatError
from anabranch.records.header import HEADER_SIZE, BatchHeader, read_header
from anabranch.records.record import Record, TimestampType
from anabranch.records.split import split, split_in_parts

from .strategies import oracle_build, record_lists

pytestmark = pytest.mark.unit
CREATE = TimestampType.CREATE_TIME


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


@given(record_lists(), st.binary(max_size=300))
def test_random_bytes_are_refused_or_left_out(records: list[Record], noise: bytes) -> None:
    """Behind a good batch and alone: the batch is found, and an error names what stands as an offset in the bytes."""
    good = bytes(oracle_build(records))
    assert split(memoryview(good)) == [(0, read_header(good))]
    for before in (b"", good):
        refused = None
        try:
            found = split(memoryview(before + noise))
        except (CorruptBatchError, OldFormatError) as error:
            refused = error
        if refused is not None:
            assert len(noise) >= 17
            assert refused.offset == int.from_bytes(noise[:8], "big", signed=True)
            continue
        assert found[: bool(before)] == ([(0, read_header(good))] if before else [])
        assert _tile(before + noise) == [start for start, _ in found]


@given(
    st.lists(record_lists(), min_size=1, max_size=6),
    st.binary(max_size=100),
    st.integers(1, 500),
    st.integers(0, 100),
)
def test_parts_together_are_what_is_split_at_once(
    batches: list[list[Record]], rest: bytes, size: int, cut: int
) -> None:
    """The same batches or the same error, whatever stands behind them; a part begins where the last one ended."""
    whole = memoryview(b"".join(bytes(oracle_build(records)) for records in batches) + rest)
    view = whole[: len(whole) - min(cut, len(whole))]

    def said(do: Callable[[], list[tuple[int, BatchHeader]]]) -> object:
        try:
            return do()
        except (CorruptBatchError, OldFormatError) as error:
            return error.message

    parts: list[list[tuple[int, BatchHeader]]] = []

    def together() -> list[tuple[int, BatchHeader]]:
        parts.extend(split_in_parts(view, size))
        return [one for part in parts for one in part]

    assert said(together) == said(lambda: split(view))
    assert all(part and part[-1][0] - part[0][0] < size for part in parts)


@pytest.mark.parametrize("at", range(HEADER_SIZE))
def test_a_byte_changed_in_a_header_never_makes_it_hang(at: int) -> None:
    """Neither length nor format: other headers at the same places. Else batches that tile the buffer, or an error."""
    first, second = (bytes(oracle_build([Record(n, 1, CREATE, b"k", b"v" * n)])) for n in (5, 6))
    both, size = first + second, len(first)
    assert split(memoryview(both)) == [(0, read_header(both)), (size, read_header(both, size))]
    for byte in {0, 1, 2, 3, 0x7F, 0x80, 0xFF, both[at] ^ 1} - {both[at]}:
        buffer = both[:at] + bytes((byte,)) + both[at + 1 :]
        if at not in (8, 9, 10, 11, 16):
            assert split(memoryview(buffer)) == [(0, read_header(buffer)), (size, read_header(buffer, size))]
        elif at == 16:
            with pytest.raises(OldFormatError if byte < 2 else CorruptBatchError) as caught:
                split(memoryview(buffer))
            assert getattr(caught.value, "offset") == 5  # noqa: B009  # both classes have it
        else:
            assert _tile(buffer) != [0, size]


def _tile(buffer: bytes) -> list[int]:
    """Where batches begin, each behind the one before; nothing where a length cannot be."""
    try:
        found = split(memoryview(buffer))
    except (CorruptBatchError, OldFormatError):
        return []
    assert all(header == read_header(buffer, start) for start, header in found)
    ends = [start + header.size for start, header in found]
    assert [start for start, _ in found] == [0, *ends][: len(found)] and max(ends, default=0) <= len(buffer)
    return [start for start, _ in found]


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
    with pytest.raises(CorruptBatchError, match=f"length {length:,}") as caught:
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
