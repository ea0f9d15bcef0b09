"""Identity lanes with gaps and padded heads: a source of transactions, a journal of gap records, a coordinator."""

from __future__ import annotations

from typing import Any

from anabranch.protocol import GapRecord, GapRecordKey, GapRecordLog, OffsetSpan
from anabranch.protocol.effects import PaddingProducer

from .partition import Partition, Stored
from .source import Source
from .world import World

FILLER_ID = 900
FENCED = 90


class Coordinator:
    """The transaction coordinator of the lane's one transactional id: its epoch, and the marker that is on its way."""

    def __init__(self, partition: Partition) -> None:
        self._partition = partition
        self.epoch = 0
        self.pending = False

    def start(self) -> PaddingProducer:
        """Raise the epoch; what is pending is written first."""
        self.flush()
        self.epoch += 1
        return PaddingProducer(0, FILLER_ID, self.epoch)

    def empty(self, epoch: int) -> int:
        """Abort a transaction without data: its marker comes later.  The one before is waited for."""
        if epoch != self.epoch:
            return FENCED
        self.flush()
        self.pending = True
        return 0

    def flush(self) -> bool:
        """Write the pending marker."""
        struck, self.pending = self.pending, False
        if struck:
            self._partition.mark(FILLER_ID, self.epoch)
        return struck


class IdentityWorld(World):
    """A world whose source has immutable gaps, unless it compacts, and may start above the target log's start."""

    def __init__(self, source: Source, timestamps: dict[int, int], log_start: int) -> None:
        first = source.start
        super().__init__([(first, source.end - first, timestamps[first])], log_start, identity=True, sole=False)
        self.source = source
        self.timestamps = timestamps
        self.gap_records: dict[GapRecordKey, tuple[int, GapRecord]] = {}
        self.coordinator = Coordinator(self.partition)
        self.partition.judge = self._judge

    def append_gap_records(self, gap_records: tuple[GapRecord, ...]) -> None:
        """Append a batch of gap records; compaction keeps each key's last record."""
        for gap_record in gap_records:
            self.gap_records[gap_record.key] = (self.journal_end, gap_record)
            self.journal_end += 1

    def append_late(self, late: Any) -> None:
        """A claim, or gap records, that its sender no longer waits for."""
        if isinstance(late, tuple):
            self.append_gap_records(late)
        else:
            super().append_late(late)

    def gap_record_log(self) -> GapRecordLog:
        """The journal folded."""
        return GapRecordLog(sorted(((o, k, j) for k, (o, j) in self.gap_records.items()), key=lambda record: record[0]))

    def cut_padding(self) -> None:
        """DeleteRecords up to the lane's start."""
        partition = self.partition
        partition.log = [batch for batch in partition.log if batch.end > self.source_start]
        partition.start = max(partition.start, self.source_start)

    def _judge(self, following: int, batch: Stored) -> None:
        if batch.spans[-1].end <= self.source_start:
            self.partition.next_source = self.source_start
            return
        self.source.check(following, batch.offsets(), self.partition.describe())

    def check_complete(self) -> None:
        """All that the source has was copied, each record to its own offset."""
        following = self.source_start
        for batch in self.partition.log:
            if batch.first >= self.source_start:
                self.source.check(following, batch.offsets(), self.partition.describe())
                following = batch.spans[-1].end
        self.source.check(
            following, [self.source.end], self.partition.describe()
        ) if following < self.source.end else None


def padding(position: int, count: int) -> tuple[OffsetSpan, ...]:
    """Empty records at their own offsets."""
    return (OffsetSpan(position, count),)
