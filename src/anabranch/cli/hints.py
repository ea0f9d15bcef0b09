"""Commands in hints as they must be typed: with the ``--target`` of the command line, and quoted for a shell."""

from __future__ import annotations

import re
from contextvars import ContextVar

#: What ``--target`` of this run was, None where the default was meant; set where a verb takes its target.
typed_target: ContextVar[str | None] = ContextVar("typed_target", default=None)

_COMMAND = re.compile(
    r"anabranch (?:link list|(?:link|groups|offsets|mm2|verify) (?!(?:create|list|rebuild)\b)[a-z-]+ [^\s`;,]+)"
)


def aimed(text: str) -> str:
    """A hint whose commands name the typed target; a hint that names a target stays as it is."""
    where = repeated(typed_target.get())
    if not where or "--target" in text:
        return text
    return _COMMAND.sub(lambda found: found[0] + where, text)


def repeated(target_name: str | None) -> str:
    """A ``--target`` that was typed, to be repeated in a hint."""
    return "" if target_name is None else f" --target {quoted(target_name)}"


def quoted(text: str) -> str:
    """One word of a command line."""
    plain = all(letter.isalnum() or letter in "._-/:" for letter in text)
    return text if plain and text else "'" + text.replace("'", "'\\''") + "'"
