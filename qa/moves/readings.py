"""What a consumer in a group has read, with what it forgets when it rejoins its group; pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from qa.faults.ledger import Place
from qa.logcompare import ComparedRecord

Reads = dict[Place, list[ComparedRecord]]


@dataclass(slots=True)
class Readings:
    """Records by partition, in the order in which they were read.

    A coordinator that was away for long makes a consumer rejoin, and then it reads from its own last commit, moved or
    not: what it had read past that is forgotten, and counted in ``rewinds``.  Only that: a partition that goes on
    before an acknowledged commit, or before where it began, keeps what was read twice; and where another record comes
    than the one that was forgotten, both are kept.
    """

    reads: Reads = field(default_factory=lambda: defaultdict(list))
    rewinds: int = 0
    _round: int = 0
    _acknowledged: dict[Place, int] = field(default_factory=dict)
    _given: dict[Place, tuple[int, int]] = field(default_factory=dict)
    _forgotten: dict[Place, dict[int, ComparedRecord]] = field(default_factory=lambda: defaultdict(dict))

    def begin(self) -> None:
        """A round: what one call of the client gives."""
        self._round += 1

    def give(self, partition: Place) -> None:
        """The partition was assigned, in this round: it may begin again, but not before the last known commit."""
        if entries := self.reads.get(partition):  # else there is nothing to begin again
            self._given[partition] = (self._round, max(entries[0].offset, self._acknowledged.get(partition, 0)))

    def acknowledge(self, partition: Place, offset: int) -> None:
        """A commit of this reader was answered."""
        self._acknowledged[partition] = offset

    def add(self, partition: Place, entry: ComparedRecord) -> None:
        """A record was read."""
        entries = self.reads[partition]
        if partition in self._given:
            since, first = self._given[partition]
            rewound = bool(entries) and first <= entry.offset <= entries[-1].offset
            if rewound:
                self._forgotten[partition] |= {one.offset: one for one in entries if one.offset >= entry.offset}
                entries[:] = [one for one in entries if one.offset < entry.offset]
                self.rewinds += 1
            if rewound or self._round > since:  # in the round itself come records that were fetched before, too
                del self._given[partition]
        was = self._forgotten[partition].pop(entry.offset, entry)
        if was.digest != entry.digest:
            entries.append(was)
        entries.append(entry)
