"""Identity lanes with holes and padded heads: a source of transactions, a journal of jumps, a coordinator."""

from __future__ import annotations

from typing import Any

from anabranch.protocol import Jump, JumpKey, JumpLog, Stretch
from anabranch.protocol.effects import Filler

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

    def start(self) -> Filler:
        """Raise the epoch; what is pending is written first."""
        self.flush()
        self.epoch += 1
        return Filler(0, FILLER_ID, self.epoch)

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
    """A world whose source has immutable holes, unless it compacts, and may start above the target log's start."""

    def __init__(self, source: Source, timestamps: dict[int, int], log_start: int) -> None:
        first = source.start
        super().__init__([(first, source.end - first, timestamps[first])], log_start, identity=True, sole=False)
        self.source = source
        self.timestamps = timestamps
        self.jumps: dict[JumpKey, tuple[int, Jump]] = {}
        self.coordinator = Coordinator(self.partition)
        self.partition.judge = self._judge

    def append_jumps(self, jumps: tuple[Jump, ...]) -> None:
        """Append a batch of jumps; compaction keeps each key's last record."""
        for jump in jumps:
            self.jumps[jump.key] = (self.journal_end, jump)
            self.journal_end += 1

    def append_late(self, late: Any) -> None:
        """A claim, or jumps, that its sender no longer waits for."""
        if isinstance(late, tuple):
            self.append_jumps(late)
        else:
            super().append_late(late)

    def jump_log(self) -> JumpLog:
        """The journal folded."""
        return JumpLog(sorted(((o, k, j) for k, (o, j) in self.jumps.items()), key=lambda record: record[0]))

    def cut_padding(self) -> None:
        """DeleteRecords up to the lane's start."""
        partition = self.partition
        partition.log = [batch for batch in partition.log if batch.end > self.source_start]
        partition.start = max(partition.start, self.source_start)

    def _judge(self, following: int, batch: Stored) -> None:
        if batch.stretches[-1].end <= self.source_start:
            self.partition.next_source = self.source_start
            return
        self.source.check(following, batch.offsets(), self.partition.describe())

    def check_complete(self) -> None:
        """All that the source has was copied, each record to its own offset."""
        following = self.source_start
        for batch in self.partition.log:
            if batch.first >= self.source_start:
                self.source.check(following, batch.offsets(), self.partition.describe())
                following = batch.stretches[-1].end
        self.source.check(
            following, [self.source.end], self.partition.describe()
        ) if following < self.source.end else None


def padding(position: int, count: int) -> tuple[Stretch, ...]:
    """Empty records at their own offsets."""
    return (Stretch(position, count),)
