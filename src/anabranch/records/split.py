"""Cut the records of a fetch answer into batches, without looking into any of them."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from anabranch.records.errors import CorruptBatchError, OldFormatError
from anabranch.records.header import HEADER, HEADER_SIZE, LOG_OVERHEAD, BatchHeader

_MIN_LENGTH = HEADER_SIZE - LOG_OVERHEAD
_MIN_OLD_LENGTH = 14  # message format v0: crc, magic, attributes, two lengths of nothing
_PREFIX = Struct(">qi4xb")


def split(buffer: memoryview) -> list[tuple[int, BatchHeader]]:
    """Return (position in the buffer, header) of every complete batch, in order.

    A fetch answer is cut off at a size, so its last batch may be incomplete: that one is left out, and an
    empty list from a buffer that is not empty means that the fetch's size limit is below the batch's size.
    Headers only: neither CRCs nor records are looked at.

    Raises OldFormatError at the first complete message of format v0 or v1, and CorruptBatchError where a size
    cannot be true or the format is unknown.

    Invariant: positions and sizes tile the buffer from 0 on without a gap; the loop advances by at least 61
    bytes a turn, so no contents make it hang.
    """
    batches, position = _cut(buffer, 0, len(buffer))
    if position < len(buffer):
        _check_rest(buffer, position)
    return batches


def split_in_parts(buffer: memoryview, size: int) -> Iterator[list[tuple[int, BatchHeader]]]:
    """What `split` returns and raises, in parts that begin within ``size`` bytes: others may have a turn in between."""
    position, end = 0, len(buffer)
    while position < end:
        batches, position = _cut(buffer, position, min(end, position + size))
        if not batches:
            _check_rest(buffer, position)
            return
        yield batches


def _cut(buffer: memoryview, position: int, upto: int) -> tuple[list[tuple[int, BatchHeader]], int]:
    """The complete batches from a position on that begin below ``upto``, and where they end."""
    batches: list[tuple[int, BatchHeader]] = []
    append, unpack, new = batches.append, HEADER.unpack_from, tuple.__new__
    end = len(buffer)
    last_start = min(end - HEADER_SIZE, upto - 1)
    while position <= last_start:
        # tuple.__new__ instead of the class: the same value, in half the time, on the hottest loop of the
        # copier.
        header = new(BatchHeader, unpack(buffer, position))
        length = header[1]
        following = position + LOG_OVERHEAD + length
        if header[3] != 2 or length < _MIN_LENGTH or following > end:
            break
        append((position, header))
        position = following
    return batches, position


def _check_rest(buffer: memoryview, position: int) -> None:
    """Pass if what begins at ``position`` is the beginning of a batch that was cut off; else raise."""
    rest = len(buffer) - position
    if rest < _PREFIX.size:
        return
    offset, length, magic = _PREFIX.unpack_from(buffer, position)
    if magic in (0, 1):
        if length < _MIN_OLD_LENGTH:
            raise CorruptBatchError(
                offset, f"length {length:,} is below the least of format v{magic}, {_MIN_OLD_LENGTH:,}"
            )
        if LOG_OVERHEAD + length <= rest:
            raise OldFormatError(offset, magic)
        return
    if magic != 2:
        raise CorruptBatchError(offset, f"format v{magic} does not exist")
    if length < _MIN_LENGTH:
        raise CorruptBatchError(offset, f"length {length:,} is below the header's own {_MIN_LENGTH:,}")
