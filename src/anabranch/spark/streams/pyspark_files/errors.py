"""Why a PySpark file does not run, and where in it."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from types import TracebackType

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # comes with pyspark
from pyspark.errors import AnalysisException, PySparkException

from anabranch.errors import AnabranchError, ConfigError, ProtocolError
from anabranch.spark.streams.refusals import sentence

_MOST_WORDS = 600
_WRONG = (NameError, ImportError, SyntaxError, AnalysisException)


@dataclass(eq=False)
class FileError(AnabranchError):
    """A PySpark file has raised something; ``line`` is the last of the file in its traceback, 0 where there is none."""

    line: int
    function: str
    why: str
    condition: str
    excerpt: str = ""

    @property
    def message(self) -> str:
        place = f"line {self.line}, in {self.function}: " if self.line else ""
        why = f": {self.why}" if self.why else ""
        return f"the PySpark file: {place}{self.condition}{why}"


class FileRaisedError(FileError, ProtocolError):
    """Another start may do better."""

    _hint = "its log has the traceback; correct the file, or what it meets"


class FileWrongError(FileError, ConfigError):
    """What another start does not change: a name, a module or a column that is not there."""

    _hint = "correct the file, and save it: `anabranch stream edit NAME FILE.py`"


@dataclass(eq=False)
class JobUseError(ConfigError):
    """A PySpark file asks something of its job that cannot be."""

    what: str
    problem: str
    fix: str

    _message = "{what}: {problem}"
    _hint = "{fix}"


@dataclass(eq=False)
class UnwatchedQueryError(ConfigError):
    """A PySpark file has started a query by itself: it has no checkpoint that belongs to the stream."""

    query: str

    _message = "query {query} was started without job.start: it would not go on from the stream's checkpoints"
    _hint = "hand its writer to the job in place of calling start(): job.start(writer, NAME)"


def raised(error: BaseException, file: str, text: str) -> AnabranchError:
    """By the last line of the file in the traceback of what it raised; an error of ours is itself."""
    if isinstance(error, AnabranchError):
        return error
    line, function = last_line(error.__traceback__, file)
    if isinstance(error, PySparkException | Py4JJavaError):
        name, why, _ = sentence(error)
    else:
        name, why = type(error).__name__, " ".join(str(error).split())[:_MOST_WORDS]
    lines = text.splitlines()
    said = lines[line - 1].strip() if 1 <= line <= len(lines) else ""
    kind = FileWrongError if isinstance(error, _WRONG) else FileRaisedError
    return kind(line, function, why, name, said)


def last_line(found: TracebackType | None, file: str) -> tuple[int, str]:
    """(line, function) of the innermost frame of a file, (0, "") where there is none."""
    place = 0, ""
    for frame, line in traceback.walk_tb(found):
        if frame.f_code.co_filename == file:
            place = line, frame.f_code.co_name
    return place
