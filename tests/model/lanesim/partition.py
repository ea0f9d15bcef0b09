"""One target partition as a broker keeps it: a log, producer entries, leader epochs, a high watermark.

Kept from Kafka, as tried on real brokers: an unknown producer id may start at any sequence and epoch; the last
five batches of a known one are recognised and answered with their old offset; an entry expires by the
timestamp of its last *record*, but a marker carries the clock; a restart keeps only the last batch of the
memory; a truncation rebuilds the entries from what is left; nothing checks a produce against a leader epoch.

The checker sits in ``produce``.  Where the source is dense and immutable, the log is right exactly if each batch
of data begins with the source offset at which the one before it ended; a source with gaps judges by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from anabranch.protocol import OffsetSpan, TailBatch
from anabranch.records.sequence import MODULUS, advance

FENCE_EPOCH = 32767
MASK = MODULUS - 1


class Violation(Exception):
    """A promise of the protocol is broken."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail


@dataclass(slots=True)
class Stored:
    """One batch in the log; ``first`` is the source offset of its first record, -1 for markers and strangers."""

    base: int
    count: int
    producer_id: int
    epoch: int
    sequence: int
    control: bool
    first: int
    timestamp: int
    leader_epoch: int
    spans: tuple[OffsetSpan, ...] = ()

    @property
    def end(self) -> int:
        return self.base + self.count

    @property
    def header(self) -> TailBatch:
        """What a fetch shows of it."""
        return TailBatch(self.base, self.end - 1, self.producer_id, self.sequence, self.control, self.timestamp)

    def offsets(self) -> list[int]:
        """The source offsets of its records; none of markers and strangers."""
        return [offset for source, length in self.spans for offset in range(source, source + length)]


@dataclass(slots=True)
class Entry:
    """What the broker remembers of one producer id."""

    epoch: int
    last_sequence: int
    timestamp: int
    recent: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=5))


class Partition:
    """The log and its producer state; ``identity`` also checks that data lies at its own source offset."""

    def __init__(self, source_start: int, log_start: int, expiration_ms: int, now_ms: int, identity: bool) -> None:
        self.source_start = source_start
        self.expiration_ms = expiration_ms
        self.now_ms = now_ms
        self.identity = identity
        self.log: list[Stored] = []
        self.start = log_start
        self.end = log_start
        self.high_watermark = log_start
        self.leader_epoch = 0
        self.epoch_ends: list[tuple[int, int]] = []
        self.entries: dict[int, Entry] = {}
        self.deleted_source_end = source_start
        self.next_source = source_start
        self.lagging = False
        self.fixed_id: int | None = None
        self.tolerant = False
        self.breaks = 0
        self.judge: Callable[[int, Stored], None] = self._judge

    def produce(
        self,
        producer_id: int,
        epoch: int,
        sequence: int,
        first: int,
        count: int,
        timestamp: int,
        spans: Sequence[OffsetSpan] | None = None,
    ) -> tuple[int, int]:
        """Append a batch of data or refuse it: (error code, base offset)."""
        entry = self.entries.get(producer_id)
        last = advance(sequence, count - 1)
        if entry is not None:
            if epoch < entry.epoch:
                return 47, -1
            if epoch > entry.epoch:
                if sequence != 0:
                    return 45, -1
            else:
                for begun, ended, base in entry.recent:
                    if begun == sequence and ended == last:
                        return 0, base
                if sequence != (entry.last_sequence + 1) & MASK:
                    return 45, -1
        base = self.end
        held = tuple(spans or (OffsetSpan(first, count),))
        batch = Stored(base, count, producer_id, epoch, sequence, False, first, timestamp, self.leader_epoch, held)
        self._append(batch)
        following, self.next_source = self.next_source, held[-1].end
        self.judge(following, batch)
        if producer_id == self.fixed_id and base != first and not self.tolerant:
            raise Violation("SHIFTED", self.describe())
        return 0, base

    def _judge(self, following: int, batch: Stored) -> None:
        """Of a dense source: the batch begins where the one before it ended."""
        if batch.first == following:
            return
        if not self.tolerant:
            raise Violation("LOST" if batch.first > following else "REPEATED", self.describe())
        self.breaks += 1

    def mark(self, producer_id: int, epoch: int) -> int:
        """Append a control marker or refuse it: error code."""
        entry = self.entries.get(producer_id)
        if entry is not None and epoch < entry.epoch:
            return 47
        self._append(Stored(self.end, 1, producer_id, epoch, -1, True, -1, self.now_ms, self.leader_epoch))
        return 0

    def foreign(self) -> None:
        """Another writer appends a record without a producer id."""
        self._append(Stored(self.end, 1, -1, -1, -1, False, -1, self.now_ms, self.leader_epoch))

    def _append(self, batch: Stored) -> None:
        self.log.append(batch)
        self.end = batch.base + batch.count
        if not self.lagging:
            self.high_watermark = self.end
        self._remember(batch)

    def _remember(self, batch: Stored) -> None:
        if batch.producer_id < 0:
            return
        entry = self.entries.get(batch.producer_id)
        if entry is None or batch.epoch > entry.epoch:
            entry = self.entries[batch.producer_id] = Entry(batch.epoch, -1, batch.timestamp)
        entry.timestamp = batch.timestamp
        if not batch.control:
            entry.last_sequence = advance(batch.sequence, batch.count - 1)
            entry.recent.append((batch.sequence, entry.last_sequence, batch.base))

    def expire(self) -> None:
        """The check of the expiration: forget producer ids whose last batch is too old by its own timestamp."""
        limit = self.now_ms - self.expiration_ms
        for producer_id in [p for p, entry in self.entries.items() if entry.timestamp <= limit]:
            del self.entries[producer_id]

    def restart(self) -> None:
        """Load the log again: entries expire, and the memory of duplicates shrinks to the last batch."""
        self.expire()
        for entry in self.entries.values():
            while len(entry.recent) > 1:
                entry.recent.popleft()

    def change_leader(self, lose: int, epochs: int) -> None:
        """Elect another leader; an unclean one lacks the last ``lose`` batches."""
        for _ in range(lose):
            if self.log:
                self.end = self.log.pop().base
        self.high_watermark = self.end
        if lose:
            self.entries = {}
            for batch in self.log:
                self._remember(batch)
            data = [batch for batch in self.log if batch.first >= 0]
            self.next_source = data[-1].spans[-1].end if data else self.deleted_source_end
        for _ in range(epochs):
            self.epoch_ends.append((self.leader_epoch, self.end))
            self.leader_epoch += 1

    def end_of_epoch(self, leader_epoch: int) -> int:
        """Where a leader epoch ended, as OffsetForLeaderEpoch tells it."""
        return min((end for epoch, end in self.epoch_ends if epoch >= leader_epoch), default=self.end)

    def retain(self, keep: int) -> None:
        """Retention deletes from the head all but the last ``keep`` batches, below the high watermark."""
        while len(self.log) > keep and self.log[0].end <= self.high_watermark:
            batch = self.log.pop(0)
            self.start = batch.end
            if batch.first >= 0:
                self.deleted_source_end = batch.spans[-1].end

    def last_below(self, below: int) -> Stored | None:
        """The last batch that begins below an offset."""
        for batch in reversed(self.log):
            if batch.base < below:
                return batch
        return None

    def at(self, target: int) -> int | None:
        """The source offset of the record at a target offset; None where there is none or it was deleted."""
        for batch in self.log:
            if batch.base <= target < batch.end:
                return batch.offsets()[target - batch.base] if batch.first >= 0 else None
        return None

    def is_shifted(self) -> bool:
        """Whether data of an identity lane lies elsewhere than at its source offset."""
        mine = [batch for batch in self.log if batch.spans and batch.producer_id == self.fixed_id]
        return any(batch.base != batch.first for batch in mine)

    def is_right(self) -> bool:
        """Whether the data in the log is the source from its start on, record by record."""
        data = [offset for batch in self.log for offset in batch.offsets()]
        return data == list(range(self.source_start, self.source_start + len(data)))

    def describe(self) -> str:
        """The source offsets in the log, counted from the source's start."""
        return str([offset - self.source_start for batch in self.log for offset in batch.offsets()])
