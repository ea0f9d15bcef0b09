"""The control topics of one target as a worker holds them: each read on from where it was read last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from anabranch.kafka.cluster import Cluster
from anabranch.state.segments.index import HELD
from anabranch.state.topics.control import Links, MappedRanges, Progress
from anabranch.state.topics.journal import GapRecords, Journal


@dataclass(frozen=True, slots=True)
class ControlTopics:
    """What a worker reads and writes of its link beside the data."""

    links: Links
    progress: Progress
    journal: Journal
    gap_records: GapRecords
    ranges: MappedRanges

    @classmethod
    def of(cls, target: Cluster) -> Self:
        """Nothing is read yet."""
        return cls(Links(target), Progress(target), Journal(target), GapRecords(target), MappedRanges(target, HELD))
