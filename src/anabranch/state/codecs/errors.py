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

    _message = "{place}: format version {version} is newer than {known}, the newest known here"
    _hint = "upgrade: pip install --upgrade anabranch, on every Spark worker too"


@dataclass(eq=False)
class MalformedRecordError(ProtocolError):
    """A record's bytes are not what its format says."""

    place: str
    problem: str

    _message = "{place}: {problem}"
    _hint = "something else wrote to this topic; only Anabranch's principal should have WRITE on __anabranch_*"
