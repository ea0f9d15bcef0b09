"""A source log with gaps: transaction markers and aborted records that never come back, records that compaction
removes between two fetches, and replicas that lag behind with it, so that a fetch may see what another saw gone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from anabranch.protocol import OffsetSpan

from .partition import Violation

VIEWS = 3
"""How far back, in compactions, a fetch may see the log."""


class Source:
    """Offsets ``start`` to ``end``; ``views`` are the offsets with a record, the newest last; they only shrink."""

    def __init__(self, luck: random.Random, start: int, *, long: bool, transactions: bool, compacts: bool) -> None:
        self.start = start
        self.end = start + luck.choice((16, 24, 32) if long else (7, 9, 12))
        self.compacts = compacts
        share = luck.choice((0.15, 0.35)) if transactions else 0.0
        self.copyable = frozenset(offset for offset in range(start, self.end) if luck.random() >= share)
        self.copyable |= {self.end - 1}
        self.views = [self.copyable]
        if compacts:
            for _ in range(luck.randrange(4)):
                self.compact(luck)
            self.views = self.views[-1:]

    @property
    def present(self) -> frozenset[int]:
        """The offsets that still have a record."""
        return self.views[-1]

    def compact(self, luck: random.Random) -> bool:
        """The cleaner removes a record; never the newest one."""
        old = sorted(self.present - {self.end - 1})
        if not self.compacts or not old:
            return False
        self.views.append(self.present - {luck.choice(old)})
        return True

    def fetch(self, at: int, luck: random.Random) -> list[tuple[OffsetSpan, ...]]:
        """Some batches from an offset on, as one replica has them: the spans of each."""
        view = luck.choice(self.views[-VIEWS:])
        records = sorted(offset for offset in view if offset >= at)
        found = []
        for _ in range(luck.choice((1, 2, 3))):
            size = luck.choice((1, 1, 2, 3))
            if records:
                found.append(spans_of(records[:size]))
            records = records[size:]
        return found

    def has_more(self, at: int) -> bool:
        """Whether a record is left from an offset on: compaction keeps the newest."""
        return at < self.end

    def check(self, following: int, offsets: Sequence[int], log: str) -> None:
        """Raise Violation unless these records may be appended behind a log that ends before ``following``."""
        for offset in offsets:
            if offset < following:
                raise Violation("REPEATED", f"{offset - self.start} after {log}")
            if offset not in self.copyable:
                raise Violation("PHANTOM", f"{offset - self.start} after {log}")
            if any(passed in self.present for passed in range(following, offset)):
                raise Violation("LOST", f"before {offset - self.start} after {log}")
            following = offset + 1


def spans_of(offsets: Sequence[int]) -> tuple[OffsetSpan, ...]:
    """Rising offsets as spans."""
    found: list[OffsetSpan] = []
    for offset in offsets:
        if found and found[-1].end == offset:
            found[-1] = OffsetSpan(found[-1].source, found[-1].length + 1)
        else:
            found.append(OffsetSpan(offset, 1))
    return tuple(found)


def offsets_of(spans: Sequence[OffsetSpan]) -> list[int]:
    """The offsets that spans hold."""
    return [offset for source, length in spans for offset in range(source, source + length)]
