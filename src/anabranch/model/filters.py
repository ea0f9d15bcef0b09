"""Which topics a link copies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol, cast

from anabranch.errors import AnabranchError, InvalidFieldError
from anabranch.model.patterns import Patterns
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
        """Whether some include matches the whole name and no exclude does; raises SlowPatternError."""
        return self._include.match(topic) and not self._exclude.match(topic)


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


def _compile(field: str, patterns: Sequence[str]) -> Patterns:
    if isinstance(patterns, str):
        raise InvalidFieldError("filter", field, "a list is wanted, not one string", f"write [{patterns!r}]")
    return Patterns("filter", field, patterns)
