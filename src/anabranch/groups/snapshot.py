"""A snapshot of both clusters, from which everything about their groups is decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.model.groups import Commit, Group
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import OffsetMap

Commits = Mapping[TopicPartition, Commit]


@dataclass(frozen=True, slots=True)
class PartitionMapping:
    """The offset map of a source partition, and what both logs still hold.

    ``source_start`` and ``target_start`` are the logs' first offsets, ``target_end`` the target's high watermark.
    """

    target: TopicPartition
    ranges: OffsetMap
    source_start: int
    target_start: int
    target_end: int


@dataclass(frozen=True, slots=True)
class UnavailableMapping:
    """A partition whose offsets cannot be translated now, for ``reason``; ``fix`` is the next step."""

    reason: str
    fix: str


@dataclass(frozen=True, slots=True)
class GroupsSnapshot:
    """A snapshot of a link's groups.

    ``source`` and ``target`` hold each group with its commits; a group that does not exist is absent or DEAD.
    ``later`` are the source's commits, read a second time: where the two differ a consumer still commits.  It is None
    for continuous sync, where consumers may commit.  ``pending`` are the partitions with commits in open transactions,
    by group.  ``metadata_limit`` is how many characters of metadata the target's brokers accept, None if not known.

    The source's commits are read before the maps: a commit that a map does not reach yet has not been copied yet.
    """

    link: str
    mappings: Mapping[TopicPartition, PartitionMapping | UnavailableMapping]
    source: Mapping[str, Group]
    target: Mapping[str, Group]
    later: Mapping[str, Commits] | None = None
    pending: Mapping[str, tuple[TopicPartition, ...]] = field(default_factory=dict)
    metadata_limit: int | None = None
