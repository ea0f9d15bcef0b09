"""What a client counts from its beginning, across all clusters where it has been."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.model.routing import ClientReport

_WORDS = 500
_MOST_POSITIONS = 10_000


@dataclass
class Counts:
    """Steps are made in the application's thread alone, or under its client's lock."""

    records: int = 0
    bytes: int = 0
    errors: int = 0
    lag: int | None = None
    positions: Mapping[str, int] = field(default_factory=dict)
    last_error: str = ""

    def failed(self, words: str) -> None:
        """Something went wrong that the application was told, too."""
        self.errors += 1
        self.last_error = words[:_WORDS]

    def measure(self, inner: Any, stood: list[Any]) -> None:
        """Positions and lag, as a consumer knows them without asking anybody; raises KafkaException."""
        positions, lag = {}, 0
        for one in stood:
            if one.offset >= 0:
                positions[f"{one.topic}-{one.partition}"] = one.offset
                marks = inner.get_watermark_offsets(one, cached=True)
                lag += max(0, marks[1] - one.offset) if marks is not None and marks[1] >= 0 else 0
        self.positions = dict(sorted(positions.items())[:_MOST_POSITIONS])
        self.lag = lag if positions else None

    def report(self) -> ClientReport:
        """As it is told; the version is filled in by whoever follows the routes."""
        return ClientReport(0, self.records, self.bytes, self.errors, self.lag, dict(self.positions), self.last_error)
