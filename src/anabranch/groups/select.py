"""The selection of groups, and of their topics, by patterns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from anabranch.errors import InvalidFieldError, RefusedError


@dataclass(eq=False)
class NoSuchGroupError(RefusedError):
    """No group of that name, or that a pattern matches, is there."""

    pattern: str
    cluster: str

    _message = "no group of cluster {cluster} that we may see is called {pattern!r}"
    _hint = "`anabranch groups list LINK` lists them; a group that we may not DESCRIBE is not listed"


_TYPED = {"groups": "GROUP", "exclude": "--exclude", "topics": "--topics"}
"""What each is called where a person types it."""


@dataclass(frozen=True, slots=True)
class GroupSelection:
    """Groups of the source by patterns that match whole names, less those of ``exclude``.

    Without patterns: those that have committed something that the link copies.  With ``topics``, patterns too, commits
    of other source topics do not count.
    """

    groups: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field, typed in _TYPED.items():
            for pattern in getattr(self, field):
                try:
                    re.compile(pattern)
                except re.error as error:
                    problem = f"{pattern!r} is not a regular expression: {error}"
                    fix = "a whole name is matched; escape dots as \\."
                    raise InvalidFieldError("groups", typed, problem, fix) from error

    def names(self, known: Sequence[str], cluster: str) -> list[str]:
        """The selected of the known groups; raises NoSuchGroupError for a pattern that matches none."""
        for pattern in self.groups:
            if not any(re.fullmatch(pattern, name) for name in known):
                raise NoSuchGroupError(pattern, cluster)
        wanted = self.groups or (".*",)
        return [
            name
            for name in known
            if any(re.fullmatch(pattern, name) for pattern in wanted)
            and not any(re.fullmatch(pattern, name) for pattern in self.exclude)
        ]

    def counts(self, topic: str) -> bool:
        """Whether commits of a source topic count."""
        return not self.topics or any(re.fullmatch(pattern, topic) for pattern in self.topics)


EVERY = GroupSelection()
"""Every group that has committed something that the link copies."""
