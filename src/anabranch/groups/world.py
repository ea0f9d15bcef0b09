"""What was seen of two clusters before anything is decided about their groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.model.groups import Commit, Group
from anabranch.model.topics import TopicPartition
from anabranch.offsets.runs import RunMap

Commits = Mapping[TopicPartition, Commit]


@dataclass(frozen=True, slots=True)
class Route:
    """Where a source partition's records went, and what either log still holds.

    ``source_start`` and ``target_start`` are the logs' first offsets, ``target_end`` the target's high watermark.
    """

    target: TopicPartition
    runs: RunMap
    source_start: int
    target_start: int
    target_end: int


@dataclass(frozen=True, slots=True)
class Untold:
    """A partition of the link whose offsets nobody can translate now, for ``reason``; ``fix`` is the next step."""

    reason: str
    fix: str


@dataclass(frozen=True, slots=True)
class World:
    """One look at a link's groups.

    ``source`` and ``target`` hold each group with its commits; a group that is not there is absent or DEAD.
    ``later`` are the source's commits once more, read some time after: where the two differ a group moves.  None
    where moving is as it should be, because the groups are followed.  ``pending`` are groups with commits in
    transactions that did not end, of which partitions.  ``metadata_limit`` is how many characters of metadata the
    target's brokers take, None where they do not tell.

    The source's commits are read before the maps: what is behind every one of them was copied when the map says so.
    """

    link: str
    routes: Mapping[TopicPartition, Route | Untold]
    source: Mapping[str, Group]
    target: Mapping[str, Group]
    later: Mapping[str, Commits] | None = None
    pending: Mapping[str, tuple[TopicPartition, ...]] = field(default_factory=dict)
    metadata_limit: int | None = None
