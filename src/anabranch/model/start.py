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

_GROUP = "group:"


class StartKind(StrEnum):
    """The ways to say a position, the same five everywhere."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    GROUP = "group"
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
        if self.kind is StartKind.GROUP:
            raise InvalidFieldError(
                "start", "group", "a lane begins at an offset that a group committed, not at a group"
            )
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


_FIX = (
    "use earliest, latest, milliseconds since 1970, a time such as 2013-01-01T00:00:00Z, group:NAME, "
    "TOPIC-PARTITION:OFFSET[,...], or @FILE"
)


_LIMIT = 1 << 63


@dataclass(frozen=True, slots=True)
class StartPosition:
    """Where a link's lanes begin, or a group is to read: the same five ways for all that takes a position.

    With given offsets, a partition that has none begins at its earliest record.  ``group`` are the committed offsets
    of a group: they are looked up once, on the cluster where they are to mean something, and then are given
    offsets (``anabranch.kafka.start``); a partition without a commit begins at its earliest record, too.
    """

    kind: StartKind = StartKind.EARLIEST
    timestamp_ms: int | None = None
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict, hash=False)
    group: str | None = None

    def __post_init__(self) -> None:
        if (self.kind is StartKind.TIMESTAMP) != (self.timestamp_ms is not None):
            raise InvalidFieldError("start", "timestamp", "a timestamp and only a timestamp has timestamp_ms")
        if (self.kind is StartKind.OFFSETS) != bool(self.offsets):
            raise InvalidFieldError("start", "offsets", "give at least one offset")
        if (self.kind is StartKind.GROUP) != bool(self.group):
            raise InvalidFieldError("start", "group", "name a group, and only where its offsets are meant")
        if self.timestamp_ms is not None and not 0 <= self.timestamp_ms < _LIMIT:
            # Kafka gives negative times meanings of their own: -1 asks for a log's end (ListOffsets).
            raise InvalidFieldError(
                "start", "timestamp", "it is not a time from 1970 on that Kafka can be asked for", _FIX
            )
        for partition, offset in self.offsets.items():
            if not 0 <= offset < _LIMIT:
                problem = f"{offset:,} is negative" if offset < 0 else f"{offset:,} is larger than any offset"
                raise InvalidFieldError("start", f"offsets.{partition}", problem)

    def for_lane(self, source: TopicPartition) -> LaneStart:
        """The start of the lane that copies that source partition; raises InvalidFieldError for a group's."""
        if self.kind is StartKind.OFFSETS:
            offset = self.offsets.get(source)
            return LaneStart() if offset is None else LaneStart(StartKind.OFFSETS, offset)
        return LaneStart(self.kind, self.timestamp_ms)

    def __str__(self) -> str:
        if self.kind is StartKind.TIMESTAMP:
            assert self.timestamp_ms is not None
            return datetime.fromtimestamp(self.timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds")
        if self.kind is StartKind.OFFSETS:
            return f"given offsets of {len(self.offsets):,} partition{'' if len(self.offsets) == 1 else 's'}"
        if self.kind is StartKind.GROUP:
            return f"{self.kind}:{self.group}"
        return self.kind.value

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``earliest``, ``latest``, ms since 1970, an ISO 8601 time with its zone, ``group:NAME``, or
        ``TOPIC-PARTITION:OFFSET`` with more of them after commas; raises ``InvalidFieldError``.

        Files are read by ``anabranch.config.offsets_file``, which all commands parse with.
        """
        if text in (StartKind.EARLIEST, StartKind.LATEST):
            return cls(StartKind(text))
        if re.fullmatch(r"\d+", text):
            # Python reads no number of more than some thousand digits.
            digits = text.lstrip("0") or "0"
            return cls(StartKind.TIMESTAMP, int(digits) if len(digits) < 20 else _LIMIT)
        if text.startswith(_GROUP) and text != _GROUP:
            return cls(StartKind.GROUP, group=text.removeprefix(_GROUP))
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return cls(StartKind.OFFSETS, offsets=_given(text))
        if moment.tzinfo is None:
            raise InvalidFieldError("start", "value", f"{text!r} is a time without its zone", _FIX)
        return cls(StartKind.TIMESTAMP, round(moment.timestamp() * 1000))


def parse_offset(text: str) -> tuple[TopicPartition, int]:
    """Read ``TOPIC-PARTITION:OFFSET``; raises ``InvalidFieldError``."""
    found = re.fullmatch(r"(?P<topic>[^:,]+)-(?P<partition>\d{1,10}):(?P<offset>\d{1,19})", text, re.ASCII)
    if found is None:
        problem = f"{text!r} is not TOPIC-PARTITION:OFFSET"
        raise InvalidFieldError("offset", "value", problem, "write it as in orders-0:1234")
    if int(found["partition"]) >= 1 << 31:
        raise InvalidFieldError("offset", "value", f"{text!r}: no partition has such a number")
    if int(found["offset"]) >= _LIMIT:
        raise InvalidFieldError("offset", "value", f"{text!r}: no offset is larger than {_LIMIT - 1:,}")
    return TopicPartition(found["topic"], int(found["partition"])), int(found["offset"])


def _given(text: str) -> dict[TopicPartition, int]:
    offsets: dict[TopicPartition, int] = {}
    for part in text.split(","):
        try:
            partition, offset = parse_offset(part.strip())
        except InvalidFieldError:
            raise InvalidFieldError("start", "value", f"{text!r} is not a start position", _FIX) from None
        if offsets.setdefault(partition, offset) != offset:
            raise InvalidFieldError("start", f"offsets.{partition}", "it is given twice", _FIX)
    return offsets
