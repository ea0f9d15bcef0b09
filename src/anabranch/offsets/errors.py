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

    @property
    def message(self) -> str:
        return f"{self.side} offset {self.offset:,} cannot follow a map that ends at {self.side} offset {self.end:,}"


@dataclass(eq=False)
class CorruptMapError(ProtocolError):
    """Stored ranges that are damaged or that no version of the codec writes."""

    reason: str

    @property
    def message(self) -> str:
        return f"stored ranges are corrupt: {self.reason}"

    @property
    def hint(self) -> str:
        return "rebuild the lane's ranges from the headers of the target's log"


@dataclass(eq=False)
class UnknownMapVersionError(RefusedError):
    """Stored runs of a version that this program is too old (or too new) to read."""

    version: int
    known: int

    @property
    def message(self) -> str:
        return f"stored ranges have version {self.version}; this program reads version {self.known}"

    @property
    def hint(self) -> str:
        return "use the version of Anabranch that wrote them, or a newer one"
