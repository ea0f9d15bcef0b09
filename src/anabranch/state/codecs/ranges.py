"""``__anabranch_runs``: a lane's ranges in numbered segments, under ``lane/segment``, as ``offsets.codec`` writes them.

A segment is a map of its own that begins with its first run.  Segments of a lane follow each other without
overlap; one that is full is never written again.

Before the bytes stands the **owner epoch** of whoever persisted them, which rises with each takeover of the lane: a
request of an earlier owner may be carried out late, and what it persists is older than what is there.  Epoch 0, of whom
no claim tells, is not written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from anabranch.model.lane import LaneKey
from anabranch.offsets import codec
from anabranch.offsets.errors import CorruptMapError, UnknownMapVersionError
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.state.codecs.errors import MalformedRecordError, NewerFormatError
from anabranch.state.codecs.fields import refusals
from anabranch.state.codecs.topics import RUNS

VERSION = 2
_OWNED = bytes((codec.MAGIC, VERSION))
_EPOCH_SIZE = 8


def range_key(lane: LaneKey, segment: int) -> bytes:
    """The key of a segment: the lane's text, a slash and the segment's number, from 0, in decimal."""
    return f"{lane}/{segment}".encode()


def parse_key(key: bytes) -> tuple[LaneKey, int]:
    """The lane and the segment's number; raises ``MalformedRecordError``."""
    lane, _, segment = key.decode("utf-8", "replace").rpartition("/")
    if not (segment.isascii() and segment.isdecimal()):
        raise MalformedRecordError(RUNS, f"the key {key!r} is not lane/segment")
    with refusals(RUNS):
        return LaneKey.parse(lane), int(segment)


def encode(ranges: Iterable[MappedRange], epoch: int = 0) -> bytes:
    """The value of a segment; raises ``RangeOrderError`` unless the ranges rise on both sides."""
    return of_owner(epoch, codec.encode(OffsetMap.of(ranges)))


def of_owner(epoch: int, stored: bytes) -> bytes:
    """The value of a segment from its ranges as ``offsets.codec`` writes them."""
    return _OWNED + epoch.to_bytes(_EPOCH_SIZE, "big") + stored if epoch else stored


def owned(value: bytes) -> tuple[int, bytes]:
    """The owner epoch of a segment, and its ranges as ``offsets.codec`` writes them, of which nothing is checked."""
    if not value.startswith(_OWNED):
        return 0, value
    size = len(_OWNED) + _EPOCH_SIZE
    return int.from_bytes(value[len(_OWNED) : size], "big"), value[size:]


def check(key: bytes, value: bytes) -> None:
    """Refuse a segment that is damaged or of another version; raises ``MalformedRecordError``, ``NewerFormatError``."""
    with _named(key):
        codec.check(owned(value)[1])


def decode(key: bytes, value: bytes) -> tuple[MappedRange, ...]:
    """A segment's ranges; raises ``MalformedRecordError``, ``NewerFormatError``."""
    with _named(key):
        return tuple(codec.decode(owned(value)[1]))


@contextmanager
def _named(key: bytes) -> Iterator[None]:
    place = f"{RUNS} {key.decode('utf-8', 'replace')}"
    try:
        yield
    except UnknownMapVersionError as error:
        raise NewerFormatError(place, error.version, VERSION) from error
    except CorruptMapError as error:
        raise MalformedRecordError(place, error.reason) from error
