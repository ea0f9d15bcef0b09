"""A JVM that is gone is told as that, whatever was asked of it: neither a script nor a checkpoint is blamed."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]  # comes with pyspark

from anabranch.spark.errors import JvmGoneError
from anabranch.spark.streams.refusals import ScriptText, sentence
from anabranch.streams.errors import ScriptError
from anabranch.streams.script import split

pytestmark = pytest.mark.unit

SCRIPT = "SELECT value FROM numbers"
GONE = pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("Answer from Java side is empty"),
        Py4JError("An error occurred while calling o21.parsePlan"),
        ConnectionRefusedError(111, "Connection refused"),
    ],
    ids=["no answer", "no call", "no listener"],
)


@GONE
def test_a_statement_is_not_blamed(error: Exception) -> None:
    """As it was looked at."""
    (statement,) = split(SCRIPT)
    with pytest.raises(JvmGoneError, match="JVM is gone"):
        raise ScriptText(SCRIPT).told(error, statement)


@GONE
def test_nothing_is_said_of_what_was_asked(error: Exception) -> None:
    """Neither that a checkpoint is refused nor that a query or a preview has failed."""
    with pytest.raises(JvmGoneError, match="JVM is gone"):
        sentence(error)


def test_what_python_refuses_is_still_an_error_of_its_statement() -> None:
    """It has nothing to do with the JVM."""
    (statement,) = split(SCRIPT)
    assert isinstance(ScriptText(SCRIPT).told(ValueError("no such thing"), statement), ScriptError)
