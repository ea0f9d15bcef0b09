"""Stored runs read back as they were, forever, and damage is never read as another map."""

from __future__ import annotations

import pickle
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.offsets.codec import MAGIC, VERSION, decode, encode
from anabranch.offsets.errors import CorruptMapError, UnknownMapVersionError
from anabranch.offsets.offset_map import MAX_OFFSET, MappedRange, OffsetMap

from .strategies import offset_maps

pytestmark = pytest.mark.unit
GOLDEN = Path(__file__).parents[2] / "golden" / "runs"
GOLDEN_MAPS = {
    "v1-empty": OffsetMap(),
    "v1-empty-at": OffsetMap(300, 1 << 40),
    "v1-one": OffsetMap.of([MappedRange(0, 0, 1_000_000_000_000)]),
    "v1-picture": OffsetMap.of([MappedRange(100, 7, 4), MappedRange(105, 12, 2)], 98, 7).advance(110, 16),
    "v1-transactions": OffsetMap.of([MappedRange(11 * n, 10 * n, 10) for n in range(50)]).advance(550, 500),
    "v1-largest": OffsetMap.of([MappedRange(MAX_OFFSET - 1, 0, 1)]).advance(MAX_OFFSET, MAX_OFFSET),
}


def sealed(*numbers: int | bytes) -> bytes:
    """Bytes with a true head and CRC around numbers below 128, or around given bytes."""
    body = bytes((MAGIC, VERSION)) + b"".join(n if isinstance(n, bytes) else bytes((n,)) for n in numbers)
    return body + zlib.crc32(body).to_bytes(4, "big")


@given(offset_maps())
def test_a_map_reads_back_as_it_was(ranges: OffsetMap) -> None:
    """Ranges, starts and ends; and the same map is always the same bytes."""
    stored = encode(ranges)
    assert decode(stored) == ranges
    assert encode(decode(stored)) == stored


@given(st.integers(0, 2**62), st.integers(0, 2**62), st.integers(1, 2**62 - 1), st.integers(0, 2**61))
def test_large_numbers_read_back(source: int, target: int, length: int, behind: int) -> None:
    """Over all of int64."""
    ranges = OffsetMap.of([MappedRange(source, target, length)])
    ranges = ranges.advance(min(ranges.source_end + behind, MAX_OFFSET), ranges.target_end)
    assert decode(encode(ranges)) == ranges


@pytest.mark.parametrize("name", sorted(GOLDEN_MAPS))
def test_bytes_of_the_first_release_are_read_and_written(name: str) -> None:
    """The golden files never change: a new layout gets a new version."""
    stored = (GOLDEN / f"{name}.bin").read_bytes()
    assert decode(stored) == GOLDEN_MAPS[name]
    assert encode(GOLDEN_MAPS[name]) == stored


@given(offset_maps(), st.data())
def test_a_changed_byte_is_found(ranges: OffsetMap, data: st.DataObject) -> None:
    """Whichever it is: as another version, or as corruption."""
    stored = bytearray(encode(ranges))
    at = data.draw(st.integers(0, len(stored) - 1))
    stored[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(UnknownMapVersionError if at == 1 else CorruptMapError):
        decode(bytes(stored))


@given(offset_maps(), st.data())
def test_a_cut_is_found(ranges: OffsetMap, data: st.DataObject) -> None:
    """Stored ranges are whole or refused."""
    stored = encode(ranges)
    with pytest.raises(CorruptMapError) as caught:
        decode(stored[: data.draw(st.integers(0, len(stored) - 1))])
    assert caught.value.hint


@given(st.binary(max_size=60))
def test_any_bytes_under_a_true_crc_are_a_map_or_refused(noise: bytes) -> None:
    """What does decode is the one encoding of its map."""
    stored = sealed(noise)
    try:
        ranges = decode(stored)
    except CorruptMapError:
        return
    assert ranges.is_sound()
    assert encode(ranges) == stored


@pytest.mark.parametrize(("name", "others"), [("v1-picture", 5), ("v1-transactions", 50), ("v1-empty-at", 5)])
def test_every_byte_altered_under_a_true_crc_is_another_map_or_refused(name: str, others: int) -> None:
    """What is read is written again as it is, and is not the map before."""
    stored = encode(GOLDEN_MAPS[name])
    taken = refused = 0
    for at in range(2, len(stored) - 4):
        for other in {0, 1, 2, 0x7F, 0x80, 0xFF} - {stored[at]}:
            altered = sealed(stored[2:at], other, stored[at + 1 : -4])
            try:
                ranges = decode(altered)
            except CorruptMapError:
                refused += 1
                continue
            assert encode(ranges) == altered
            assert ranges.is_sound() and ranges != GOLDEN_MAPS[name]
            taken += 1
    assert taken >= others
    assert refused >= others


def test_another_version_is_named() -> None:
    """The reader says what it knows, and which it met."""
    stored = bytearray(encode(OffsetMap()))
    stored[1] = 9
    with pytest.raises(UnknownMapVersionError, match="version 9; this program reads version 1") as caught:
        decode(bytes(stored))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ((0, 0, 2, 0, 0, 4, 0, 0, 4, 0, 0), "two ranges that are one"),
        ((0, 0, 0, 0, 0, 0), "1 bytes are left over"),
        ((0, 0, 100, 0, 0, 0), "100 ranges do not fit 3 bytes"),
        ((0, 0, 0, 0), "cut off"),
        ((0, 0, 0, 0, b"\x80"), "cut off"),
        ((b"\x80\x00", 0, 0, 0, 0), "needless zero bits"),
        ((b"\xff" * 9 + b"\x01", 0, 0, 0, 0), "more than 63 bits"),
        ((b"\xff" * 8 + b"\x7f", 0, 1, 0, 0, 1, 0, 0), "past"),
        ((b"\xff" * 8 + b"\x7f", 0, 0, 1, 0), "past"),
    ],
)
def test_each_kind_of_corruption_is_named(numbers: tuple[int | bytes, ...], reason: str) -> None:
    """Under a CRC that is right, so that the layout itself is checked."""
    with pytest.raises(CorruptMapError, match=reason):
        decode(sealed(*numbers))


def test_short_runs_are_stored_in_few_bytes() -> None:
    """A lane over a transactional topic has one range a transaction: three bytes each."""
    assert len(encode(GOLDEN_MAPS["v1-transactions"])) < 3 * 50 + 20
    assert len(encode(OffsetMap.of(MappedRange(200 * n, 150 * n, 100) for n in range(1000)))) == 3 * 1000 + 12


def test_a_lane_without_gaps_is_stored_in_less_than_forty_bytes() -> None:
    """However long it is, and wherever it begins."""
    assert len(encode(OffsetMap.of([MappedRange(2**62, 2**62, 2**62 - 1)]))) < 40
