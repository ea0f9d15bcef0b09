"""The world of a lane whose source has gaps: a journal of gap records, one record of persisted runs, and what must be
true.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from anabranch.offsets.offset_map import OffsetMap
from anabranch.protocol import GapRecord, GapRecordKey, GapRecordLog, OffsetSpan, Persisted
from anabranch.protocol.tail import tell

from .partition import Stored, Violation
from .source import Source
from .world import LANE, World


class GapWorld(World):
    """A world that copies from a ``Source``.

    ``book`` are the persisted runs and ``persisted_by`` the claim offset of who persisted them: one record, as readers
    take it, which an older claim's never replaces if ``fenced``.
    """

    def __init__(self, source: Source, timestamps: dict[int, int], *, sole: bool) -> None:
        first = source.start
        batches = [(first, source.end - first, timestamps[first])]
        super().__init__(batches, 0, identity=False, sole=sole)
        self.source = source
        self.timestamps = timestamps
        self.gap_records: dict[GapRecordKey, tuple[int, GapRecord | None]] = {}
        self.book = OffsetMap(first, 0)
        self.persisted_by = -1
        self.persisted_epoch = -1
        self.fenced = True
        self.bids: dict[str, int] = {}
        """When each takeover that is under way read the persisted runs."""
        self._ticks = 0
        self.partition.judge = self._judge

    def tick(self) -> int:
        """Count what happens."""
        self._ticks += 1
        return self._ticks

    # --- the journal of gap records
    def append_gap_record(self, key: GapRecordKey, gap_record: GapRecord | None) -> None:
        """Append a gap record, or the tombstone of one; compaction keeps each key's last record."""
        self.gap_records[key] = (self.journal_end, gap_record)
        self.journal_end += 1

    def append_late(self, late: Any) -> None:
        """A claim or a gap record that its sender no longer waits for."""
        if isinstance(late, GapRecord):
            self.append_gap_record(late.key, late)
        else:
            super().append_late(late)

    def gap_record_log(self) -> GapRecordLog:
        """The journal folded."""
        records = sorted(((o, k, j) for k, (o, j) in self.gap_records.items()), key=lambda record: record[0])
        return GapRecordLog(records)

    # --- persisted runs
    def file_book(self, claim_offset: int, leader_epoch: int, book: OffsetMap) -> None:
        """Store the runs of an ownership, unless a later claim's are stored."""
        if claim_offset >= self.persisted_by or not self.fenced:
            self.persisted_by, self.persisted_epoch, self.book = claim_offset, leader_epoch, book

    def persisted(self) -> Persisted | None:
        """Where the persisted runs end."""
        last = self.book.last
        return None if last is None else Persisted(last.source_end, last.target_end, self.persisted_epoch)

    # --- what must be true
    def _judge(self, following: int, batch: Stored) -> None:
        """A batch that was just appended: in order, nothing lost, and its gap record is in the journal (H1)."""
        self.source.check(following, batch.offsets(), self.partition.describe())
        if self.told(batch, self.gap_record_log(), None) != batch.spans:
            raise Violation("UNTOLD", f"{batch.offsets()} was appended without its gap record")

    def told(self, batch: Stored, gap_records: GapRecordLog, ranges: OffsetMap | None) -> tuple[OffsetSpan, ...] | None:
        """The spans of a batch as a reader of journals and runs tells them; None where it can not."""
        spans = tell(LANE, gap_records, ranges, batch.header, batch.first)
        return spans if spans is None else joined(spans)

    def audit(self) -> None:
        """Every batch in the log is told, and rightly."""
        gap_records = self.gap_record_log()
        for batch in self.partition.log:
            if batch.first < 0:
                continue
            told = self.told(batch, gap_records, self.book)
            if told is None:
                raise Violation("UNTOLD", f"{batch.offsets()} at {batch.base}")
            if told != batch.spans:
                raise Violation("WRONG MAP", f"{batch.offsets()} at {batch.base}, told {told}")

    def check_ranges(self) -> None:
        """Every persisted run is true as far as its records are in the log, and every batch can be told."""
        self.audit()
        for run in self.book:
            for i in range(run.length):
                if run.target + i < self.partition.start:
                    continue
                found = self.partition.at(run.target + i)
                if found != run.source + i:
                    raise Violation("FALSE RUN", f"{run.source + i} persisted at {run.target + i}, found {found}")

    def check_complete(self) -> None:
        """All that the source still has was copied."""
        left = [offset for offset in self.source.present if offset >= self.partition.next_source]
        if left:
            raise Violation("LOST", f"{left} at the end of {self.partition.describe()}")


def joined(spans: Iterable[OffsetSpan]) -> tuple[OffsetSpan, ...]:
    """Spans without seams: gap records and runs hold them in pieces."""
    found: list[OffsetSpan] = []
    for span in spans:
        if found and found[-1].end == span.source:
            found[-1] = OffsetSpan(found[-1].source, found[-1].length + span.length)
        else:
            found.append(span)
    return tuple(found)
