"""Where lanes begin: for a whole link as the user says it, and for one lane as the planner hands it on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self

from anabranch.errors import InvalidFieldError
from anabranch.model.topics import TopicPartition


class StartKind(StrEnum):
    """The ways to say where a lane begins."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    OFFSETS = "offsets"


@dataclass(frozen=True, slots=True)
class LaneStart:
    """Where one lane begins; ``value`` is a timestamp in ms or a source offset, None for earliest and latest.

    ``latest`` and a timestamp are resolved to an offset once, by the lane's first owner, and then stay with
    it.
    """

    kind: StartKind = StartKind.EARLIEST
    value: int | None = None

    def __post_init__(self) -> None:
        bare = self.kind in (StartKind.EARLIEST, StartKind.LATEST)
        if bare != (self.value is None) or (self.value is not None and self.value < 0):
            raise InvalidFieldError("start", self.kind.value, f"the value {self.value!r} does not belong here")

    def __str__(self) -> str:
        return self.kind.value if self.value is None else f"{self.kind}:{self.value}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text that ``str`` writes; raises ``InvalidFieldError``."""
        kind, _, value = text.partition(":")
        try:
            return cls(StartKind(kind), int(value) if value else None)
        except ValueError:
            raise InvalidFieldError("start", "value", f"{text!r} is not a lane's start") from None


@dataclass(frozen=True, slots=True)
class StartPosition:
    """Where a link's lanes begin; with given offsets, a partition that has none begins at its earliest
    record.
    """

    kind: StartKind = StartKind.EARLIEST
    timestamp_ms: int | None = None
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if (self.kind is StartKind.TIMESTAMP) != (self.timestamp_ms is not None):
            raise InvalidFieldError("start", "timestamp", "a timestamp and only a timestamp has timestamp_ms")
        if (self.kind is StartKind.OFFSETS) != bool(self.offsets):
            raise InvalidFieldError("start", "offsets", "give at least one offset")
        for partition, offset in self.offsets.items():
            if offset < 0:
                raise InvalidFieldError("start", f"offsets.{partition}", f"{offset} is negative")

    def for_lane(self, source: TopicPartition) -> LaneStart:
        """The start of the lane that copies that source partition."""
        if self.kind is StartKind.OFFSETS:
            offset = self.offsets.get(source)
            return LaneStart() if offset is None else LaneStart(StartKind.OFFSETS, offset)
        return LaneStart(self.kind, self.timestamp_ms)

    def __str__(self) -> str:
        if self.kind is StartKind.TIMESTAMP:
            assert self.timestamp_ms is not None
            return datetime.fromtimestamp(self.timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds")
        if self.kind is StartKind.OFFSETS:
            return f"given offsets of {len(self.offsets)} partitions"
        return self.kind.value

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``earliest``, ``latest``, ms since 1970, or an ISO 8601 time with its zone; raises
        ``InvalidFieldError``.
        """
        if text in (StartKind.EARLIEST, StartKind.LATEST):
            return cls(StartKind(text))
        if re.fullmatch(r"\d+", text):
            return cls(StartKind.TIMESTAMP, int(text))
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            fix = "use earliest, latest, milliseconds since 1970, or a time such as 2013-01-01T00:00:00Z"
            raise InvalidFieldError("start", "value", f"{text!r} is not a start position", fix)
        return cls(StartKind.TIMESTAMP, round(moment.timestamp() * 1000))
