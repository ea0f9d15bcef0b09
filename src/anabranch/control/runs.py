"""``__anabranch_runs``: a lane's runs in numbered segments, under ``lane/segment``.

A segment's value is the run codec's bytes (``docs/reference/runs.md``), which carry their own version and CRC.
"""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.control.errors import MalformedRecordError
from anabranch.control.fields import refusals
from anabranch.control.topics import RUNS
from anabranch.model.lane import LaneKey
from anabranch.offsets import codec
from anabranch.offsets.errors import CorruptRunsError
from anabranch.offsets.runs import Run, RunMap


def run_key(lane: LaneKey, segment: int) -> bytes:
    """The key of one segment: the lane's text, a slash and the segment's number in decimal."""
    return f"{lane}/{segment}".encode()


def parse_key(key: bytes) -> tuple[LaneKey, int]:
    """The lane and the segment's number; raises ``MalformedRecordError``."""
    lane, _, segment = key.decode("utf-8", "replace").rpartition("/")
    if not (segment.isascii() and segment.isdecimal()):
        raise MalformedRecordError(RUNS, f"the key {key!r} is not lane/segment")
    with refusals(RUNS):
        return LaneKey.parse(lane), int(segment)


def encode(runs: Iterable[Run]) -> bytes:
    """The value of a segment; its map begins with its first run."""
    return codec.encode(RunMap.of(runs))


def decode(key: bytes, value: bytes) -> tuple[Run, ...]:
    """The runs of a segment; raises ``MalformedRecordError`` and the run codec's UnknownRunsVersionError."""
    lane, segment = parse_key(key)
    try:
        return tuple(codec.decode(value))
    except CorruptRunsError as error:
        raise MalformedRecordError(f"{RUNS} {lane}/{segment}", error.message) from error
