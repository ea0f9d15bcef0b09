"""Join small plain batches straight from the bytes of an answer: what ``split`` and ``join`` do, in one walk.

Batches of one record reach a copier by the million, and an object for each of them costs more than its bytes.  Here
a batch is a few numbers that are gone with the next one.  Only the plainest batches are taken; the first other one
ends the row, be it compressed, transactional, corrupt or of the next leader epoch: whoever reads on from there judges
it.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from google_crc32c import value as crc32c

from anabranch.records.encode import seal
from anabranch.records.errors import CorruptBatchError
from anabranch.records.header import CRC_START, HEADER_SIZE, LOG_OVERHEAD, Codec, read_header
from anabranch.records.join import HEADS, NUMBERS, STAMPS, respell

_HEADER = Struct(">qi5sI2siqq14xi")
assert _HEADER.size == HEADER_SIZE
_MAGIC = b"\x02"
_PLAIN = bytes(2)  # no codec, the producer's clock, neither transaction nor horizon
_RECORDS = HEADER_SIZE - CRC_START
_LEAST = HEADER_SIZE - LOG_OVERHEAD


class JoinedBatch(NamedTuple):
    """One dense batch, as ``join`` makes it, and where it is from.

    It holds the records of ``batches`` batches, the last of which ended at position ``size`` of the buffer and before
    source offset ``end``.  ``spans`` are (first source offset, records), rising, as few as there can be.
    """

    joined: bytearray
    batches: int
    size: int
    end: int
    spans: list[tuple[int, int]]
    leader_epoch: int


def join_small(
    buffer: bytes, fetch_offset: int, *, most_bytes: int, most_records: int, across_gaps: bool = True
) -> JoinedBatch | None:
    """Join the first batches of ``buffer``, as many as are small and plain; None where the first one is not.

    Small: at most ``most_bytes`` and ``most_records`` each.  Plain: uncompressed, dense, CreateTime, outside of
    transactions, all of one leader epoch, at ``fetch_offset`` or after it and after the batch before, with a right CRC
    and records that fill it.  Without ``across_gaps`` a row also ends where a source offset is missing after it.

    Invariant: a batch's CRC is checked before anything of it is used; of a batch that is not taken nothing is.
    """
    unpack = _HEADER.unpack_from
    at, size = 0, len(buffer)
    last = size - HEADER_SIZE
    parts: list[bytes] = []
    spans: list[tuple[int, int]] = []
    kind_of_row, stamp, stamped = b"", b"", None
    source = end = fetch_offset
    origin = latest = place = began = batches = 0
    while at <= last:
        base_offset, length, kind, crc, attributes, delta, time, newest, count = unpack(buffer, at)
        stop = at + LOG_OVERHEAD + length
        if attributes != _PLAIN or delta != count - 1 or not 0 < count <= most_records:
            break
        if length < _LEAST or stop > size or stop - at > most_bytes:
            break
        if kind != kind_of_row:  # leader epoch and format
            if batches or kind[4:] != _MAGIC:
                break
            origin, latest, source = time, newest, base_offset
        if base_offset != end and (base_offset < end or (batches and not across_gaps)):
            break
        cover = buffer[at + CRC_START : stop]
        if crc32c(cover) != crc:
            break
        if time != stamped:
            try:
                stamp, stamped = STAMPS[time - origin], time
            except OverflowError:
                break
        head = HEADS[stop - at - HEADER_SIZE]
        if count == 1 and cover.startswith(head, _RECORDS):
            # One record as every producer writes a batch of one: nothing in it must be read.
            rest, number = cover[_RECORDS + len(head) :], NUMBERS[place]
            parts += (NUMBERS[len(stamp) + len(number) + len(rest)], stamp, number, rest)
        else:
            spelled: list[bytes] = []
            try:
                respell(cover, _RECORDS, read_header(buffer, at), origin, place, spelled)
            except (CorruptBatchError, OverflowError):
                break
            parts += spelled
        if base_offset != end and batches:
            spans.append((source, place - began))
            source, began = base_offset, place
        kind_of_row = kind
        if newest > latest:  # noqa: PLR1730 - a call of max() is a tenth of the whole turn
            latest = newest
        place += count
        batches += 1
        end = base_offset + count
        at = stop
    if not batches:
        return None
    spans.append((source, place - began))
    joined = seal(
        b"".join(parts),
        count=place,
        last_offset_delta=place - 1,
        timestamps=(origin, latest),
        attributes=Codec.NONE,
    )
    return JoinedBatch(bytearray(joined), batches, at, end, spans, int.from_bytes(kind_of_row[:4], signed=True))
