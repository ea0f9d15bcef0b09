"""Gaps: source offsets that no record is copied from, and how a lane counts on past them.

A transaction marker, an aborted record, one that compaction removed and a range that was given up are all the
same to a lane: an offset without a record.  Sequences count copied records, so behind a gap a batch's sequence
no longer tells its source offset by itself.  A *gap record* does: written ahead into a journal on the target, it says
which source offsets the records from one sequence on have.

Invariants
    H1  a gap record is acknowledged before the first batch that it is needed for is sent; so every batch in the target
        log can be told.
    H2  a gap record whose sequence is past the lane's last batch is void: what it was for was never appended, and can
        not be any more, because its producer id is fenced.
    H3  within one producer id a sequence has one meaning: an ownership that drops what it has a gap record for is over,
        and its producer id is not claimed again.
    H4  of each producer id the newest gap record is never forgotten, and ``ordinal`` counts them: where the oldest one
        that is left is not the first, batches before it can only be told by the persisted runs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from anabranch.records.sequence import advance, unwrap

_HALF = 1 << 30
_MASK = (1 << 31) - 1


class OffsetSpan(NamedTuple):
    """``length`` records in a row, from source offset ``source`` on."""

    source: int
    length: int

    @property
    def end(self) -> int:
        """The source offset after the last record."""
        return self.source + self.length


@dataclass(frozen=True, slots=True)
class GapRecordKey:
    """The journal key of a gap record."""

    lane: str
    producer_id: int
    sequence: int


@dataclass(frozen=True, slots=True)
class GapRecord:
    """From ``sequence`` on, the records of a producer id are these spans of the source, the last one without end.

    ``ordinal`` counts the gap records of the producer id from 0.  There is at least one span; they rise.
    """

    lane: str
    producer_id: int
    sequence: int
    ordinal: int
    spans: tuple[OffsetSpan, ...]

    @property
    def key(self) -> GapRecordKey:
        return GapRecordKey(self.lane, self.producer_id, self.sequence)


class GapRecordLog:
    """The journal of gap records folded by lane and producer id; ``apply`` takes its records in offset order."""

    __slots__ = ("_lanes", "end")

    def __init__(self, records: Iterable[tuple[int, GapRecordKey, GapRecord | None]] = ()) -> None:
        self._lanes: dict[str, dict[int, list[GapRecord]]] = {}
        self.end = 0
        for offset, key, gap_record in records:
            self.apply(offset, key, gap_record)

    def apply(self, offset: int, key: GapRecordKey, gap_record: GapRecord | None) -> None:
        """Fold one record in; ``None`` forgets the gap record.  Reading the same records again changes nothing."""
        if offset < self.end:
            return
        self.end = offset + 1
        lane = self._lanes.setdefault(key.lane, {})
        gap_records = lane.setdefault(key.producer_id, [])
        if gap_record is None:
            at = next((at for at, known in enumerate(gap_records) if known.sequence == key.sequence), None)
            if at is not None:
                del gap_records[at]
        elif not gap_records or gap_record.ordinal > gap_records[-1].ordinal:
            gap_records.append(gap_record)
        elif all(known.ordinal != gap_record.ordinal for known in gap_records):
            gap_records.append(gap_record)
            gap_records.sort(key=lambda known: known.ordinal)
        if not gap_records:
            del lane[key.producer_id]
        if not lane:
            del self._lanes[key.lane]

    def knows(self, lane: str) -> bool:
        """Whether the lane ever jumped, as far as is still told."""
        return lane in self._lanes

    def producer_ids(self, lane: str) -> tuple[int, ...]:
        """The producer ids under which the lane has a gap record."""
        return tuple(self._lanes.get(lane, {}))

    def of(self, lane: str, producer_id: int) -> tuple[GapRecord, ...]:
        """The gap records of a producer id, as far as they are still told, in their order."""
        return tuple(self._lanes.get(lane, {}).get(producer_id, ()))

    def keys(self, lane: str) -> tuple[GapRecordKey, ...]:
        """The keys of all of the lane's gap records."""
        return tuple(gap_record.key for gap_records in self._lanes.get(lane, {}).values() for gap_record in gap_records)

    def count(self, lane: str, producer_id: int) -> int:
        """How many gap records a producer id has had: the ordinal of its next one."""
        gap_records = self._lanes.get(lane, {}).get(producer_id)
        return gap_records[-1].ordinal + 1 if gap_records else 0

    def tell(self, lane: str, producer_id: int, sequence: int, count: int, near: int) -> tuple[OffsetSpan, ...] | None:
        """The source offsets of ``count`` records that were sent from ``sequence`` on; None where that is forgotten.

        ``near`` is a source offset within 2^30 of the first, for a producer id that had no gap record by then.  A
        batch never straddles a gap record's sequence: gap records begin where a batch begins.  A producer id that has a
        gap record does so again before it has sent 2^30 records more, so the newest gap record behind a batch is always
        near.
        """
        gap_record = self._behind(lane, producer_id, sequence)
        if gap_record is not None:
            return cut(gap_record.spans, (sequence - gap_record.sequence) & _MASK, count)
        if self.is_forgotten(lane, producer_id):
            return None
        return (OffsetSpan(unwrap(sequence, near), count),)

    def is_plain(self, lane: str, producer_id: int, sequence: int) -> bool:
        """Whether a producer id had no gap record when it sent a sequence, which then is a source offset's."""
        return self._behind(lane, producer_id, sequence) is None and not self.is_forgotten(lane, producer_id)

    def is_forgotten(self, lane: str, producer_id: int) -> bool:
        """Whether the first gap record of a producer id is told no more."""
        gap_records = self._lanes.get(lane, {}).get(producer_id)
        return gap_records is not None and gap_records[0].ordinal > 0

    def _behind(self, lane: str, producer_id: int, sequence: int) -> GapRecord | None:
        """The newest gap record at or below a sequence."""
        gap_records = self._lanes.get(lane, {}).get(producer_id, ())
        at = bisect_right(
            gap_records, 0, key=lambda gap_record: 0 if (sequence - gap_record.sequence) & _MASK < _HALF else 1
        )
        return gap_records[at - 1] if at else None

    def passed(self, lane: str, producer_id: int, sequence: int | None = None) -> tuple[GapRecord, ...]:
        """The gap records of a producer id that are superfluous once all it sent below ``sequence`` is persisted as
        runs.

        Those that are followed by one below ``sequence``: a gap record at ``sequence`` may be void, and then the one
        before it tells the lane's last batch (H4).  Without a sequence all but the newest, which may be void as well:
        only for a producer id behind whose batches the lane has others.
        """
        gap_records = self._lanes.get(lane, {}).get(producer_id, ())
        return tuple(
            gap_record
            for gap_record, following in pairwise(gap_records)
            if sequence is None or (sequence - following.sequence - 1) & _MASK < _HALF
        )


def merged(spans: Iterable[OffsetSpan]) -> tuple[OffsetSpan, ...]:
    """The same offsets in as few spans as they make."""
    found: list[OffsetSpan] = []
    for span in spans:
        if found and found[-1].end == span.source:
            found[-1] = OffsetSpan(found[-1].source, found[-1].length + span.length)
        else:
            found.append(span)
    return tuple(found)


def cut(spans: Sequence[OffsetSpan], skip: int, count: int) -> tuple[OffsetSpan, ...]:
    """The ``count`` records after the first ``skip`` of spans whose last has no end."""
    found: list[OffsetSpan] = []
    last = len(spans) - 1
    for at, (source, length) in enumerate(spans):
        if count <= 0:
            break
        if at < last and skip >= length:
            skip -= length
            continue
        taken = count if at == last else min(count, length - skip)
        found.append(OffsetSpan(source + skip, taken))
        count -= taken
        skip = 0
    return tuple(found)


def breaks(sequence: int, spans: Sequence[OffsetSpan]) -> list[tuple[int, int]]:
    """Where spans begin: (sequence, source offset) of the first record of each."""
    found = []
    for source, length in spans:
        found.append((sequence, source))
        sequence = advance(sequence, length)
    return found
