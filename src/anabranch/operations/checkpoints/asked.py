"""What a person said: by what a checkpoint's positions are to be translated, and how that is to be carried out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    """Live maps; ``context`` finds a link's source by its name, and raises ConfigError where it is not known."""

    links: tuple[LinkAt, ...]
    context: Callable[[str], ClusterContext]


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


@dataclass(frozen=True, slots=True)
class How:
    """How a rewrite is carried out.

    ``to`` is the new place, None for in place with a backup; ``fingerprint`` the plan that it must still be;
    ``stopped`` says that the job is stopped, although it has written lately; ``finish`` is the operator's command that
    brings a batch to its end on the old cluster, within ``finish_s``.
    """

    to: str | None = None
    fingerprint: str | None = None
    stopped: bool = False
    finish: str | None = None
    finish_s: float = 600.0
