"""Why a query of a stream failed, and what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Self

from pyspark.sql.streaming.query import StreamingQuery

from anabranch.errors import ProtocolError
from anabranch.spark.streams.analysis import InsertPlan
from anabranch.spark.streams.refusals import sentence

_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\]\s*")
_STACK = "Traceback (most recent call last):"
_RAISED = re.compile(r"(?m)^(?:\w+\.)*(\w*(?:Error|Exception): \S.*)$")
_OUTER = ("STREAM_FAILED", "FAILED_EXECUTE_UDF", "FOREACH_BATCH_USER_FUNCTION_ERROR", "TASK_WRITE_FAILED")
_NOT_DECODED = "cannot be decoded"
_HINTS = (
    (_NOT_DECODED, "correct whoever writes such records, or give the table on.error 'skip' or 'null'"),
    (
        "KAFKA_DATA_LOSS",
        "records expired before they were read; fail.on.data.loss 'false' reads on where the log begins",
    ),
    ("space left on device", "free the disk, and start the stream again: it goes on where it stood"),
    ("STATE_STORE", "the changed query does not fit the state of the old one: start it on a new checkpoint"),
    ("INCOMPATIBLE", "the changed query does not fit the checkpoint of the old one: start it on a new checkpoint"),
    ("does not host this topic-partition", "the topic is gone, or has fewer partitions: make it again"),
    ("TimeoutException", "see that the cluster is reached from here: anabranch context show CODE"),
)
_AGAIN = "start the stream again: it goes on where it stood; where it fails again, read the job's log"
_MOST_WORDS = 600


@dataclass(eq=False)
class FailedQueryError(ProtocolError):
    """A query of a stream failed in Spark; ``statement`` is 0 for one of a PySpark file."""

    query: str
    statement: int
    line: int
    why: str
    condition: str = ""
    fix: str = _AGAIN

    @property
    def message(self) -> str:
        place = f"statement {self.statement}, line {self.line}" if self.statement else f"line {self.line}"
        return f"query {self.query} ({place}) failed: {self.why}"

    _hint = "{fix}"

    @classmethod
    def of(cls, plan: InsertPlan, error: Exception) -> Self:
        """By what was raised as it was started."""
        condition, why, fix = sentence(error)
        return cls(plan.query, plan.number, plan.line, why, condition, fix or _hint_of(condition, why))


def query_failure(plan: InsertPlan, query: StreamingQuery) -> FailedQueryError:
    """Why a query that ended has failed."""
    return failure_of(plan.query, plan.number, plan.line, query)


def failure_of(name: str, statement: int, line: int, query: StreamingQuery) -> FailedQueryError:
    """Why a query that ended has failed, by its name and where it was written."""
    failed = query._jsq.exception()
    condition, why, fix = innermost(failed.get() if failed.isDefined() else None)
    return FailedQueryError(name, statement, line, why, condition, fix)


def innermost(cause: Any) -> tuple[str, str, str]:
    """(condition, sentence, hint) of the innermost cause that Spark has a name for, of a Java exception."""
    condition, why, last = "", "", ""
    while cause is not None:
        named, last = _named(cause), str(cause.getMessage() or cause.toString())
        if named:
            condition, why = named
        cause = cause.getCause()
    why = _plain(why or last)
    return condition, why, _hint_of(f"{condition} {last}", why)


def _named(cause: Any) -> tuple[str, str] | None:
    """(condition, message) of a Java exception, by its own word or by what its message quotes."""
    message = str(cause.getMessage() or "")
    found = list(_CLASS.finditer(message))
    for one in reversed(found):
        if one[1] not in _OUTER:
            return one[1], message[one.end() :]
    return None


def _plain(text: str) -> str:
    if _STACK in text and (raised := _RAISED.findall(text)):  # a stack of Python says what was raised last
        text = raised[-1]
    words = re.split(r"\s*SQLSTATE: \w{5}|\n\s*at |\n\nDriver stacktrace|\nDriver stacktrace", text)[0]
    return " ".join(words.split())[:_MOST_WORDS].removesuffix(".")


def _hint_of(condition: str, why: str) -> str:
    text = f"{condition} {why}"
    return next((fix for word, fix in _HINTS if word in text), _AGAIN)
