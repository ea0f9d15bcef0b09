"""Which topics a link copies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol, cast

from anabranch.errors import AnabranchError, InvalidFieldError
from anabranch.model.plugins import PluginSpec, build

GROUP = "anabranch.filters"

#: Never copied, whatever a filter says: the brokers' own state, and ours.
INTERNAL = re.compile(r"__consumer_offsets|__transaction_state|__share_group_state|__cluster_metadata|__anabranch_.*")

#: Excluded unless the user gives an exclude list: MirrorMaker 2's own topics, which mean nothing elsewhere.
DEFAULT_EXCLUDE = (r"mm2-.*\.internal", r".*\.checkpoints\.internal", r"heartbeats", r".*\.heartbeats")


class TopicFilter(Protocol):
    """What an entry point of group ``anabranch.filters`` builds from its options."""

    def selects(self, topic: str) -> bool:
        """Whether the link copies the source topic of that name."""


class RegexFilter:
    """Include and exclude lists of regular expressions that match whole names; exclude wins."""

    __slots__ = ("_exclude", "_include")

    def __init__(self, include: Sequence[str] = (".*",), exclude: Sequence[str] = DEFAULT_EXCLUDE) -> None:
        self._include = _compile("include", include)
        self._exclude = _compile("exclude", exclude)

    def selects(self, topic: str) -> bool:
        """Whether some include matches the whole name and no exclude does."""
        return _any(self._include, topic) and not _any(self._exclude, topic)


def load(spec: PluginSpec) -> TopicFilter:
    """The filter that a spec names; raises ``UnknownPluginError``, ``InvalidFieldError``."""
    return cast(TopicFilter, build(GROUP, spec, {"regex": RegexFilter}))


def select(topic_filter: TopicFilter, topics: Iterable[str]) -> tuple[str, ...]:
    """The topics that the link copies, sorted; internal topics are never among them."""
    return tuple(sorted(t for t in topics if not INTERNAL.fullmatch(t) and topic_filter.selects(t)))


def excluded(spec: PluginSpec, topics: Iterable[str]) -> frozenset[str]:
    """Those of some topics that a filter does not select; none where it is a plugin that is not installed here."""
    try:
        topic_filter = load(spec)
    except AnabranchError:
        return frozenset()
    topics = frozenset(topics)
    return topics - frozenset(select(topic_filter, topics))


def _compile(field: str, patterns: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    if isinstance(patterns, str):
        raise InvalidFieldError("filter", field, "a list is wanted, not one string", f"write [{patterns!r}]")
    compiled = []
    for pattern in patterns:
        try:
            compiled.append(re.compile(pattern))
        except re.error as error:
            problem = f"{pattern!r} is not a regular expression: {error}"
            raise InvalidFieldError("filter", field, problem, "a whole name is matched; escape dots as \\.") from error
    return tuple(compiled)


def _any(patterns: Iterable[re.Pattern[str]], topic: str) -> bool:
    return any(p.fullmatch(topic) for p in patterns)
