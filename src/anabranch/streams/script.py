"""A script as its statements: cut at ``;``, with the place of each, so that errors name lines of the script.

The rules of quoting are those of Spark's own parser, which reads the statements later.

Invariants
    P1  ``";".join(pieces(script)) == script``.
    P2  no cut lies in a string, a quoted name or a comment.
    P3  ``statement.padded()`` has each character of the statement at the line and column that it has in the script.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from anabranch.streams.errors import ScriptError, error_at

_WORD = re.compile(r"\w+")
_LINE_COMMENT = re.compile(r"--(?:\\\n|[^\r\n])*")  # a backslash at the end of the line goes on with it
_COMMENT_EDGE = re.compile(r"/\*(?!\+)|\*/")
_QUOTES = {
    "'": (re.compile(r"'(?:[^'\\]|\\.|'')*'", re.DOTALL), "string"),
    '"': (re.compile(r'"(?:[^"\\]|\\.|"")*"', re.DOTALL), "string"),
    "`": (re.compile(r"`(?:[^`]|``)*`"), "quoted name"),
}
_RAW = {"'": re.compile(r"'[^']*'"), '"': re.compile(r'"[^"]*"')}
_COMPOUND = re.compile(r"(?:\w+\s*:\s*)?BEGIN\b(?!\s*[.=(])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its number from 1, and where its first word stands, line and column from 1.

    ``text`` has neither the ``;`` nor what stands before its first word; comments inside are kept.
    """

    number: int
    line: int
    column: int
    text: str

    def padded(self) -> str:
        """The text moved to its place in the script, for a parser that counts from where it begins (P3)."""
        return "\n" * (self.line - 1) + " " * (self.column - 1) + self.text


def split(script: str) -> tuple[Statement, ...]:
    """The statements of a script; those without a word are none.  Raises ScriptError."""
    found: list[Statement] = []
    begin = 0
    for piece in pieces(script):
        head = _leading(piece)
        text = piece[head:].rstrip()
        if text:
            line, column = place(script, begin + head)
            if _COMPOUND.match(text):
                problem = "BEGIN ... END is no part of a stream's script"
                fix = "write its statements one after another, separated by `;`"
                raise error_at(script, len(found) + 1, line, column, problem, fix, "COMPOUND_STATEMENT")
            found.append(Statement(len(found) + 1, line, column, text))
        begin += len(piece) + 1
    return tuple(found)


def pieces(script: str) -> tuple[str, ...]:
    """The script cut at each ``;`` that ends a statement (P1, P2); raises ScriptError."""
    found: list[str] = []
    begin = at = 0
    number = 1
    while at < len(script):
        char = script[at]
        if char == ";":
            piece = script[begin:at]
            number += _leading(piece) < len(piece)
            found.append(piece)
            begin = at = at + 1
        else:
            at = _past(script, at, number)
    return (*found, script[begin:])


def place(script: str, at: int) -> tuple[int, int]:
    """Line and column, from 1, of a character."""
    return script.count("\n", 0, at) + 1, at - script.rfind("\n", 0, at)


def _past(script: str, at: int, number: int) -> int:
    """Where the token ends that begins there; raises ScriptError for one without an end."""
    char = script[at]
    if char in _QUOTES:
        pattern, what = _QUOTES[char]
        if found := pattern.match(script, at):
            return found.end()
        raise _unterminated(script, at, number, what, char)
    if script.startswith("--", at):
        comment = _LINE_COMMENT.match(script, at)
        assert comment is not None
        return comment.end()
    if script.startswith("/*", at) and not script.startswith("/*+", at):
        return _past_comment(script, at, number)
    word = _WORD.match(script, at)
    if word is None:
        return at + 1
    end = word.end()
    if word.group() in ("r", "R") and script[end : end + 1] in _RAW:
        if found := _RAW[script[end]].match(script, end):
            return found.end()
        raise _unterminated(script, end, number, "string", script[end])
    return end


def _past_comment(script: str, at: int, number: int) -> int:
    depth, end = 0, at
    while edge := _COMMENT_EDGE.search(script, end):
        depth += 1 if edge.group() == "/*" else -1
        end = edge.end()
        if not depth:
            return end
    raise _unterminated(script, at, number, "comment", "*/")


def _unterminated(script: str, at: int, number: int, what: str, end: str) -> ScriptError:
    line, column = place(script, at)
    return error_at(
        script,
        number,
        line,
        column,
        f"a {what} begins here and does not end",
        f"end it with {end}",
        f"UNTERMINATED_{what.upper().replace(' ', '_')}",
    )


def _leading(piece: str) -> int:
    """Where the first word of a piece begins, past white space and whole comments."""
    at = 0
    while at < len(piece):
        if piece[at].isspace():
            at += 1
        elif piece.startswith("--", at) or (piece.startswith("/*", at) and not piece.startswith("/*+", at)):
            at = _past(piece, at, 0)
        else:
            break
    return at
