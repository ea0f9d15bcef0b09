"""What a client counts from its beginning, across all clusters where it has been."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.model.routing import ClientReport

_WORDS = 500


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

    def report(self) -> ClientReport:
        """As it is told; the version is filled in by whoever follows the routes."""
        return ClientReport(0, self.records, self.bytes, self.errors, self.lag, dict(self.positions), self.last_error)
