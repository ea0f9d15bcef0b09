"""By what a checkpoint's positions are translated: links, a maps file, explicit offsets, or a start position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.config.maps_file import StoredMap
from anabranch.model.cluster import ClusterContext
from anabranch.model.start import StartPosition
from anabranch.model.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class LinkAt:
    """A link, and the cluster that it leads to.

    ``stored`` is the cluster that stores it where it leads from ``target`` there: then its maps are read backwards.
    """

    link: str
    target: ClusterContext
    stored: ClusterContext | None = None


@dataclass(frozen=True, slots=True)
class ByLinks:
    """By the maps of links, as they are stored now."""

    links: tuple[LinkAt, ...]


@dataclass(frozen=True, slots=True)
class ByMaps:
    """By the maps of a file; ``source`` is None if the old cluster cannot be reached any more."""

    file: str
    maps: tuple[StoredMap, ...]
    target: ClusterContext
    source: ClusterContext | None = None


@dataclass(frozen=True, slots=True)
class ByOffsets:
    """By explicit offsets on the target."""

    file: str
    offsets: Mapping[TopicPartition, int]
    target: ClusterContext


@dataclass(frozen=True, slots=True)
class ByStart:
    """By a start position on the target."""

    start: StartPosition
    target: ClusterContext


@dataclass(frozen=True, slots=True)
class TranslationSource:
    """A method, with new names of topics (only if the method itself has none) and the topics that stay."""

    method: ByLinks | ByMaps | ByOffsets | ByStart
    rename: Mapping[str, str] = field(default_factory=dict)
    stay: frozenset[str] = frozenset()

    def __str__(self) -> str:
        if isinstance(self.method, ByLinks):
            return " and ".join(f"link {one.link}" for one in self.method.links)
        if isinstance(self.method, ByMaps):
            return f"the maps of {self.method.file}"
        if isinstance(self.method, ByOffsets):
            return f"the offsets of {self.method.file}"
        return f"start {self.method.start}"
