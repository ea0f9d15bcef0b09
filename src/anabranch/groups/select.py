"""The selection of groups, and of their topics, by patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.model.patterns import Patterns, patterns


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
        for field in _TYPED:
            _patterns(field, getattr(self, field))

    def names(self, known: Sequence[str], cluster: str) -> list[str]:
        """The selected of the known groups; raises NoSuchGroupError for a pattern that matches none,
        and SlowPatternError.
        """
        for pattern in self.groups:
            if not any(map(_patterns("groups", (pattern,)).match, known)):
                raise NoSuchGroupError(pattern, cluster)
        wanted, unwanted = _patterns("groups", self.groups or (".*",)), _patterns("exclude", self.exclude)
        return [name for name in known if wanted.match(name) and not unwanted.match(name)]

    def counts(self, topic: str) -> bool:
        """Whether commits of a source topic count; raises SlowPatternError."""
        return not self.topics or _patterns("topics", self.topics).match(topic)


def _patterns(field: str, of: tuple[str, ...]) -> Patterns:
    return patterns("groups", _TYPED[field], of)


EVERY = GroupSelection()
"""Every group that has committed something that the link copies."""
