"""An offset map as bytes, for journals and files; the layout is in docs/reference/offset-maps.md.

Two bytes (magic, version), then unsigned varints, low bits first: the starts; the number of ranges; for each range the
gaps to the end of the one before (on both sides) and its length - 1; the gaps to the ends; last, a CRC-32 of all
before it.  One map has one encoding.
"""

from __future__ import annotations

import zlib
from array import array

from anabranch.offsets.errors import CorruptMapError, RangeOrderError, UnknownMapVersionError
from anabranch.offsets.offset_map import MAX_OFFSET, MappedRange, OffsetMap

MAGIC = 0xAB
VERSION = 1
_CRC_SIZE = 4
_LEAST_RANGE = 3
_MOST_BITS = 63


def encode(ranges: OffsetMap) -> bytes:
    """Return the map as bytes: about five for a short run behind a small gap."""
    out = bytearray((MAGIC, VERSION))
    _write(out, ranges.source_start)
    _write(out, ranges.target_start)
    _write(out, len(ranges))
    source, target = ranges.source_start, ranges.target_start
    for mapped in ranges:
        _write(out, mapped.source - source)
        _write(out, mapped.target - target)
        _write(out, mapped.length - 1)
        source, target = mapped.source_end, mapped.target_end
    _write(out, ranges.source_end - source)
    _write(out, ranges.target_end - target)
    out += zlib.crc32(out).to_bytes(_CRC_SIZE, "big")
    return bytes(out)


class Writer:
    """``encode`` of a map that begins with its first run, for one that grows: each range is encoded once."""

    __slots__ = ("_body", "_count", "_first", "_source", "_target")

    def __init__(self) -> None:
        self._body = bytearray()
        self._count = 0
        self._first: MappedRange | None = None
        self._source = self._target = 0

    def append(self, mapped: MappedRange) -> None:
        """Add a range that grows no more."""
        if self._first is None:
            self._first, self._source, self._target = mapped, mapped.source, mapped.target
        self._add(self._body, mapped)
        self._source, self._target = mapped.source_end, mapped.target_end
        self._count += 1

    def with_last(self, last: MappedRange) -> bytes:
        """The map of the ranges so far and one that may still grow."""
        first, source, target = self._first or last, self._source, self._target
        if self._first is None:
            self._source, self._target = last.source, last.target
        end = bytearray()
        self._add(end, last)
        self._source, self._target = source, target
        return self._sealed(first, self._count + 1, bytes(end))

    def close(self) -> bytes:
        """The map of the ranges so far, of which there is one at least."""
        assert self._first is not None
        return self._sealed(self._first, self._count, b"")

    def _add(self, out: bytearray, mapped: MappedRange) -> None:
        _write(out, mapped.source - self._source)
        _write(out, mapped.target - self._target)
        _write(out, mapped.length - 1)

    def _sealed(self, first: MappedRange, count: int, end: bytes) -> bytes:
        out = bytearray((MAGIC, VERSION))
        _write(out, first.source)
        _write(out, first.target)
        _write(out, count)
        out += self._body
        out += end
        out += b"\0\0"  # nothing was passed behind the last range
        out += zlib.crc32(out).to_bytes(_CRC_SIZE, "big")
        return bytes(out)


def check(data: bytes) -> None:
    """Refuse bytes that are not of this version or damaged, without decoding them; raises as ``decode`` does."""
    if len(data) < 2 + _CRC_SIZE or data[0] != MAGIC:
        raise CorruptMapError("they do not begin as stored ranges do")
    if data[1] != VERSION:
        raise UnknownMapVersionError(data[1], VERSION)
    found, stored = zlib.crc32(memoryview(data)[:-_CRC_SIZE]), int.from_bytes(data[-_CRC_SIZE:], "big")
    if found != stored:
        raise CorruptMapError(f"their CRC-32 is {found:#010x}, and {stored:#010x} was stored")


def begins(data: bytes) -> tuple[int, int]:
    """The source and the target start of an encoded map, which was checked."""
    source, at = _read(data, 2)
    return source, _read(data, at)[0]


def decode(data: bytes) -> OffsetMap:
    """Return the map that ``encode`` was given.

    Raises UnknownMapVersionError for another version, and CorruptMapError for anything that ``encode`` does not
    write: a false CRC, numbers out of range, bytes left over, ranges that should have been joined.
    """
    check(data)
    body = data[:-_CRC_SIZE]
    try:
        return _map(body)
    except IndexError as error:
        raise CorruptMapError("they are cut off") from error
    except (ValueError, RangeOrderError) as error:
        raise CorruptMapError(str(error)) from error


def _map(body: bytes) -> OffsetMap:
    source, at = _read(body, 2)
    target, at = _read(body, at)
    starts = source, target
    columns = array("q"), array("q"), array("q")
    sources, targets, lengths = (column.append for column in columns)
    count, at = _read(body, at)
    if count > (len(body) - at) // _LEAST_RANGE:
        raise ValueError(f"{count} ranges do not fit {len(body) - at} bytes")
    for number in range(count):
        source_gap, at = _read(body, at)
        target_gap, at = _read(body, at)
        length, at = _read(body, at)
        if number and source_gap == target_gap == 0:
            raise ValueError("two ranges that are one")
        source, target, length = source + source_gap, target + target_gap, length + 1
        if source + length > MAX_OFFSET or target + length > MAX_OFFSET:
            raise ValueError(f"the range ({source}, {target}, {length}) ends past 2^63 - 1")
        sources(source)
        targets(target)
        lengths(length)
        source, target = source + length, target + length
    result = OffsetMap.of_columns(starts, *columns)
    source_gap, at = _read(body, at)
    target_gap, at = _read(body, at)
    if at != len(body):
        raise ValueError(f"{len(body) - at} bytes are left over")
    return result.advance(result.source_end + source_gap, result.target_end + target_gap)


def _write(out: bytearray, number: int) -> None:
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def _read(body: bytes, at: int) -> tuple[int, int]:
    """Return (number, next position); ValueError for one that is too large or longer than it need be."""
    byte = body[at]
    at += 1
    if byte < 0x80:
        return byte, at
    number = byte & 0x7F
    shift = 7
    while True:
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift >= _MOST_BITS:
            break
    if byte >= 0x80 or number >> _MOST_BITS:
        raise ValueError("a number of more than 63 bits")
    if byte == 0:
        raise ValueError("a number with needless zero bits")
    return number, at
