"""What is wrong with a script, and where: every error names its statement, its line and its column."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ConfigError

_WIDTH = 100


@dataclass(eq=False)
class ScriptError(ConfigError):
    """A statement of a script that cannot be run.

    ``number`` is the statement's, ``line`` and ``column`` count from 1, 0 where the error has no place of its own.
    ``condition`` is Spark's name for it, or ours.  ``excerpt`` is the line with a caret below it.
    """

    problem: str
    number: int
    line: int
    column: int
    excerpt: str = ""
    fix: str = ""
    condition: str = "INVALID_STATEMENT"

    @property
    def message(self) -> str:
        place = f"statement {self.number}" if self.number else "script"
        if self.line:
            place += f", line {self.line}, column {self.column}"
        return f"{place}: {self.problem}"

    _hint = "{fix}"


def excerpt(script: str, line: int, column: int) -> str:
    """The line of a script and a caret below the column, both from 1; a long line is cut around it."""
    lines = script.split("\n")
    if not 1 <= line <= len(lines):
        return ""
    text = lines[line - 1].rstrip("\r").replace("\t", " ")
    at = max(0, min(column - 1, len(text)))
    begin = max(0, at - _WIDTH // 2) if len(text) > _WIDTH else 0
    return f"{text[begin : begin + _WIDTH]}\n{' ' * (at - begin)}^"


def error_at(
    script: str, number: int, line: int, column: int, problem: str, fix: str = "", condition: str = "INVALID_STATEMENT"
) -> ScriptError:
    """The error of a place in a script, with its excerpt."""
    return ScriptError(problem, number, line, column, excerpt(script, line, column), fix, condition)


@dataclass(eq=False)
class NoSelectError(ConfigError):
    """A statement of which rows were wanted has none."""

    number: int
    known: tuple[int, ...]

    @property
    def message(self) -> str:
        return f"statement {self.number} has no rows" if self.number else "the script has no SELECT"

    @property
    def hint(self) -> str:
        known = ", ".join(map(str, self.known))
        return f"statements that have some: {known}" if known else "write a SELECT, or an INSERT INTO ... SELECT"
