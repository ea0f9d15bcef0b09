"""The translation of a stored position to the target: what a format needs of the operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from anabranch.checkpoints.position import Position
from anabranch.model.reasons import Reason
from anabranch.model.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class TranslatedPosition:
    """A position on the target.

    ``repeated`` and ``skipped`` are how many records an unmodified restart, the old offset on the new cluster, would
    read again or never read; None where that cannot be counted (the old offset lies outside of the target's log: see
    ``unmodified_restart``). ``offset`` is None for a position without one. ``note`` tells what is worth knowing of an
    exact answer. ``cluster`` is the name of the one that the partition is on, "" where a route leads to one only.
    """

    partition: TopicPartition
    offset: int | None
    repeated: int | None = 0
    skipped: int | None = 0
    unmodified_restart: str = ""
    note: str = ""
    cluster: str = ""


class PositionRoute(Protocol):
    """Translates positions of one checkpoint. An answer is exact or a refusal; it is the same for equal questions."""

    def move(self, position: Position) -> TranslatedPosition | Reason | None:
        """Where a position leads; None for a partition that is to stay where it is, on the old cluster.

        The answer lies inside of the target's log as it was looked at.
        """

    def equal(self, partition: TopicPartition, start: int, end: int) -> Reason | None:
        """None if the map proves that source offsets [start, end) and what they translate to hold the same records."""

    def partitions(self, topic: str) -> frozenset[int] | Reason:
        """Every partition that a target topic has now."""
