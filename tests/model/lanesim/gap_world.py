"""The world of a lane whose source has holes: a journal of jumps, one record of filed runs, and what must be true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from anabranch.offsets.runs import RunMap
from anabranch.protocol import Filed, Jump, JumpKey, JumpLog, Stretch
from anabranch.protocol.tail import tell

from .partition import Stored, Violation
from .source import Source
from .world import LANE, World


class HoleWorld(World):
    """A world that copies from a ``Source``.

    ``book`` are the filed runs and ``filed_by`` the claim offset of who filed them: one record, as readers take it,
    which an older claim's never replaces if ``fenced``.
    """

    def __init__(self, source: Source, timestamps: dict[int, int], *, sole: bool) -> None:
        first = source.start
        batches = [(first, source.end - first, timestamps[first])]
        super().__init__(batches, 0, identity=False, sole=sole)
        self.source = source
        self.timestamps = timestamps
        self.jumps: dict[JumpKey, tuple[int, Jump | None]] = {}
        self.book = RunMap(first, 0)
        self.filed_by = -1
        self.filed_epoch = -1
        self.fenced = True
        self.bids: dict[str, int] = {}
        """When each takeover that is under way read the filed runs."""
        self._ticks = 0
        self.partition.judge = self._judge

    def tick(self) -> int:
        """Count what happens."""
        self._ticks += 1
        return self._ticks

    # --- the journal of jumps
    def append_jump(self, key: JumpKey, jump: Jump | None) -> None:
        """Append a jump, or the tombstone of one; compaction keeps each key's last record."""
        self.jumps[key] = (self.journal_end, jump)
        self.journal_end += 1

    def append_late(self, late: Any) -> None:
        """A claim or a jump that its sender no longer waits for."""
        if isinstance(late, Jump):
            self.append_jump(late.key, late)
        else:
            super().append_late(late)

    def jump_log(self) -> JumpLog:
        """The journal folded."""
        records = sorted(((o, k, j) for k, (o, j) in self.jumps.items()), key=lambda record: record[0])
        return JumpLog(records)

    # --- filed runs
    def file_book(self, claim_offset: int, leader_epoch: int, book: RunMap) -> None:
        """Store the runs of a tenure, unless a later claim's are stored."""
        if claim_offset >= self.filed_by or not self.fenced:
            self.filed_by, self.filed_epoch, self.book = claim_offset, leader_epoch, book

    def filed(self) -> Filed | None:
        """Where the filed runs end."""
        last = self.book.last
        return None if last is None else Filed(last.source_end, last.target_end, self.filed_epoch)

    # --- what must be true
    def _judge(self, following: int, batch: Stored) -> None:
        """A batch that was just appended: in order, nothing lost, and its jump is in the journal (H1)."""
        self.source.check(following, batch.offsets(), self.partition.describe())
        if self.told(batch, self.jump_log(), None) != batch.stretches:
            raise Violation("UNTOLD", f"{batch.offsets()} was appended without its jump")

    def told(self, batch: Stored, jumps: JumpLog, runs: RunMap | None) -> tuple[Stretch, ...] | None:
        """The stretches of a batch as a reader of journals and runs tells them; None where it can not."""
        stretches = tell(LANE, jumps, runs, batch.header, batch.first)
        return stretches if stretches is None else joined(stretches)

    def audit(self) -> None:
        """Every batch in the log is told, and rightly."""
        jumps = self.jump_log()
        for batch in self.partition.log:
            if batch.first < 0:
                continue
            told = self.told(batch, jumps, self.book)
            if told is None:
                raise Violation("UNTOLD", f"{batch.offsets()} at {batch.base}")
            if told != batch.stretches:
                raise Violation("WRONG MAP", f"{batch.offsets()} at {batch.base}, told {told}")

    def check_runs(self) -> None:
        """Every filed run is true as far as its records are in the log, and every batch can be told."""
        self.audit()
        for run in self.book:
            for i in range(run.length):
                if run.target + i < self.partition.start:
                    continue
                found = self.partition.at(run.target + i)
                if found != run.source + i:
                    raise Violation("FALSE RUN", f"{run.source + i} filed at {run.target + i}, found {found}")

    def check_complete(self) -> None:
        """All that the source still has was copied."""
        left = [offset for offset in self.source.present if offset >= self.partition.next_source]
        if left:
            raise Violation("LOST", f"{left} at the end of {self.partition.describe()}")


def joined(stretches: Iterable[Stretch]) -> tuple[Stretch, ...]:
    """Stretches without seams: jumps and runs hold them in pieces."""
    found: list[Stretch] = []
    for stretch in stretches:
        if found and found[-1].end == stretch.source:
            found[-1] = Stretch(found[-1].source, found[-1].length + stretch.length)
        else:
            found.append(stretch)
    return tuple(found)
