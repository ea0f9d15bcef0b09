"""Patterns of names: ``*`` stands for any text, and two patterns are known to share a name or to share none.

Regular expressions are what links and groups use.  Rules of one priority must not meet, and whether two regular
expressions do is costly to tell; of these patterns it is told exactly (docs/adr/0014-routes.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from anabranch.errors import InvalidFieldError

ANY = "*"
LONGEST = 300


@dataclass(frozen=True)
class Pattern:
    r"""A name, or names by ``*``; ``\*`` and ``\\`` are the characters themselves.  Case counts.

    Raises InvalidFieldError for an empty text, one over ``LONGEST`` characters, or a backslash before anything else.
    """

    text: str

    def __post_init__(self) -> None:
        if not self.text:
            raise InvalidFieldError("pattern", "text", "it is empty", "leave the field out, or write * for any text")
        if len(self.text) > LONGEST:
            raise InvalidFieldError("pattern", "text", f"it has more than {LONGEST} characters")
        if re.search(r"\\(?![*\\])", re.sub(r"\\[*\\]", "", self.text)):
            fix = r"write \* for a star and \\ for a backslash"
            raise InvalidFieldError("pattern", "text", f"{self.text!r} has a backslash before something else", fix)

    def __str__(self) -> str:
        return self.text

    @cached_property
    def _parts(self) -> tuple[str, ...]:
        """Characters; ``ANY`` alone is a star, a literal star is written as ``\\*``."""
        return tuple(
            ANY if part == "*" else part[-1] if part != r"\*" else r"\*"
            for part in re.findall(r"\\.|.", self.text, re.DOTALL)
        )

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        parts = (".*" if part == ANY else re.escape(part[-1]) for part in self._parts)
        return re.compile("".join(parts), re.DOTALL)

    @property
    def is_whole(self) -> bool:
        """Whether it is one name."""
        return ANY not in self._parts

    def matches(self, name: str) -> bool:
        """Whether it stands for this whole name."""
        return self._compiled.fullmatch(name) is not None

    def example(self) -> str:
        """A name that it stands for."""
        return "".join("" if part == ANY else part[-1] for part in self._parts) or "any"

    def shared_with(self, other: Pattern) -> str | None:
        """A name that both stand for, None where there is none.

        Two stars are left together by taking what either side still wants; states are pairs of places, so the time is
        the product of the lengths.
        """
        mine, theirs = self._parts, other._parts
        came: dict[tuple[int, int], tuple[tuple[int, int], str] | None] = {(0, 0): None}
        waiting = [(0, 0)]
        while waiting:
            here = i, j = waiting.pop()
            if here == (len(mine), len(theirs)):
                return _read(came, here) or "any"  # both are stars alone
            left = mine[i] if i < len(mine) else None
            right = theirs[j] if j < len(theirs) else None
            steps: list[tuple[tuple[int, int], str]] = []
            if left == ANY:
                steps.append(((i + 1, j), ""))
                if right is not None and right != ANY:
                    steps.append(((i, j + 1), right[-1]))
            if right == ANY:
                steps.append(((i, j + 1), ""))
                if left is not None and left != ANY:
                    steps.append(((i + 1, j), left[-1]))
            if left is not None and left == right and left != ANY:
                steps.append(((i + 1, j + 1), left[-1]))
            for step, taken in steps:
                if step not in came:
                    came[step] = (here, taken)
                    waiting.append(step)
        return None


def _read(came: dict[tuple[int, int], tuple[tuple[int, int], str] | None], end: tuple[int, int]) -> str:
    taken: list[str] = []
    at = came[end]
    while at is not None:
        before, text = at
        taken.append(text)
        at = came[before]
    return "".join(reversed(taken))
