"""What a stored record can be that is not readable here."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ProtocolError, RefusedError


@dataclass(eq=False)
class NewerFormatError(RefusedError):
    """A record was written by a newer Anabranch in a format that this one does not know."""

    place: str
    version: int
    known: int

    @property
    def message(self) -> str:
        return f"{self.place}: format version {self.version} is newer than {self.known}, the newest known here"

    @property
    def hint(self) -> str:
        return "upgrade: pip install --upgrade anabranch, on every Spark worker too"


@dataclass(eq=False)
class MalformedRecordError(ProtocolError):
    """A record's bytes are not what its format says."""

    place: str
    problem: str

    @property
    def message(self) -> str:
        return f"{self.place}: {self.problem}"

    @property
    def hint(self) -> str:
        return "something else wrote to this topic; only Anabranch's principal should have WRITE on __anabranch_*"
