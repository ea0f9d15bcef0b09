"""One replica of a partition: its batches in segments, its leader epochs, its producers and its aborted transactions.

Source: ``UnifiedLog``, ``LocalLog``, ``LeaderEpochFileCache`` and ``ProducerStateManager`` in Apache Kafka.

Invariants
    G1  ``batches`` are in the order of their offsets, which overlap nowhere; every one lies below ``end``.
    G2  ``start <= end``; what lies below ``start`` is not given to anyone.
    G3  ``segments`` begin at rising offsets, and each batch belongs to the last one that begins at or below it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import NamedTuple

from anabranch.kafka.simulated.producers import NO_OFFSET, ProducerStateManager
from anabranch.kafka.simulated.settings import TopicSettings
from anabranch.records.control import ControlType, marker_of
from anabranch.records.decode import decode
from anabranch.records.header import HEADER_SIZE, BatchHeader
from anabranch.records.record import Record

_PLACE = Struct(">qii")
_MARKER_VALUE = Struct(">hi")


class SimulatedBatch(NamedTuple):
    """A batch as it lies in a log; ``data`` has its offset and leader epoch in it."""

    header: BatchHeader
    data: bytes

    @property
    def last(self) -> int:
        """The offset of its last record."""
        return self.header.base_offset + self.header.last_offset_delta

    def records(self) -> list[Record]:
        """Its records, decoded."""
        return decode(memoryview(self.data), 0, self.header)


class AbortedTransaction(NamedTuple):
    """A transaction that was aborted: whose it was, its first offset, its marker's, and the LSO after it."""

    producer_id: int
    first: int
    last: int


class EndedTransaction(NamedTuple):
    """A transaction that ended: its marker must be replicated before what follows counts as stable."""

    first: int
    marker: int


@dataclass(slots=True)
class LogSegment:
    """A file of a log: where it begins, when it was begun, the times of its records."""

    base: int
    created_ms: int
    first_timestamp: int = -1
    max_timestamp: int = -1
    size: int = 0


@dataclass(slots=True)
class SimulatedLog:
    """A replica's log; nothing here asks who leads."""

    settings: TopicSettings
    start: int = 0
    end: int = 0
    batches: list[SimulatedBatch] = field(default_factory=list)
    segments: list[LogSegment] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    producers: ProducerStateManager = field(default_factory=ProducerStateManager)
    aborted: list[AbortedTransaction] = field(default_factory=list)
    cleaned_to: int = 0
    _bases: list[int] = field(default_factory=list)
    _ended: list[EndedTransaction] = field(default_factory=list)

    # -- appending -------------------------------------------------------------------------------------

    def append(self, batch: bytes | bytearray, header: BatchHeader, leader_epoch: int, now_ms: int) -> SimulatedBatch:
        """Append a batch that was judged fit, at the log's end; returns it as it lies there."""
        data = bytearray(batch)
        _PLACE.pack_into(data, 0, self.end, header.batch_length, leader_epoch)
        placed = header._replace(base_offset=self.end, leader_epoch=leader_epoch)
        stored = SimulatedBatch(placed, bytes(data))
        self.put(stored, now_ms)
        return stored

    def put(self, stored: SimulatedBatch, now_ms: int) -> None:
        """Append a batch that has its offset already, as a follower does."""
        header = stored.header
        if not self.epochs or self.epochs[-1][0] < header.leader_epoch:
            self.epochs.append((header.leader_epoch, header.base_offset))
        self._roll(header, len(stored.data), now_ms)
        segment = self.segments[-1]
        if segment.first_timestamp < 0:
            segment.first_timestamp = header.max_timestamp
        segment.max_timestamp = max(segment.max_timestamp, header.max_timestamp)
        segment.size += len(stored.data)
        self.batches.append(stored)
        self._bases.append(header.base_offset)
        self.end = stored.last + 1
        self._note(stored)

    def _note(self, stored: SimulatedBatch) -> None:
        header = stored.header
        if not header.is_control:
            self.producers.wrote(header)
            return
        records = stored.records()
        if not records:  # the cleaner took what it said
            return
        value = records[0].value or b""
        coordinator_epoch = _MARKER_VALUE.unpack_from(value)[1] if len(value) >= _MARKER_VALUE.size else -1
        began = self.producers.marked(header, coordinator_epoch)
        if began == NO_OFFSET:
            return
        self._ended.append(EndedTransaction(began, header.base_offset))
        if marker_of(memoryview(stored.data), 0, header) is ControlType.ABORT:
            self.aborted.append(AbortedTransaction(header.producer_id, began, header.base_offset))

    def _roll(self, header: BatchHeader, size: int, now_ms: int) -> None:
        if self.segments:
            newest = self.segments[-1]
            longest = self.settings.number("segment.ms")
            if "compact" in self.settings.policy:
                longest = min(longest, self.settings.number("max.compaction.lag.ms"))
            waited = (
                header.max_timestamp - newest.first_timestamp
                if newest.first_timestamp >= 0
                else now_ms - newest.created_ms
            )
            full = newest.size and newest.size + size > self.settings.number("segment.bytes")
            if not full and not (newest.size and waited > longest):
                return
        self.segments.append(LogSegment(self.end, now_ms))

    # -- reading ---------------------------------------------------------------------------------------

    def read(self, offset: int, upto: int, max_bytes: int) -> Iterator[SimulatedBatch]:
        """Batches from the one that holds ``offset`` on, below ``upto``: as many as fit, but always one."""
        at, size = self._index(offset), 0
        while at < len(self.batches):
            stored = self.batches[at]
            if stored.last >= upto or (size and size + len(stored.data) > max_bytes):
                return
            size += len(stored.data)
            yield stored
            at += 1

    def _index(self, offset: int) -> int:
        at = max(0, bisect_right(self._bases, offset) - 1)
        if at < len(self.batches) and self.batches[at].last < offset:
            at += 1
        return at

    def aborted_within(self, first: int, upto: int) -> list[AbortedTransaction]:
        """The aborted transactions that reach into a range of offsets."""
        return sorted(
            (one for one in self.aborted if one.last >= first and one.first < upto), key=lambda one: one.first
        )

    def unstable(self, high_watermark: int) -> int | None:
        """The first offset that a read-committed consumer may not pass yet."""
        self._ended = [one for one in self._ended if one.marker >= high_watermark]
        first = [one.first for one in self._ended]
        still = self.producers.first_open
        return min([*first, still] if still is not None else first, default=None)

    def at_time(self, timestamp: int, upto: int) -> tuple[int, int]:
        """(offset, time) of the first record below ``upto`` that is not older; (-1, -1) where there is none."""
        for stored in self.batches:
            if stored.last < self.start or stored.header.max_timestamp < timestamp:
                continue
            if stored.header.base_offset >= upto:
                break
            for record in stored.records():
                if record.timestamp >= timestamp and self.start <= record.offset < upto:
                    return record.offset, record.timestamp
        return -1, -1

    def newest_time(self) -> tuple[int, int]:
        """(offset, time) of the record with the highest time stamp; (-1, -1) of an empty log."""
        best: SimulatedBatch | None = None
        for stored in self.batches:
            if stored.last >= self.start and (best is None or stored.header.max_timestamp > best.header.max_timestamp):
                best = stored
        if best is None:
            return -1, -1
        for record in best.records():
            if record.timestamp == best.header.max_timestamp:
                return record.offset, record.timestamp
        return best.last, best.header.max_timestamp

    # -- epochs ----------------------------------------------------------------------------------------

    def epoch_end(self, asked: int, current: int) -> tuple[int, int]:
        """(epoch, end) of the newest leader epoch that is not above ``asked``; (-1, -1) where none is known.

        ``current`` is the epoch of the leader itself, which ends where its log does (``LeaderEpochFileCache``).
        """
        if asked < 0:
            return -1, -1
        if asked == current:
            return asked, self.end
        if asked > current or not self.epochs or asked < self.epochs[0][0]:
            if self.epochs and asked < self.epochs[0][0]:
                return asked, self.epochs[0][1]
            return -1, -1
        at = bisect_right([epoch for epoch, _ in self.epochs], asked) - 1
        end = self.epochs[at + 1][1] if at + 1 < len(self.epochs) else self.end
        return self.epochs[at][0], end

    def began(self, leader_epoch: int) -> None:
        """A leader begins this epoch at the log's end."""
        if self.epochs and self.epochs[-1][1] == self.end:
            self.epochs.pop()
        self.epochs.append((leader_epoch, self.end))

    # -- losing ----------------------------------------------------------------------------------------

    def truncate(self, end: int) -> None:
        """Lose what lies at or above an offset, and what was known of its producers."""
        if end >= self.end:
            return
        keep = bisect_left(self._bases, end)
        while keep and self.batches[keep - 1].last >= end:
            keep -= 1
        self.batches, self._bases = self.batches[:keep], self._bases[:keep]
        self.end = max(self.start, self.batches[-1].last + 1 if self.batches else min(end, self.end))
        self.start = min(self.start, self.end)
        self.segments = [segment for segment in self.segments if segment.base < self.end] or self.segments[:1]
        self.epochs = [(epoch, start) for epoch, start in self.epochs if start < self.end]
        self.aborted = [one for one in self.aborted if one.last < self.end]
        self.cleaned_to = min(self.cleaned_to, self.end)
        self.rebuild()

    def delete_before(self, offset: int) -> None:
        """Have the log begin at an offset; what was known of producers stays."""
        self.start = max(self.start, offset)
        gone = bisect_left(self._bases, self.start)
        while gone and self.batches[gone - 1].last >= self.start:
            gone -= 1
        del self.batches[:gone], self._bases[:gone]
        while len(self.segments) > 1 and self.segments[1].base <= self.start:
            del self.segments[0]
        self.aborted = [one for one in self.aborted if one.last >= self.start]
        while len(self.epochs) > 1 and self.epochs[1][1] <= self.start:
            del self.epochs[0]
        if self.epochs and self.epochs[0][1] < self.start:
            self.epochs[0] = (self.epochs[0][0], self.start)
        self.cleaned_to = max(self.cleaned_to, self.start)

    def rebuild(self) -> None:
        """Know of producers only what the batches at hand tell, as whoever loads or copies this log."""
        self.producers = ProducerStateManager()
        self._ended = []
        kept, self.aborted = self.aborted, []
        for stored in self.batches:
            self._note(stored)
        known = {(one.producer_id, one.last) for one in self.aborted}
        self.aborted = [one for one in kept if (one.producer_id, one.last) not in known] + self.aborted

    def replace(self, batches: list[SimulatedBatch]) -> None:
        """Put what the cleaner left in the place of what there was; producers and ends stay."""
        self.batches = batches
        self._bases = [batch.header.base_offset for batch in batches]

    def retain(self, now_ms: int, high_watermark: int) -> None:
        """Delete the oldest segments whose records are too old, or too many (``retention.ms``, ``retention.bytes``)."""
        if "delete" not in self.settings.policy:
            return
        age, most = self.settings.number("retention.ms"), self.settings.number("retention.bytes")
        size = sum(segment.size for segment in self.segments)
        while self.segments:
            oldest = self.segments[0]
            end = self.segments[1].base if len(self.segments) > 1 else self.end
            newest = oldest.max_timestamp if oldest.max_timestamp >= 0 else oldest.created_ms
            too_old = age >= 0 and now_ms - newest > age
            too_much = most >= 0 and size - oldest.size >= most and len(self.segments) > 1
            if not (too_old or too_much) or end > high_watermark or end <= self.start:
                return
            size -= oldest.size
            if len(self.segments) == 1:
                self.segments.append(LogSegment(self.end, now_ms))
            self.delete_before(end)
            if self.segments and self.segments[0].base < end:
                del self.segments[0]


def size_of(batches: list[SimulatedBatch]) -> int:
    """Bytes of some batches, of which each has a header at least."""
    assert all(len(one.data) >= HEADER_SIZE for one in batches)
    return sum(len(batch.data) for batch in batches)
