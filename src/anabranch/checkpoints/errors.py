"""Why a checkpoint cannot be read at all: each names the file, the place in it, and the fix."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ProtocolError, RefusedError


@dataclass(eq=False)
class NoCheckpointError(RefusedError):
    """Nothing at that place is a checkpoint of a known engine; ``why`` is what was looked for and not found."""

    path: str
    why: str

    @property
    def message(self) -> str:
        return f"{self.path}: no checkpoint or savepoint: {self.why}"

    @property
    def hint(self) -> str:
        return "give the directory that has offsets/ and commits/ (Spark), or that has _metadata (Flink)"


@dataclass(eq=False)
class TwoEnginesError(RefusedError):
    """A directory that has both Spark's logs and Flink's metadata: which of them is meant is not guessed."""

    path: str

    @property
    def message(self) -> str:
        return f"{self.path}: both offsets/ or commits/ (Spark) and _metadata (Flink) are there"

    @property
    def hint(self) -> str:
        return "a checkpoint is of one engine: move what is of the other one elsewhere"


@dataclass(eq=False)
class MissingFileError(RefusedError):
    """A file that must be there is not."""

    path: str
    name: str

    @property
    def message(self) -> str:
        return f"{self.path}: {self.name} is not there"


@dataclass(eq=False)
class FileTooLargeError(RefusedError):
    """A file is larger than any of its kind; it was not read."""

    path: str
    name: str
    size: int
    limit: int

    @property
    def message(self) -> str:
        return f"{self.path}: {self.name} has {self.size:,} bytes, at most {self.limit:,} are read"


@dataclass(eq=False)
class DamagedCheckpointError(ProtocolError):
    """Bytes that break the format: truncated, torn or altered; ``at`` is the byte or line."""

    path: str
    name: str
    at: str
    what: str

    @property
    def message(self) -> str:
        return f"{self.path}: {self.name}, {self.at}: {self.what}"

    @property
    def hint(self) -> str:
        return "nothing was written; take an older checkpoint or savepoint of the job, or its backup"


@dataclass(eq=False)
class UnknownVersionError(RefusedError):
    """A format version, type byte or state layout that this version does not know; it is never guessed."""

    path: str
    name: str
    what: str
    known: str

    @property
    def message(self) -> str:
        return f"{self.path}: {self.name}: {self.what} is not known; known are {self.known}"

    @property
    def hint(self) -> str:
        return "nothing was written; a newer version of anabranch may know it"
