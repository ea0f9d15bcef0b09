"""``__anabranch_runs``: a lane's runs in numbered segments, under ``lane/segment``, as ``offsets.codec`` writes them.

A segment is a map of its own that begins with its first run.  Segments of a lane follow each other without
overlap; one that is full is never written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from anabranch.control.errors import MalformedRecordError, NewerFormatError
from anabranch.control.fields import refusals
from anabranch.control.topics import RUNS
from anabranch.model.lane import LaneKey
from anabranch.offsets import codec
from anabranch.offsets.errors import CorruptRunsError, UnknownRunsVersionError
from anabranch.offsets.runs import Run, RunMap


def run_key(lane: LaneKey, segment: int) -> bytes:
    """The key of a segment: the lane's text, a slash and the segment's number, from 0, in decimal."""
    return f"{lane}/{segment}".encode()


def parse_key(key: bytes) -> tuple[LaneKey, int]:
    """The lane and the segment's number; raises ``MalformedRecordError``."""
    lane, _, segment = key.decode("utf-8", "replace").rpartition("/")
    if not (segment.isascii() and segment.isdecimal()):
        raise MalformedRecordError(RUNS, f"the key {key!r} is not lane/segment")
    with refusals(RUNS):
        return LaneKey.parse(lane), int(segment)


def encode(runs: Iterable[Run]) -> bytes:
    """The value of a segment; raises ``RunOrderError`` unless the runs rise on both sides."""
    return codec.encode(RunMap.of(runs))


def check(key: bytes, value: bytes) -> None:
    """Refuse a segment that is damaged or of another version; raises ``MalformedRecordError``, ``NewerFormatError``."""
    with _named(key):
        codec.check(value)


def decode(key: bytes, value: bytes) -> tuple[Run, ...]:
    """A segment's runs; raises ``MalformedRecordError``, ``NewerFormatError``."""
    with _named(key):
        return tuple(codec.decode(value))


@contextmanager
def _named(key: bytes) -> Iterator[None]:
    place = f"{RUNS} {key.decode('utf-8', 'replace')}"
    try:
        yield
    except UnknownRunsVersionError as error:
        raise NewerFormatError(place, error.version, error.known) from error
    except CorruptRunsError as error:
        raise MalformedRecordError(place, error.reason) from error
