"""Findings: what can be wrong with a record, where, and how often.

A difference (each is counted exactly):

    missing     the source has it, the target has it nowhere
    duplicate   the target has one copy more than the source
    reordered   the target has it, but before or after records that it should follow or precede
    modified    the target has another record at its offset, with some fields unchanged
    unexpected  the target has it, the source never did: another producer's
    hidden      the target has it, but a consumer sees it at one isolation level only
    displaced   the target has it, in order, but not at the offset that the map says: the map is wrong
    unnamed     it differs, in a lane where more differ than can be named

Not a difference, counted as *gone*: what retention or compaction took from one side since it was copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag


class FindingKind(IntEnum):
    """What is wrong with a record; the numbers are those in arrays and stored values."""

    MISSING = 1
    DUPLICATE = 2
    REORDERED = 3
    MODIFIED = 4
    UNEXPECTED = 5
    HIDDEN = 6
    DISPLACED = 7
    UNNAMED = 8
    GONE_SOURCE_RETENTION = 11
    GONE_TARGET_RETENTION = 12
    GONE_SOURCE_COMPACTION = 13
    GONE_TARGET_COMPACTION = 14

    @property
    def is_difference(self) -> bool:
        """Whether it makes the clusters differ; what is gone does not."""
        return self < FindingKind.GONE_SOURCE_RETENTION

    @property
    def word(self) -> str:
        """The word in reports."""
        return self.name.lower()


class RecordField(IntFlag):
    """The parts of a record that a copy must keep."""

    KEY = 1
    VALUE = 2
    HEADERS = 4
    TIMESTAMP = 8

    @property
    def words(self) -> tuple[str, ...]:
        """The names of the parts, as they are written in reports."""
        return tuple((one.name or "").lower() for one in RecordField if one in self)


NOWHERE = -1
NO_FIELDS = RecordField(0)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One record: its lane, source and target offset (-1 where it has none), and which fields are modified.

    For ``duplicate`` the source offset is that of the record which the target has twice; for ``reordered`` and
    ``displaced`` the target offset is where it is, not where it should be.
    """

    lane: str
    kind: FindingKind
    source: int
    target: int
    fields: RecordField = NO_FIELDS


@dataclass(frozen=True, slots=True)
class FindingCounts:
    """How many records of each kind; kinds without any are absent."""

    by_kind: Mapping[FindingKind, int] = field(default_factory=dict)

    def plus(self, other: FindingCounts) -> FindingCounts:
        """Both together."""
        return FindingCounts(
            {
                kind: self.by_kind.get(kind, 0) + other.by_kind.get(kind, 0)
                for kind in FindingKind
                if kind in self.by_kind or kind in other.by_kind
            }
        )

    def __getitem__(self, kind: FindingKind) -> int:
        return self.by_kind.get(kind, 0)

    @property
    def differences(self) -> int:
        """All records that are not as they should be."""
        return sum(count for kind, count in self.by_kind.items() if kind.is_difference)

    @property
    def gone(self) -> int:
        """All records that one side may have lost."""
        return sum(count for kind, count in self.by_kind.items() if not kind.is_difference)

    def words(self) -> dict[str, int]:
        """All kinds by their words, those without any too."""
        return {kind.word: self[kind] for kind in FindingKind}
