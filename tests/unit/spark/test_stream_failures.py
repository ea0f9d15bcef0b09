"""Why a query failed, from what Java hands on."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from anabranch.spark.streams.failing import innermost

pytestmark = pytest.mark.unit


@dataclass
class Thrown:
    """A Java exception."""

    message: str
    cause: Thrown | None = None

    def getMessage(self) -> str:
        """As Java has it."""
        return self.message

    def getCause(self) -> Thrown | None:
        """As Java has it."""
        return self.cause


def test_of_a_stack_of_python_the_error_is_told() -> None:
    """And not where the stack begins."""
    stack = """Traceback (most recent call last):
  File "/somewhere/task.py", line 66, in write_task
    return write(batches)
           ^^^^^^^^^^^^^^
some.errors.CoordinatorRefusedError: cluster here cannot be reached; check addresses
"""
    found = innermost(Thrown("Writing job aborted", Thrown(stack)))
    assert found[:2] == ("", "CoordinatorRefusedError: cluster here cannot be reached; check addresses")


def test_other_texts_stay() -> None:
    """Their first sentence, and the condition where Spark has named one."""
    assert innermost(Thrown("Error: x\n\tat java.lang.Thread"))[1] == "Error: x"
    assert innermost(Thrown("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012"))[:2] == (
        *("DIVIDE_BY_ZERO", "Division by zero"),
    )
