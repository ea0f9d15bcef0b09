"""What a stream is made of: a script of SQL, or a file of PySpark."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath

from anabranch.errors import RefusedError


class StreamKind(StrEnum):
    """The kind of a stream; it is that of its first version, and of all others."""

    SQL = "sql"
    PYSPARK = "pyspark"


class StreamJobKind(StrEnum):
    """The kind of a job that is listed with streams: that of a stream, or a link, which has no versions."""

    SQL = "sql"
    PYSPARK = "pyspark"
    LINK = "link"


def kind_of_file(path: PurePath) -> StreamKind:
    """By the ending of a file: ``.py`` is PySpark, and all else a script."""
    return StreamKind.PYSPARK if path.suffix == ".py" else StreamKind.SQL


ONLY_RUNS = "what it does is known only by running it"
RUN_IT = (
    "run it here: `anabranch stream run FILE.py --checkpoints DIRECTORY`; or start it: `anabranch stream start NAME`"
)


@dataclass(eq=False)
class OtherStreamKindError(RefusedError):
    """A version of another kind than its stream is."""

    stream: str
    kind: str
    wanted: str

    _message = "stream {stream!r} is of kind {kind}, and a version of kind {wanted} has no place in it"
    _hint = "save it as a stream of its own: `anabranch stream create NAME FILE`; checkpoints of one kind fit no other"


@dataclass(eq=False)
class NotOfPySparkError(RefusedError):
    """Something is asked of a file of PySpark that only a script of SQL can answer, or is begun with."""

    what: str
    why: str
    fix: str

    _message = "a PySpark file has no {what}: {why}"
    _hint = "{fix}"
