"""What was fetched of a lane and is not sent yet: the fetcher puts batches in, the sender takes them out.

Invariants
    ``fetch_offset`` is the source offset up to which all was queued, sent, dropped for good or accepted as lost.
    ``end`` and ``next_sequence`` are the source offset after the last record queued, sent or read from the target's
    tail, and the sequence that the next one will have: a batch that does not begin there needs a gap record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from anabranch.copier.lane.epochs import EpochTrail
from anabranch.kafka.frames import Frame
from anabranch.model.lane import LaneMode
from anabranch.protocol.gap_padding import OffsetGap
from anabranch.protocol.gap_records import GapRecord, OffsetSpan, merged
from anabranch.protocol.joining import read_joining
from anabranch.protocol.ownership import Ownership
from anabranch.protocol.reading import read
from anabranch.records.errors import CorruptBatchError, OldFormatError
from anabranch.records.header import BatchHeader
from anabranch.records.sequence import advance

QUEUE_BYTES = 1 << 20
GAP_RECORD_REACH = 1 << 28
"""Records after which a producer id that has gap records gets another one, so that its newest is always near."""
SAMPLE = 1000
"""Queued offsets from which it is concluded how many of those behind them hold no record."""


@dataclass(slots=True)
class PendingGapRecord:
    """Whether the gap record that a batch needs is in the journal."""

    good: bool = False


class FetchedBatch(NamedTuple):
    """A checked-in batch: its bytes, where they start in ``view``, and the frame that must be released.

    ``spans`` say which source offsets its records have; ``pending`` is the gap record that it waits for, if any.
    """

    view: memoryview
    at: int
    header: BatchHeader
    frame: Frame | None
    spans: tuple[OffsetSpan, ...]
    pending: PendingGapRecord | None = None


class QueuedAnswer(NamedTuple):
    """Whether an answer brought something to send, the gap record that some of it waits for, if any, and what is wrong
    with the bytes behind it.
    """

    has_batches: bool
    gap: tuple[GapRecord, PendingGapRecord] | None
    fault: CorruptBatchError | OldFormatError | None


class FetchedBatches:
    """The batches that wait, where the next fetch begins, and how the sequences of what waits tell its offsets."""

    __slots__ = (
        "batches",
        "bytes",
        "end",
        "epochs",
        "fetch_offset",
        "gap_records",
        "has_joined",
        "is_mapped",
        "joins",
        "last_epoch",
        "next_sequence",
        "owned_bytes",
        "since_gap_record",
    )

    def __init__(self) -> None:
        self.batches: deque[FetchedBatch] = deque()
        self.bytes = 0
        self.owned_bytes = 0
        self.fetch_offset = 0
        self.last_epoch = -1
        self.epochs = EpochTrail()
        self.joins = True
        self.has_joined = False
        self.is_mapped = True
        self.end = 0
        self.next_sequence = 0
        self.gap_records = 0
        self.since_gap_record = 0

    def begin(self, ownership: Ownership, fetch_offset: int) -> None:
        """An ownership was won: what is put from now on is for it, and begins at this source offset."""
        self.epochs.cut(ownership.position)
        self.fetch_offset = fetch_offset
        self.last_epoch = self.epochs.at(fetch_offset)
        self.is_mapped = ownership.mode is LaneMode.MAPPED
        self.end, self.next_sequence = ownership.position, ownership.sequence
        self.gap_records, self.since_gap_record = ownership.gap_records, GAP_RECORD_REACH
        if not self.is_mapped:
            self.since_gap_record = max(0, ownership.position - ownership.gap_record_at)

    @property
    def has_room(self) -> bool:
        """Whether more may be fetched."""
        return self.bytes < QUEUE_BYTES

    @property
    def next_source(self) -> int:
        """The source offset of the first record that waits; where the next fetch begins, if none does."""
        return self.batches[0].spans[0].source if self.batches else self.fetch_offset

    # -- batches ---------------------------------------------------------------------------------------

    def take_in(
        self, records: memoryview, aborted: Sequence[tuple[int, int]], frame: Frame, ownership: Ownership
    ) -> QueuedAnswer:
        """Queue what an answer to the last fetch brought; holds its frame where the batches lie in it."""
        if self.joins:  # what identity has joined over a gap, it could not fill
            found = read_joining(records, self.fetch_offset, aborted, across_gaps=self.is_mapped)
        else:
            found = read(records, self.fetch_offset, aborted)
        self.epochs.follow(self.fetch_offset, found)
        pending: PendingGapRecord | None = None
        spans: list[OffsetSpan] = []
        sequence = self.next_sequence
        for batch in found.batches:
            if pending is None and self.needs_gap_record(batch.spans):
                pending, sequence = PendingGapRecord(), self.next_sequence
            if pending is not None:
                spans += batch.spans
            kept = None if batch.owned else frame
            self.has_joined = self.has_joined or (self.joins and batch.owned)
            self.put(FetchedBatch(batch.view, batch.at, batch.header, kept, batch.spans, pending))
        self.passed(found.fetch_offset, found.epoch)
        gap = None if pending is None else (self.gap_record(ownership, sequence, spans), pending)
        return QueuedAnswer(bool(found.batches), gap, found.fault)

    def put(self, batch: FetchedBatch) -> None:
        """Queue the next batch of the source; holds its frame."""
        header = batch.header
        if batch.frame is not None:
            batch.frame.retain()
        else:
            self.owned_bytes += header.size
        self.batches.append(batch)
        self.bytes += header.size
        self.end = batch.spans[-1].end
        self.next_sequence = advance(self.next_sequence, header.count)
        self.since_gap_record += header.count

    def take(self) -> FetchedBatch:
        """The next batch to send; the caller releases its frame."""
        batch = self.batches.popleft()
        self.bytes -= batch.header.size
        if batch.frame is None:
            self.owned_bytes -= batch.header.size
        return batch

    def passed(self, fetch_offset: int, leader_epoch: int) -> None:
        """All below this source offset was queued or dropped; the epoch is that of the batch that ends there."""
        self.fetch_offset = fetch_offset
        if leader_epoch >= 0:
            self.last_epoch = leader_epoch

    def leave_frames(self) -> None:
        """Copy what is queued out of its frames: a small batch that waits must not keep a large answer in memory."""
        for at, batch in enumerate(self.batches):
            if batch.frame is not None:
                size = batch.header.size
                own = memoryview(bytearray(batch.view[batch.at : batch.at + size]))
                self.batches[at] = batch._replace(view=own, at=0, frame=None)
                self.owned_bytes += size
                batch.frame.release()

    def drop(self) -> None:
        """Let go of everything that was fetched and not sent."""
        for batch in self.batches:
            if batch.frame is not None:
                batch.frame.release()
        self.batches.clear()
        self.bytes = self.owned_bytes = 0

    def restart_at(self, fetch_offset: int) -> None:
        """What was dropped is fetched again, from here on."""
        self.fetch_offset = fetch_offset
        self.last_epoch = -1

    # -- offset gaps -----------------------------------------------------------------------------------

    def needs_gap_record(self, spans: Sequence[OffsetSpan]) -> bool:
        """Whether a batch with these spans, queued next, does not tell its source offsets by its sequence."""
        if not self.is_mapped:
            return False
        plain = len(spans) == 1 and spans[0].source == self.end
        return not plain or (self.gap_records > 0 and self.since_gap_record >= GAP_RECORD_REACH)

    def gap_record(self, ownership: Ownership, sequence: int, spans: Sequence[OffsetSpan]) -> GapRecord:
        """The next gap record of the ownership's producer id."""
        made = GapRecord(ownership.lane, ownership.producer_id, sequence, self.gap_records, merged(spans))
        self.gap_records += 1
        self.since_gap_record = made.spans[-1].length
        return made

    def gap_before(self, next_offset: int, next_sequence: int) -> OffsetGap | None:
        """What an identity lane that was sent up to there must fill, or tell again, before its next batch."""
        if not self.batches:
            return None
        source = self.batches[0].spans[0].source
        if source > next_offset or (self.gap_records and self.since_gap_record >= GAP_RECORD_REACH):
            return OffsetGap(next_offset, source, next_sequence)
        return None

    def missing(self, gap: OffsetGap, stable: int) -> int:
        """About how many offsets up to the source's end hold no record, judged by what is queued."""
        span = self.batches[-1].spans[-1].end - gap.start
        here = span - sum(batch.header.count for batch in self.batches)
        behind = stable - gap.start
        return here if span < SAMPLE or behind <= span else here * behind // span

    def filled(self) -> None:
        """The gap before the next batch was filled, and a gap record leads over it."""
        self.gap_records, self.since_gap_record = self.gap_records + 1, 0
