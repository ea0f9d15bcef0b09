"""What a person said: by what a checkpoint's positions are to be translated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.config.maps_file import StoredMap
from anabranch.model.cluster import ClusterContext
from anabranch.model.start import StartPosition
from anabranch.model.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class LinkAt:
    """A link, and the cluster that stores it."""

    link: str
    target: ClusterContext


@dataclass(frozen=True, slots=True)
class ByLinks:
    """Live maps."""

    links: tuple[LinkAt, ...]


@dataclass(frozen=True, slots=True)
class ByMaps:
    """Maps of a file; ``source`` is None where the old cluster cannot be asked any more."""

    file: str
    maps: tuple[StoredMap, ...]
    target: ClusterContext
    source: ClusterContext | None = None


@dataclass(frozen=True, slots=True)
class ByOffsets:
    """Positions on the target, given."""

    file: str
    offsets: Mapping[TopicPartition, int]
    target: ClusterContext


@dataclass(frozen=True, slots=True)
class ByStart:
    """A start position on the target."""

    start: StartPosition
    target: ClusterContext


@dataclass(frozen=True, slots=True)
class Asked:
    """One way, with the new names of topics (only where the way itself has none) and those that stay."""

    way: ByLinks | ByMaps | ByOffsets | ByStart
    rename: Mapping[str, str] = field(default_factory=dict)
    stay: frozenset[str] = frozenset()

    def __str__(self) -> str:
        if isinstance(self.way, ByLinks):
            return " and ".join(f"link {one.link}" for one in self.way.links)
        if isinstance(self.way, ByMaps):
            return f"the maps of {self.way.file}"
        if isinstance(self.way, ByOffsets):
            return f"the offsets of {self.way.file}"
        return f"start {self.way.start}"
