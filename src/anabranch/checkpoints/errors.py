"""Why a checkpoint cannot be read at all: each names the file, the place in it, and the fix."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ProtocolError, RefusedError


@dataclass(eq=False)
class NoCheckpointError(RefusedError):
    """Nothing at that place is a checkpoint of a known engine; ``why`` is what was looked for and not found."""

    path: str
    why: str

    _message = "{path}: no checkpoint or savepoint: {why}"
    _hint = "give the directory that has offsets/ and commits/ (Spark), or that has _metadata (Flink)"


@dataclass(eq=False)
class TwoEnginesError(RefusedError):
    """A directory that has both Spark's logs and Flink's metadata: which of them is meant is not guessed."""

    path: str

    _message = "{path}: both offsets/ or commits/ (Spark) and _metadata (Flink) are there"
    _hint = "a checkpoint is of one engine: move what is of the other one elsewhere"


@dataclass(eq=False)
class MissingFileError(RefusedError):
    """A file that must be there is not."""

    path: str
    name: str

    _message = "{path}: {name} is not there"


@dataclass(eq=False)
class FileTooLargeError(RefusedError):
    """A file is larger than any of its kind; it was not read."""

    path: str
    name: str
    size: int
    limit: int

    _message = "{path}: {name} has {size:,} bytes, at most {limit:,} are read"


@dataclass(eq=False)
class DamagedCheckpointError(ProtocolError):
    """Bytes that break the format: truncated, torn or altered; ``at`` is the byte or line."""

    path: str
    name: str
    at: str
    what: str

    _message = "{path}: {name}, {at}: {what}"
    _hint = "nothing was written; take an older checkpoint or savepoint of the job, or its backup"


@dataclass(eq=False)
class UnknownVersionError(RefusedError):
    """A format version, type byte or state layout that this version does not know; it is never guessed."""

    path: str
    name: str
    what: str
    known: str

    _message = "{path}: {name}: {what} is not known; known are {known}"
    _hint = "nothing was written; a newer version of anabranch may know it"
