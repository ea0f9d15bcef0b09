"""Where a stored position leads on the target: the one question that a format asks of the workflow."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from anabranch.checkpoints.position import Position
from anabranch.model.topics import TopicPartition


class Why(StrEnum):
    """The kinds of reasons; a plan names every one that holds."""

    NOT_IN_LINK = "not in link"
    NOT_COPIED = "not copied"
    BEFORE_START = "before start"
    EXPIRED = "expired"
    OUTSIDE_LOG = "outside log"
    NEW_PARTITIONS = "new partitions"
    IN_DOUBT = "in doubt"
    MARKER = "marker"
    UNCOMMITTED = "uncommitted batch"
    NOT_EQUAL = "ranges differ"
    COLLISION = "collision"
    AMBIGUOUS = "ambiguous"
    PENDING_TRANSACTIONS = "pending transactions"
    LOG_ORDER = "log order"
    UNFINISHED = "unfinished rewrite"
    MOVED = "moved already"
    RUNNING = "running"
    UNKNOWN = "unknown"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why a checkpoint is not rewritten; ``place`` is where in it, ``fix`` the next step."""

    why: Why
    what: str
    fix: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Moved:
    """Where a position is on the target.

    ``repeated`` and ``skipped`` are how many records a naive move, the old offset on the new cluster, would read again
    or never read; None where that cannot be counted (the old offset lies outside of the target's log: see ``naive``).
    ``offset`` is None for a position without one. ``note`` tells what is worth knowing of an exact answer. ``cluster``
    is the name of the one that the partition is on, "" where a route leads to one only.
    """

    partition: TopicPartition
    offset: int | None
    repeated: int | None = 0
    skipped: int | None = 0
    naive: str = ""
    note: str = ""
    cluster: str = ""


class Route(Protocol):
    """Translates positions of one checkpoint. An answer is exact or a refusal; it is the same for equal questions."""

    def move(self, position: Position) -> Moved | Refusal | None:
        """Where a position leads; None for a partition that is to stay where it is, on the old cluster.

        The answer lies inside of the target's log as it was looked at.
        """

    def equal(self, partition: TopicPartition, start: int, end: int) -> Refusal | None:
        """None if the map proves that source offsets [start, end) and what they translate to hold the same records."""

    def partitions(self, topic: str) -> frozenset[int] | Refusal:
        """Every partition that a target topic has now."""
