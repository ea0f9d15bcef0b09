"""What can be wrong with ranges and with their stored bytes."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ProtocolError, RefusedError


@dataclass(eq=False)
class RangeOrderError(ProtocolError):
    """A run, or a position, that lies before what the map already holds: records would be repeated or reordered."""

    side: str
    offset: int
    end: int

    _message = "{side} offset {offset:,} cannot follow a map that ends at {side} offset {end:,}"


@dataclass(eq=False)
class CorruptMapError(ProtocolError):
    """Stored ranges that are damaged or that no version of the codec writes."""

    reason: str

    _message = "stored ranges are corrupt: {reason}"
    _hint = "rebuild the lane's ranges from the headers of the target's log"


@dataclass(eq=False)
class UnknownMapVersionError(RefusedError):
    """Stored runs of a version that this program is too old (or too new) to read."""

    version: int
    known: int

    _message = "stored ranges have version {version}; this program reads version {known}"
    _hint = "use the version of Anabranch that wrote them, or a newer one"
