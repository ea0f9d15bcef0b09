"""The lines of a log's file: UTF-8, ``\\n`` between them, at most one at the end; the first is the version."""

from __future__ import annotations

import re
from dataclasses import dataclass

from anabranch.checkpoints.spark.errors import MalformedError, UnknownError

_VERSION = re.compile(r"v([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class TextFile:
    """The lines after the version, and what follows the last: nothing in what Spark writes."""

    version: int
    lines: tuple[str, ...]
    end: str

    def emit(self) -> bytes:
        """The file byte for byte."""
        return ("\n".join((f"v{self.version}", *self.lines)) + self.end).encode()


def parse_text_file(content: bytes, newest: int) -> TextFile:
    """Lines of a file of version 1 to ``newest``; raises MalformedError and UnknownError.

    ``\\r`` ends a line for Spark's reader too, which never writes one: a file that has it is not Spark's own.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise MalformedError(f"byte {error.start}", "is not UTF-8") from None
    if not text:
        raise MalformedError("byte 0", "the file is empty, it was not written to its end")
    for sign in "\r\0":
        if sign in text:
            raise MalformedError(f"character {text.index(sign)}", f"is {sign!r}")
    first, *lines = text.split("\n")
    version = _VERSION.fullmatch(first)
    if version is None:
        raise MalformedError("line 1", f"is {first[:20]!r}, not a version such as 'v1'")
    number = int(version[1])
    if number > newest:
        raise UnknownError(f"format version {number}", f"1 to {newest}" if newest > 1 else "1")
    end = ""
    if lines and not lines[-1]:
        lines.pop()
        end = "\n"
    return TextFile(number, tuple(lines), end)
