"""An ownership's window of batches in flight: in order, each sent once, each answer checked.

Invariants
    I3  within an ownership batches are appended in order or not at all.
    P1  a batch is sent behind another only while the broker surely remembers the producer id.  It does not
        before the ownership's first acknowledgement, nor where the guard is weak: there the broker may refuse one
        batch (too large, too few replicas) and take the next at any sequence, which leaves a gap that no later
        owner can see.  So the window is one batch then, and five otherwise.
    P2  an acknowledged batch of a sole writer or an identity lane lies exactly where it was expected.
    P3  after the first doubt nothing is sent any more: the first error is raised again and again.
    P4  a batch that does not plainly follow the one before it is sent only after a gap record that tells its source
        offsets was acknowledged (H1); one that begins where a gap record does begins it.
    P5  nothing is sent under a claim that has grown too old (A1, A4).
    P6  an identity lane turns mapped before a batch that its guard or a gap within it would not hold, never after
        (``keep_identity``, asked before each, and before a gap in front of it is filled).

Hot path: called once per batch; integers and a deque, no allocation but two tuples and one MappedRange.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from anabranch.model.clock import monotonic, now_ms
from anabranch.model.lane import LaneMode
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol import age
from anabranch.protocol.endings import Ending, LaneMisuseError, LaneStopped, OwnershipEnded, refusal
from anabranch.protocol.gap_records import GapRecord, OffsetSpan, breaks
from anabranch.protocol.guard import MARGIN_MS, Weak, guard
from anabranch.protocol.ownership import Ownership
from anabranch.records.sequence import advance

WINDOW = 5
IDLE_S = 1.0
SURELY_REFUSED = frozenset({10, 18, 29, 32, 87})
"""Answers of a leader that looked at the batch and did not append it."""


class Pipeline:
    """The batches of one ownership between their send and their acknowledgement.

    ``sole_writer`` says that nobody else writes to the target partition.  ``clock`` is monotonic, in seconds;
    ``wall_ms`` the wall clock, in milliseconds.
    """

    __slots__ = (
        "_ahead",
        "_began",
        "_claimed_at",
        "_clock",
        "_error",
        "_exact",
        "_expiration",
        "_flight",
        "_gap_records",
        "_intended",
        "_lane",
        "_limit",
        "_next_offset",
        "_position",
        "_quiet_since",
        "_renew",
        "_sequence",
        "_start",
        "_target_end",
        "_timestamp",
        "_wall_ms",
        "_warm",
    )

    def __init__(
        self,
        ownership: Ownership,
        *,
        sole_writer: bool,
        clock: Callable[[], float] = monotonic,
        wall_ms: Callable[[], int] = now_ms,
    ) -> None:
        self._lane = ownership.lane
        self._expiration = ownership.expiration_ms
        self._exact = sole_writer or ownership.mode is LaneMode.IDENTITY
        self._start, self._ahead = ownership.position, ownership.ahead
        self._next_offset = ownership.position
        self._sequence = ownership.sequence
        self._position = ownership.position
        self._target_end = ownership.target_end
        self._timestamp = ownership.last_timestamp
        self._flight: deque[tuple[Sequence[OffsetSpan], int, int]] = deque()
        self._gap_records: deque[tuple[int, int]] = deque()
        self._intended = 0
        self._warm = False
        self._error: OwnershipEnded | LaneStopped | None = None
        self._clock = clock
        self._wall_ms = wall_ms
        self._quiet_since = self._began = clock()
        # An identity claim is never renewed: its producer id is shared for ever.
        self._claimed_at = ownership.claim.claimed_at_ms if ownership.mode is LaneMode.MAPPED else None
        by_coordinator = ownership.claim.transactional_id is not None
        self._renew = age.renew_ms(ownership.expiration_ms, by_coordinator=by_coordinator)
        self._limit = age.limit_ms(ownership.expiration_ms, by_coordinator=by_coordinator)

    @property
    def next_offset(self) -> int:
        """The source offset after the last record sent: where the next batch begins unless a gap record leads past
        it.
        """
        return self._next_offset

    @property
    def next_sequence(self) -> int:
        """The base sequence of the next batch."""
        return self._sequence

    @property
    def acknowledged_sequence(self) -> int:
        """The sequence after the last acknowledged record."""
        return advance(self._sequence, -sum(batch[1] for batch in self._flight))

    @property
    def position(self) -> int:
        """The source offset after the last acknowledged record."""
        return self._position

    @property
    def target_end(self) -> int:
        """The target offset below which all lies that was acknowledged."""
        return self._target_end

    @property
    def in_flight(self) -> int:
        """How many batches wait for their answer."""
        return len(self._flight)

    @property
    def clean(self) -> bool:
        """Whether no request of this ownership can still be appended: the condition for releasing the producer id.

        Either every batch was acknowledged, or the only one in flight was refused for what it is, so that it is
        neither in the log nor on its way there.
        """
        if self._error is None:
            return not self._flight
        return isinstance(self._error, LaneStopped) and self._error.code in SURELY_REFUSED and len(self._flight) == 1

    @property
    def gap_records_ahead(self) -> bool:
        """Whether a gap record is being written or was permitted whose records were not all sent.

        The producer id is used up then: its sequences behind the gap record have a meaning already (H3).
        """
        return self._intended > 0 or bool(self._gap_records)

    def timestamps(self) -> list[int]:
        """The maximum timestamps of the last appended batch and of those in flight, for the guard."""
        known = [] if self._timestamp is None else [self._timestamp]
        known.extend(batch[2] for batch in self._flight)
        return known

    def room(self) -> int:
        """How many batches may be sent now without waiting for an answer (P1)."""
        flying = len(self._flight)
        if self._error is not None:
            return 0
        if not flying:
            strong = self._warm and self._is_strong()
            return WINDOW if strong else 1
        if flying >= WINDOW or not self._warm or not self._is_strong():
            return 0
        return WINDOW - flying

    def _is_strong(self) -> bool:
        limit = self._wall_ms() - self._expiration + MARGIN_MS
        if self._timestamp is None or self._timestamp <= limit:
            return False
        return all(batch[2] > limit for batch in self._flight)

    def needs_epoch_check(self) -> bool:
        """Whether nothing was in flight for more than a second and the leader epoch was not confirmed since.

        Produce carries no leader epoch, and a partition led by A, then B, then A again leaves an idle connection
        to A whole: ListOffsets with the ownership's epoch must be answered 0 before the next batch.
        """
        return not self._flight and self._clock() - self._quiet_since > IDLE_S

    def is_aging(self) -> bool:
        """Whether the claim is old enough to be renewed."""
        return self._claimed_at is not None and self._age_ms(self._claimed_at) >= self._renew

    def _age_ms(self, claimed_at: int) -> float:
        """How old the claim is: a clock that was set back makes it no younger than the ownership."""
        return max(self._wall_ms() - claimed_at, (self._clock() - self._began) * 1000)

    def epoch_confirmed(self) -> None:
        """The leader has just answered ListOffsets with the ownership's epoch."""
        self._quiet_since = self._clock()

    def reconnected(self) -> None:
        """The ownership goes on over another connection, whose leader has just confirmed the ownership's epoch.

        Only where nothing was in flight on the one before: then nothing of the ownership is in doubt, and what the
        leader has in its log is what was acknowledged.  Whether it still remembers the producer id is asked for again
        by a first batch alone (P1).  Raises LaneMisuseError while a batch is in flight.
        """
        if self._flight:
            raise LaneMisuseError(self._lane, "the connection was changed with batches in flight")
        self._warm = False
        self._quiet_since = self._clock()

    def filled(self, end: int) -> None:
        """An identity lane's target log was filled up to ``end``, where the next record belongs.

        Raises LaneMisuseError while a batch is in flight.
        """
        if self._flight:
            raise LaneMisuseError(self._lane, "a gap was filled with batches in flight")
        self._next_offset = self._position = self._target_end = end
        self._quiet_since = self._clock()

    def intend(self) -> None:
        """A gap record is being written to the journal; ``permit`` follows, or the ownership ends."""
        self._intended += 1

    def permit(self, gap_record: GapRecord) -> None:
        """The journal has acknowledged a gap record: its records may be sent."""
        self._intended -= 1
        self._gap_records.extend(breaks(gap_record.sequence, gap_record.spans))

    def keep_identity(self, spans: Sequence[OffsetSpan], max_timestamp: int) -> None:
        """Raise OwnershipEnded where an identity lane cannot send these records next as one, with the reason (P6)."""
        source = spans[0].source
        if self._next_offset == self._start and self._ahead >= 0 and source != self._ahead:
            found = f"an earlier owner found source offset {self._ahead:,} next, now it is {source:,}"
            why = f"{found}: the source log changes"
        elif len(spans) > 1:
            why = f"the source log is compacted: it has gaps after offset {spans[0].end - 1:,}"
        else:
            strength = guard(self._expiration, self._wall_ms(), [*self.timestamps(), max_timestamp])
            if not isinstance(strength, Weak):
                return
            why = strength.reason
        raise OwnershipEnded(self._lane, Ending.NOT_IDENTITY, detail=why)

    def send(self, spans: Sequence[OffsetSpan], max_timestamp: int) -> int:
        """Enter a batch into the window and return its base sequence; the caller sends it at once, and once.

        ``spans`` say which source offsets its records have.  Raises LaneMisuseError where no gap record leads to them
        or the window has no room, and the ownership's own error after it ended.
        """
        if self._error is None and self._claimed_at is not None and self._age_ms(self._claimed_at) >= self._limit:
            self._error = OwnershipEnded(self._lane, Ending.CLAIM_OLD)
        if self._error is not None:
            raise self._error
        if not self.room():
            raise LaneMisuseError(self._lane, "no room for another batch in flight")
        sequence = self._sequence
        next_offset = self._next_offset
        if len(spans) == 1 and spans[0].source == next_offset and not self._gap_records:
            count = spans[0].length
            next_offset += count
        else:
            count = sum(span.length for span in spans)
            next_offset = self._follow(spans)
        self._flight.append((spans, count, max_timestamp))
        self._next_offset = next_offset
        self._sequence = advance(sequence, count)
        return sequence

    def _follow(self, spans: Sequence[OffsetSpan]) -> int:
        """Check each step from the last record sent to the next against what was jumped for (P4)."""
        sequence, next_offset, gap_records = self._sequence, self._next_offset, self._gap_records
        for source, length in spans:
            has_gap_record = bool(gap_records) and gap_records[0] == (sequence, source)
            if not has_gap_record and (source != next_offset or (gap_records and gap_records[0][0] == sequence)):
                raise LaneMisuseError(self._lane, f"no gap record leads from offset {next_offset:,} to {source:,}")
            if has_gap_record:
                gap_records.popleft()
            sequence, next_offset = advance(sequence, length), source + length
        return next_offset

    def acknowledge(self, error_code: int, base_offset: int) -> tuple[MappedRange, ...]:
        """Take the answer to the oldest batch in flight; return the mapped ranges it appended.

        Raises OwnershipEnded or LaneStopped, after which the ownership is over (P3).
        """
        if self._error is not None:
            raise self._error
        spans, count, timestamp = self._flight[0]
        if error_code:
            self._error = refusal(self._lane, error_code, spans[0].source)
            raise self._error
        self._flight.popleft()
        expected = self._target_end
        if base_offset < expected or (self._exact and base_offset != expected):
            self._error = OwnershipEnded(
                self._lane,
                Ending.BASE_OFFSET,
                detail=f"source offset {spans[0].source:,} lies at {base_offset:,}, expected {expected:,}",
            )
            raise self._error
        self._target_end = base_offset + count
        self._position = spans[-1].end
        self._timestamp = timestamp
        self._warm = True
        if not self._flight:
            self._quiet_since = self._clock()
        return _ranges(spans, base_offset)

    def fail(self, reason: Ending, detail: str = "") -> OwnershipEnded | LaneStopped:
        """End the ownership for a reason outside the answers (timeout, broken connection, lease); return the error."""
        if self._error is None:
            self._error = OwnershipEnded(self._lane, reason, detail=detail)
        return self._error


def _ranges(spans: Sequence[OffsetSpan], target: int) -> tuple[MappedRange, ...]:
    found = []
    for source, length in spans:
        found.append(MappedRange(source, target, length))
        target += length
    return tuple(found)
