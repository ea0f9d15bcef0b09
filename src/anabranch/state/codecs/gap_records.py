"""``__anabranch_jumps``: what lies past the holes of a lane's source, under ``lane/producer-id/sequence``.

Stretches are written as one list: the first source offset, a length, then for each further stretch the offsets left
out before it and its length.
"""

from __future__ import annotations

from anabranch.protocol.holes import Jump, JumpKey, Stretch
from anabranch.state.codecs.errors import MalformedRecordError
from anabranch.state.codecs.fields import dump, load
from anabranch.state.codecs.topics import JUMPS

VERSION = 1


def encode_key(key: JumpKey) -> bytes:
    """The key of a jump."""
    return f"{key.lane}/{key.producer_id}/{key.sequence}".encode()


def decode_key(key: bytes) -> JumpKey:
    """The lane, the producer id and the sequence; raises ``MalformedRecordError``."""
    parts = key.decode("utf-8", "replace").rsplit("/", 2)
    if len(parts) != 3 or not parts[0] or not all(part.isascii() and part.isdecimal() for part in parts[1:]):
        raise MalformedRecordError(JUMPS, f"the key {key!r} is not lane/producer-id/sequence")
    return JumpKey(parts[0], int(parts[1]), int(parts[2]))


def encode(jump: Jump) -> bytes:
    """The value of a jump; what stands in the key is in the key alone."""
    numbers: list[int] = []
    end = 0
    for source, length in jump.stretches:
        numbers += (source - end, length)
        end = source + length
    return dump(VERSION, {"ordinal": jump.ordinal, "stretches": numbers})


def decode(key: bytes, value: bytes) -> Jump:
    """A jump; raises ``MalformedRecordError``, ``NewerFormatError``."""
    name = decode_key(key)
    place = f"{JUMPS} {key.decode()}"
    with load(place, VERSION, value) as fields:
        ordinal, numbers = fields.integer("ordinal"), fields.integers("stretches")
    if ordinal < 0 or not numbers or len(numbers) % 2:
        raise MalformedRecordError(place, "an ordinal from 0 on, and pairs of numbers, are wanted")
    stretches: list[Stretch] = []
    end = 0
    for gap, length in zip(numbers[::2], numbers[1::2], strict=True):
        if gap < 0 or length < 1:
            raise MalformedRecordError(place, f"no stretch of {length:,} records follows {gap:,} offsets")
        stretches.append(Stretch(end + gap, length))
        end += gap + length
    return Jump(name.lane, name.producer_id, name.sequence, ordinal, tuple(stretches))
