"""Make one batch of several small ones, without taking their records apart.

A batch costs a broker and a copier about the same whatever is in it, so that batches of one record cost a
hundred times what their records need.  Joined, a record keeps its bytes from the key on; its length and its
deltas of timestamp and offset, which are relative to a batch, are written again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct

import cramjam
from google_crc32c import value as crc32c

from anabranch.errors import RefusedError
from anabranch.records.compression import expand
from anabranch.records.encode import seal
from anabranch.records.errors import CorruptBatchError
from anabranch.records.header import (
    CODEC_MASK,
    CRC_START,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    BatchHeader,
    Codec,
)
from anabranch.records.varint import INT_BITS, LONG_BITS, read_rest, write

JOINED_LIMIT = 16 << 20
"""Bytes of uncompressed records that one joined batch holds at most unless the caller says otherwise."""

_RECORDS = HEADER_SIZE - CRC_START
_OWN_CLOCK = LOG_APPEND_TIME | DELETE_HORIZON
_LONG = 1 << 63
_KEPT = 1 << 16
_LZ4_FRAME = Struct("<IBBBI")
_LZ4_MAGIC = 0x184D2204
_LZ4_PLAIN = 0x60  # version 1, independent blocks
_LZ4_CHECKSUMS = 0x14
_LZ4_STORED = 1 << 31
_LZ4_SMALL = 4 << 10
_LZ4_ROOM = 1 << 10


@dataclass(eq=False)
class UnjoinableError(RefusedError):
    """Batches that are good, as far as can be told, but no one batch; to be sent one by one."""

    offset: int
    reason: str

    _message = "the batches from offset {offset:,} on cannot be joined: {reason}"


class _Varints(dict[int, bytes]):
    """Numbers as varints after fixed bytes; those that were asked for first are kept, a bounded number of them."""

    __slots__ = ("_before",)

    def __init__(self, before: bytes = b"") -> None:
        super().__init__()
        self._before = before

    def __missing__(self, number: int) -> bytes:
        if not -_LONG <= number < _LONG:
            raise OverflowError(f"{number} is no 64-bit number")
        out = bytearray(self._before)
        write(out, number)
        found = bytes(out)
        if len(self) < _KEPT:
            self[number] = found
        return found


class _Heads(dict[int, bytes]):
    """How a plain record begins that fills so many bytes: its length, no attributes, deltas of 0."""

    def __missing__(self, size: int) -> bytes:
        found = bytearray()
        for width in range(1, 6):
            found = bytearray()
            write(found, size - width)
            if len(found) == width:
                break
        head = bytes(found + bytes(3))
        if len(self) < _KEPT:
            self[size] = head
        return head


NUMBERS = _Varints()
STAMPS = _Varints(b"\0")  # a record's timestamp delta after its attributes, which are always 0 so far
HEADS = _Heads()


def join(batches: Sequence[tuple[memoryview, int, BatchHeader]], *, limit: int = JOINED_LIMIT) -> bytearray:
    """Return one dense batch with the records of ``batches``, each (buffer, position in it, header as it lies there).

    Offsets run from 0; records keep everything else, and those of a LogAppendTime batch have its time as their
    own.  The codec is that of the batches, none where they differ.  Base offset 0, no producer: ``patch`` sets it.

    Raises CorruptBatchError for a batch whose CRC is wrong or whose records do not fill it; UnjoinableError where
    the records take more than ``limit`` bytes uncompressed, don't expand, or lie too far apart in time; ValueError
    where there is no record.  What a record says after its deltas is not looked at, no more than in a batch that
    is sent as it is.
    """
    if not batches:
        raise ValueError("there is nothing to join")
    first = batches[0][2]
    origin = first.max_timestamp if first.attributes & _OWN_CLOCK else first.base_timestamp
    parts: list[bytes] = []
    place, room = 0, limit
    latest, codecs = first.max_timestamp, 0
    try:
        for view, at, header in batches:
            _, length, _, _, crc, attributes, _, base_timestamp, max_timestamp, _, _, _, count = header
            cover = bytes(view[at + CRC_START : at + LOG_OVERHEAD + length])
            if crc32c(cover) != crc:
                raise CorruptBatchError(header.base_offset, f"its CRC-32C is not {crc:#010x}, as the header says")
            codecs |= 1 << (attributes & CODEC_MASK)
            if max_timestamp > latest:  # noqa: PLR1730 - a call of max() is a tenth of the whole turn
                latest = max_timestamp
            if attributes & CODEC_MASK:
                body, start = _expanded(header, cover[_RECORDS:], room), 0
            else:
                body, start = cover, _RECORDS
            size = len(body) - start
            room -= size
            if count == 1 and not attributes & LOG_APPEND_TIME:
                head = HEADS[size]
                if body.startswith(head, start):
                    # One record as every producer writes a batch of one: nothing in it must be read.
                    rest = body[start + len(head) :]
                    stamp, number = STAMPS[base_timestamp - origin], NUMBERS[place]
                    parts += (NUMBERS[len(stamp) + len(number) + len(rest)], stamp, number, rest)
                    place += 1
                    continue
            respell(body, start, header, origin, place, parts)
            place += count
    except OverflowError as error:
        raise UnjoinableError(first.base_offset, "their timestamps lie too far apart") from error
    if room < 0:
        raise UnjoinableError(first.base_offset, f"their records take more than {limit:,} bytes")
    codec = first.attributes & CODEC_MASK
    joined = seal(
        b"".join(parts),
        count=place,
        last_offset_delta=place - 1,
        timestamps=(origin, latest),
        attributes=codec if codecs == 1 << codec else Codec.NONE,
    )
    return bytearray(joined)


def respell(body: bytes, at: int, header: BatchHeader, origin: int, place: int, parts: list[bytes]) -> None:
    """Append the records from ``at`` on to ``parts``: numbers from ``place`` on, times relative to ``origin``."""
    if header.count < 0:
        raise CorruptBatchError(header.base_offset, f"it counts {header.count:,} records")
    end = len(body)
    shift = header.base_timestamp - origin
    append_time = STAMPS[header.max_timestamp - origin] if header.is_log_append_time else None
    try:
        for number in range(place, place + header.count):
            size = body[at]
            at += 1
            if size > 0x7F:
                size, at = read_rest(body, at, size, INT_BITS)
            stop = at + (size >> 1)
            attributes = body[at]
            time = body[at + 1]
            at += 2
            if time > 0x7F:
                time, at = read_rest(body, at, time, LONG_BITS)
            delta = body[at]
            at += 1
            if delta > 0x7F:
                delta, at = read_rest(body, at, delta, INT_BITS)
            if size & 1 or not at <= stop <= end:
                raise CorruptBatchError(
                    header.base_offset, f"a record of {size >> 1:,} bytes before {end - at:,} bytes"
                )
            stamp = append_time or STAMPS[((time >> 1) ^ -(time & 1)) + shift]
            if attributes:
                stamp = bytes((attributes,)) + stamp[1:]
            rest, spelled = body[at:stop], NUMBERS[number]
            parts += (NUMBERS[len(stamp) + len(spelled) + len(rest)], stamp, spelled, rest)
            at = stop
    except IndexError as error:
        raise CorruptBatchError(header.base_offset, "a record is cut off at the batch's end") from error
    except ValueError as error:
        raise CorruptBatchError(header.base_offset, str(error)) from error
    if at != end:
        raise CorruptBatchError(header.base_offset, f"{end - at:,} bytes follow the last of {header.count:,} records")


def _expanded(header: BatchHeader, data: bytes, room: int) -> bytes:
    if header.attributes & CODEC_MASK == Codec.LZ4 and len(data) <= _LZ4_SMALL:
        found = _one_block(data, room)
        if found is not None:
            return found
    try:
        return expand(header.codec, data, max(room, 0))
    except ValueError as error:
        raise UnjoinableError(header.base_offset, str(error)) from error


def _one_block(data: bytes, room: int) -> bytes | None:
    """Expand an LZ4 frame of one small block; None where it is another frame, expands a lot, or is broken.

    A frame's own context costs ten times what such a block does.  The frame's checksums are left alone: the
    batch's CRC was checked, and covers them.
    """
    if len(data) < _LZ4_FRAME.size:
        return None
    magic, flags, _, _, size = _LZ4_FRAME.unpack_from(data)
    if magic != _LZ4_MAGIC or flags & ~_LZ4_CHECKSUMS != _LZ4_PLAIN:
        return None
    stored, size = size & _LZ4_STORED, size & ~_LZ4_STORED
    end = _LZ4_FRAME.size + size
    after = end + (4 if flags & 0x10 else 0)
    trailer = 8 if flags & 0x04 else 4
    if len(data) != after + trailer or data[after : after + 4] != bytes(4):
        return None
    block = data[_LZ4_FRAME.size : end]
    if stored:
        return block
    out = bytearray(min(4 * size + _LZ4_ROOM, max(room, 0)))
    try:
        return bytes(memoryview(out)[: cramjam.lz4.decompress_block_into(block, out, output_len=len(out))])
    except cramjam.DecompressionError:
        return None
