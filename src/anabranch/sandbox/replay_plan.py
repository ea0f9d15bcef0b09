"""What a replay shall feed, and what it has fed."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.sandbox.flights import TOPICS


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What to feed: ``rate`` in records/s over all topics (None: unlimited), ``limit`` in records (None: all).

    Topics that exist are used as they are; new ones get ``partitions``, and as many replicas as the broker's default.
    """

    topics: tuple[str, ...] = TOPICS
    partitions: int = 1
    rate: float | None = None
    loop: bool = False
    limit: int | None = None
    compression: str | None = "lz4"


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """Records that the cluster acknowledged, by topic, and how long it took."""

    records: dict[str, int]
    seconds: float

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.records.values())
