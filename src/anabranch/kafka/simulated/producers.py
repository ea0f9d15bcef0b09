"""What a broker remembers of the producers of one partition, and what it refuses because of it.

Source: ``ProducerStateManager.java``, ``ProducerAppendInfo.java`` and ``ProducerStateEntry.java`` in Apache Kafka; what
follows from them for a copier is in docs/adr/0004-broker-facts.md, and in the contract tests.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from anabranch.records.header import BatchHeader
from anabranch.records.sequence import advance

OUT_OF_ORDER, INVALID_EPOCH, COORDINATOR_FENCED = 45, 47, 52
REMEMBERED = 5
NO_SEQUENCE, NO_EPOCH, NO_OFFSET = -1, -1, -1


class AppendedBatch(NamedTuple):
    """One of the last batches of a producer."""

    first: int
    last: int
    base_offset: int
    timestamp: int


@dataclass(slots=True)
class ProducerStateEntry:
    """A producer id's state; ``start`` is the first offset of its open transaction, or -1."""

    producer_id: int
    epoch: int = NO_EPOCH
    batches: deque[AppendedBatch] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    timestamp: int = -1
    coordinator_epoch: int = -1
    start: int = NO_OFFSET

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; -1 after a marker alone."""
        return self.batches[-1].last if self.batches else NO_SEQUENCE


class ProducerStateManager:
    """The producers of one log, as they follow from the batches that were appended to it."""

    def __init__(self) -> None:
        self.entries: dict[int, ProducerStateEntry] = {}
        self._open: dict[int, int] = {}

    # -- before an append ------------------------------------------------------------------------------

    def duplicate(self, header: BatchHeader) -> AppendedBatch | None:
        """The batch that this one repeats, if it is among the last five of its producer."""
        entry = self.entries.get(header.producer_id)
        if entry is None or entry.epoch != header.producer_epoch:
            return None
        last = advance(header.base_sequence, header.count - 1)
        return next(
            (batch for batch in entry.batches if (batch.first, batch.last) == (header.base_sequence, last)), None
        )

    def refusal(self, header: BatchHeader) -> int:
        """The code for which a client's batch is refused; 0 where it may be appended."""
        entry = self.entries.get(header.producer_id)
        if entry is None:
            return 0
        if header.producer_epoch < entry.epoch:
            return INVALID_EPOCH
        if header.producer_epoch != entry.epoch:
            return OUT_OF_ORDER if header.base_sequence != 0 and entry.epoch != NO_EPOCH else 0
        following = 0 if not entry.batches else advance(entry.last_sequence, 1)
        return 0 if header.base_sequence == following else OUT_OF_ORDER

    def marker_refusal(self, producer_id: int, epoch: int, coordinator_epoch: int) -> int:
        """The code for which a coordinator's marker is refused; 0 where it may be appended."""
        entry = self.entries.get(producer_id)
        if entry is None:
            return 0
        if epoch < entry.epoch:
            return INVALID_EPOCH
        return COORDINATOR_FENCED if coordinator_epoch < entry.coordinator_epoch else 0

    # -- an append -------------------------------------------------------------------------------------

    def wrote(self, header: BatchHeader) -> None:
        """A data batch is in the log."""
        if header.producer_id < 0:
            return
        entry = self._entry(header.producer_id)
        if entry.epoch != header.producer_epoch:
            entry.batches.clear()
            entry.epoch = header.producer_epoch
        last = advance(header.base_sequence, header.last_offset_delta)
        entry.batches.append(AppendedBatch(header.base_sequence, last, header.base_offset, header.max_timestamp))
        entry.timestamp = header.max_timestamp
        if header.is_transactional and entry.start == NO_OFFSET:
            entry.start = self._open[entry.producer_id] = header.base_offset

    def marked(self, header: BatchHeader, coordinator_epoch: int) -> int:
        """A marker is in the log; returns the first offset of the transaction that it ended, or -1."""
        entry = self._entry(header.producer_id)
        if entry.epoch != header.producer_epoch:
            entry.batches.clear()
            entry.epoch = header.producer_epoch
        entry.timestamp = header.max_timestamp
        entry.coordinator_epoch = max(entry.coordinator_epoch, coordinator_epoch)
        began, entry.start = entry.start, NO_OFFSET
        self._open.pop(entry.producer_id, None)
        return began

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget whoever wrote its last batch too long ago, by the batch's own time."""
        gone = [
            entry.producer_id
            for entry in self.entries.values()
            if entry.start == NO_OFFSET and now_ms - entry.timestamp >= expiration_ms
        ]
        for producer_id in gone:
            del self.entries[producer_id]

    def reloaded(self) -> None:
        """The broker was started again: a snapshot keeps only the newest batch of each producer."""
        for entry in self.entries.values():
            if len(entry.batches) > 1:
                newest = entry.batches[-1]
                entry.batches.clear()
                entry.batches.append(newest)

    @property
    def first_open(self) -> int | None:
        """The first offset of an open transaction; None where there is none."""
        return min(self._open.values(), default=None)

    def _entry(self, producer_id: int) -> ProducerStateEntry:
        found = self.entries.get(producer_id)
        if found is None:
            found = self.entries[producer_id] = ProducerStateEntry(producer_id)
        return found
