"""What Spark says against a statement, as an error of the script: its place, its sentence, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # comes with pyspark
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.base import QueryContextType

from anabranch.errors import AnabranchError, ConfigError, InvalidFieldError
from anabranch.spark.link.ready import failure_message
from anabranch.spark.session import check_jvm
from anabranch.spark.streams.clusters import UnknownClusterError
from anabranch.streams.connectors import nearest
from anabranch.streams.errors import ScriptError, error_at
from anabranch.streams.script import Statement, place

_HEAD = re.compile(r"^\[[A-Z0-9_.]+\]\s*")
_STATE = re.compile(r"\s*SQLSTATE: \w{5}.*", re.DOTALL)
_MISSING = ("TABLE_OR_VIEW_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE", "SCHEMA_NOT_FOUND")
_NOT_A_STREAM = "_LEGACY_ERROR_TEMP_1008"
_NO_KAFKA = "Failed to find data source: kafka"
_SORTED = "Sorting is not supported on streaming"
_MOST_WORDS = 600
_WATERMARK = (
    "give its stream a watermark (FROM t WATERMARK ts DELAY OF INTERVAL 10 MINUTES), "
    "or write to a sink that takes updates"
)


@dataclass(frozen=True, slots=True)
class ScriptText:
    """A script whose statements are looked at."""

    text: str

    def refuse(
        self, statement: Statement, problem: str, fix: str = "", condition: str = "INVALID_STATEMENT", word: str = ""
    ) -> ScriptError:
        """The error of a statement: at ``word`` where the statement has it after its first, else at its beginning."""
        line, column = statement.line, statement.column
        if word and (found := _find(statement.text, word)) is not None:
            line, column = place(statement.padded(), len(statement.padded()) - len(statement.text) + found)
        return error_at(self.text, statement.number, line, column, problem, fix, condition)

    def told(self, error: Exception, statement: Statement, known: Iterable[str] = ()) -> AnabranchError:
        """An error that was met with a statement, as it is where that is not to blame.

        ``known`` are the tables that there are.  Raises JvmGoneError.
        """
        if isinstance(error, ScriptError) or (isinstance(error, AnabranchError) and not isinstance(error, ConfigError)):
            return error
        if isinstance(error, InvalidFieldError):
            problem = f"{error.where}: {error.field}: {error.problem}"
            return self.refuse(statement, problem, error.hint, "INVALID_OPTION", error.field)
        if isinstance(error, AnabranchError):
            word = f"'{error.code}'" if isinstance(error, UnknownClusterError) else ""
            return self.refuse(statement, error.message, error.hint, type(error).__name__, word)
        check_jvm(error)
        condition, words, parameters = _said(error)
        line, column = _place(error, statement)
        if condition in _MISSING and (line, column) == (statement.line, statement.column):
            return self.refuse(
                statement, *_sentence(condition, words, parameters, tuple(known)), condition, _name(parameters)
            )
        problem, fix = _sentence(condition, words, parameters, tuple(known))
        return error_at(self.text, statement.number, line, column, problem, fix, condition)


def sentence(error: Exception) -> tuple[str, str, str]:
    """(condition, problem, hint) of an error of Spark's, without what Java adds.  Raises JvmGoneError."""
    check_jvm(error)
    condition, words, parameters = _said(error)
    return (condition, *_sentence(condition, words, parameters, ()))


def _said(error: Exception) -> tuple[str, str, Mapping[str, str]]:
    if isinstance(error, PySparkException):
        try:
            return error.getCondition() or "SPARK", _plain(error.getMessage()), error.getMessageParameters() or {}
        except Exception:  # of a JVM that is gone, or an error without a class
            return "SPARK", _plain(str(error)), {}
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        return _condition(cause) or "SPARK", _plain(str(cause.getMessage() or cause.toString())), {}
    return "SPARK", _plain(failure_message(error)), {}


def _condition(cause: Any) -> str | None:
    """Spark's name for an exception of Java; None for one that is not Spark's own, as of a disk that is full."""
    try:
        found: str | None = cause.getCondition()
    except Py4JError:  # whether a method is there is not known until it is called
        return None
    return found


def _plain(text: str) -> str:
    """Without the name of its class, its SQLSTATE, and the plan or the stack that follows."""
    words = _STATE.sub("", _HEAD.sub("", text.strip()))
    words = words.split("\n\tat ")[0].split("\n== SQL")[0]
    return " ".join(words.split())[:_MOST_WORDS].removesuffix(".")


def _sentence(condition: str, words: str, parameters: Mapping[str, str], known: tuple[str, ...]) -> tuple[str, str]:
    if condition in _MISSING:
        name = _name(parameters)
        there = f"there is {', '.join(sorted(known))}" if known else "the script declares none"
        return f"no table {name!r}", nearest(name, known) or there
    if condition == _NOT_A_STREAM:
        name = parameters.get("quoted", "")
        return f"table {name} is no stream", f"leave STREAM out: FROM {name}"
    if condition == "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION":
        operation, mode = parameters.get("operation", "this query"), parameters.get("outputMode")
        return f"{operation} cannot be written in output mode {mode}", _WATERMARK
    if words.startswith(_NO_KAFKA):
        return (
            "this Spark has no source for Kafka",
            "leave spark.jars out, or have it name what this prints, too: python -m anabranch.jars.connector",
        )
    if words.startswith(_SORTED):
        return "a stream cannot be sorted", "leave ORDER BY out"
    if condition.startswith("UNRESOLVED_COLUMN"):
        name = parameters.get("objectName", "").replace("`", "")
        near = parameters.get("proposal", "").replace("`", "")
        return f"no column {name!r}", f"there is {near}" if near else ""
    if condition == "UNRESOLVED_ROUTINE":
        name = parameters.get("routineName", "").replace("`", "")
        return f"no function {name!r}", "correct its name, or declare it before: CREATE TEMPORARY FUNCTION ..."
    return words[:1].lower() + words[1:] if words[:2].istitle() else words, ""


def _name(parameters: Mapping[str, str]) -> str:
    """Of the table, or of where it would be, that is not there."""
    found = (parameters.get(key, "") for key in ("relationName", "namespace", "schemaName"))
    return next(filter(None, found), "").replace("`", "")


def _place(error: Exception, statement: Statement) -> tuple[int, int]:
    """Where Spark says that it is: it was given the statement at its place in the script."""
    text = statement.padded()
    if isinstance(error, PySparkException):
        try:
            for context in error.getQueryContext() or ():
                start, stop = context.startIndex(), context.stopIndex()
                is_here = context.contextType() is QueryContextType.SQL and context.fragment() == text[start : stop + 1]
                if is_here and start >= 0:
                    return place(text, start)
        except Exception:  # an error that has no contexts
            pass
    origin: Any = getattr(error, "_origin", None)
    try:
        line, column = origin.line(), origin.startPosition()
        if line.isDefined() and column.isDefined():
            found = int(line.get()), int(column.get()) + 1
            last = statement.line + statement.text.count("\n")
            if statement.line <= found[0] <= last:
                return found
    except Exception:  # an error without a place
        pass
    return statement.line, statement.column


def _find(text: str, word: str) -> int | None:
    found = re.compile(rf"(?<![\w.]){re.escape(word)}(?![\w.])", re.IGNORECASE).search(text, 1)
    return None if found is None else found.start()
