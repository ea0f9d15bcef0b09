"""``__anabranch_jumps``: what lies past the gaps of a lane's source, under ``lane/producer-id/sequence``.

Spans are written as one list: the first source offset, a length, then for each further span the offsets left
out before it and its length.
"""

from __future__ import annotations

from anabranch.protocol.gap_records import GapRecord, GapRecordKey, OffsetSpan
from anabranch.state.codecs.errors import MalformedRecordError
from anabranch.state.codecs.fields import dump, load
from anabranch.state.codecs.topics import GAP_RECORDS

VERSION = 1


def encode_key(key: GapRecordKey) -> bytes:
    """The key of a gap record."""
    return f"{key.lane}/{key.producer_id}/{key.sequence}".encode()


def decode_key(key: bytes) -> GapRecordKey:
    """The lane, the producer id and the sequence; raises ``MalformedRecordError``."""
    parts = key.decode("utf-8", "replace").rsplit("/", 2)
    if len(parts) != 3 or not parts[0] or not all(part.isascii() and part.isdecimal() for part in parts[1:]):
        raise MalformedRecordError(GAP_RECORDS, f"the key {key!r} is not lane/producer-id/sequence")
    return GapRecordKey(parts[0], int(parts[1]), int(parts[2]))


def encode(gap_record: GapRecord) -> bytes:
    """The value of a gap record; what stands in the key is in the key alone."""
    numbers: list[int] = []
    end = 0
    for source, length in gap_record.spans:
        numbers += (source - end, length)
        end = source + length
    return dump(VERSION, {"ordinal": gap_record.ordinal, "stretches": numbers})


def decode(key: bytes, value: bytes) -> GapRecord:
    """A gap record; raises ``MalformedRecordError``, ``NewerFormatError``."""
    name = decode_key(key)
    place = f"{GAP_RECORDS} {key.decode()}"
    with load(place, VERSION, value) as fields:
        ordinal, numbers = fields.integer("ordinal"), fields.integers("stretches")
    if ordinal < 0 or not numbers or len(numbers) % 2:
        raise MalformedRecordError(place, "an ordinal from 0 on, and pairs of numbers, are wanted")
    spans: list[OffsetSpan] = []
    end = 0
    for gap, length in zip(numbers[::2], numbers[1::2], strict=True):
        if gap < 0 or length < 1:
            raise MalformedRecordError(place, f"no span of {length:,} records follows {gap:,} offsets")
        spans.append(OffsetSpan(end + gap, length))
        end += gap + length
    return GapRecord(name.lane, name.producer_id, name.sequence, ordinal, tuple(spans))
