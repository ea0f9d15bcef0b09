"""The error of MirrorMaker 2's translated offsets: one row a group and partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from anabranch.model.topics import TopicPartition


class Evidence(StrEnum):
    """How an exact position was found."""

    MAP = "map"  # the runs that a link persisted about the same copy
    CONTENT = "content"  # the records around the position, found again in the copy
    NONE = "none"


@dataclass(frozen=True, slots=True)
class JudgedPosition:
    """One group's position on one partition, as MirrorMaker 2 answers it and as it is.

    ``committed``  what the group has committed on the source
    ``upstream``, ``downstream``  the checkpoint: the commit that MirrorMaker saw last, and its answer to it
    ``stored``  what its offset syncs, as they lie in their topic now, give for ``committed``: at best, the next answer
    ``exact``  where the group must go on in MirrorMaker's copy to read what it has not read
    ``least``, ``most``  bounds of the records that a group moved to ``downstream`` now would read again, in offsets of
    the copy (an offset may hold a transaction marker); negative where it would skip records; ``least`` is None
    without an answer, and ``most`` also where nothing tells
    ``ours``  the exact position in the copy of the link that was asked, where there is one
    """

    group: str
    source: TopicPartition
    target: TopicPartition
    committed: int
    upstream: int | None = None
    downstream: int | None = None
    stored: int | None = None
    exact: int | None = None
    evidence: Evidence = Evidence.NONE
    least: int | None = None
    most: int | None = None
    ours: tuple[TopicPartition, int] | None = None
    note: str = ""

    @property
    def is_answered(self) -> bool:
        """Whether MirrorMaker has a checkpoint for it."""
        return self.downstream is not None


@dataclass(frozen=True, slots=True)
class MirrorReport:
    """What MirrorMaker 2 says of one flow; ``heartbeat_ms`` is the age of its last heartbeat, None without one."""

    source_alias: str
    target_alias: str
    syncs: int
    heartbeat_ms: int | None
    rows: Sequence[JudgedPosition]
    notes: tuple[str, ...] = ()

    @property
    def unanswered(self) -> int:
        """Positions that MirrorMaker has no checkpoint for: such a group begins by its auto.offset.reset."""
        return sum(not row.is_answered for row in self.rows)

    @property
    def exact(self) -> int:
        """Positions whose checkpoint is exact."""
        return sum(row.is_answered and row.least == 0 == row.most for row in self.rows)

    @property
    def unbounded(self) -> int:
        """Positions with a checkpoint whose error is not known: no offset sync is left of them."""
        return sum(row.is_answered and row.most is None for row in self.rows)

    @property
    def most_read_again(self) -> int:
        """Upper bound of the records that all groups together would read again, but for those ``unbounded``."""
        return sum(max(0, row.most or 0) for row in self.rows)
