"""A tenure's window of batches in flight: in order, each sent once, each answer checked.

Invariants
    I3  within a tenure batches are appended in order or not at all.
    P1  a batch is sent behind another only while the broker surely remembers the producer id.  It does not
        before the tenure's first acknowledgement, nor where the guard is weak: there the broker may refuse one
        batch (too large, too few replicas) and take the next at any sequence, which leaves a hole that no later
        owner can see.  So the window is one batch then, and five otherwise.
    P2  an acknowledged batch of a sole writer or an identity lane lies exactly where it was expected.
    P3  after the first doubt nothing is sent any more: the first error is raised again and again.

Hot path: called once per batch; integers and a deque, no allocation but one tuple and one Run.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from anabranch.lanes.claims import Mode
from anabranch.lanes.endings import Ending, LaneMisuseError, LaneStopped, Stop, TenureEnded, refusal
from anabranch.lanes.guard import MARGIN_MS
from anabranch.lanes.tenure import Tenure
from anabranch.offsets.runs import Run
from anabranch.records.sequence import advance

WINDOW = 5
IDLE_S = 1.0
SURELY_REFUSED = frozenset({10, 18, 29, 32, 87})
"""Answers of a leader that looked at the batch and did not append it."""


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Pipeline:
    """The batches of one tenure between their send and their acknowledgement.

    ``sole_writer`` says that nobody else writes to the target partition.  ``clock`` is monotonic, in seconds;
    ``wall_ms`` the wall clock, in milliseconds.
    """

    __slots__ = (
        "_appended",
        "_clock",
        "_error",
        "_exact",
        "_expiration",
        "_flight",
        "_lane",
        "_next",
        "_quiet_since",
        "_sequence",
        "_target_end",
        "_timestamp",
        "_wall_ms",
        "_warm",
    )

    def __init__(
        self,
        tenure: Tenure,
        *,
        sole_writer: bool,
        clock: Callable[[], float] = time.monotonic,
        wall_ms: Callable[[], int] = _wall_ms,
    ) -> None:
        self._lane = tenure.lane
        self._expiration = tenure.expiration_ms
        self._exact = sole_writer or tenure.mode is Mode.IDENTITY
        self._next = tenure.position
        self._sequence = tenure.sequence
        self._appended = tenure.position
        self._target_end = tenure.target_end
        self._timestamp = tenure.last_timestamp
        self._flight: deque[tuple[int, int, int]] = deque()
        self._warm = False
        self._error: TenureEnded | LaneStopped | None = None
        self._clock = clock
        self._wall_ms = wall_ms
        self._quiet_since = clock()

    @property
    def next_offset(self) -> int:
        """The source offset that the next batch must begin with."""
        return self._next

    @property
    def next_sequence(self) -> int:
        """The base sequence of the next batch."""
        return self._sequence

    @property
    def position(self) -> int:
        """The source offset after the last acknowledged record."""
        return self._appended

    @property
    def in_flight(self) -> int:
        """How many batches wait for their answer."""
        return len(self._flight)

    @property
    def clean(self) -> bool:
        """Whether no request of this tenure can still be appended: the condition for releasing the producer id.

        Either every batch was acknowledged, or the only one in flight was refused for what it is, so that it is
        neither in the log nor on its way there.
        """
        if self._error is None:
            return not self._flight
        return isinstance(self._error, LaneStopped) and self._error.code in SURELY_REFUSED and len(self._flight) == 1

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
        to A whole: ListOffsets with the tenure's epoch must be answered 0 before the next batch.
        """
        return not self._flight and self._clock() - self._quiet_since > IDLE_S

    def epoch_confirmed(self) -> None:
        """The leader has just answered ListOffsets with the tenure's epoch."""
        self._quiet_since = self._clock()

    def send(self, first_offset: int, count: int, max_timestamp: int) -> int:
        """Enter a batch into the window and return its base sequence; the caller sends it at once, and once.

        Raises LaneStopped where the batch does not begin at ``next_offset`` (a hole in the source log),
        LaneMisuseError where the window has no room, and the tenure's own error after it ended.
        """
        if self._error is not None:
            raise self._error
        if first_offset != self._next:
            if first_offset < self._next:
                raise LaneMisuseError(self._lane, f"offset {first_offset} was sent before")
            self._error = LaneStopped(
                self._lane,
                Stop.HOLE,
                self._next,
                detail=f"the next record is at {first_offset}",
                fix="leave transactional and compacted topics out of the link's filter",
            )
            raise self._error
        if not self.room():
            raise LaneMisuseError(self._lane, "no room for another batch in flight")
        sequence = self._sequence
        self._flight.append((first_offset, count, max_timestamp))
        self._next = first_offset + count
        self._sequence = advance(sequence, count)
        return sequence

    def acknowledge(self, error_code: int, base_offset: int) -> Run:
        """Take the answer to the oldest batch in flight; return the run it appended.

        Raises TenureEnded or LaneStopped, after which the tenure is over (P3).
        """
        if self._error is not None:
            raise self._error
        first, count, timestamp = self._flight.popleft()
        if error_code:
            self._flight.appendleft((first, count, timestamp))
            self._error = refusal(self._lane, error_code, first)
            raise self._error
        expected = self._target_end
        if base_offset < expected or (self._exact and base_offset != expected):
            self._error = TenureEnded(
                self._lane,
                Ending.BASE_OFFSET,
                detail=f"source offset {first} lies at {base_offset}, expected {expected}",
            )
            raise self._error
        self._appended = first + count
        self._target_end = base_offset + count
        self._timestamp = timestamp
        self._warm = True
        if not self._flight:
            self._quiet_since = self._clock()
        return Run(first, base_offset, count)

    def fail(self, reason: Ending, detail: str = "") -> TenureEnded | LaneStopped:
        """End the tenure for a reason outside the answers (timeout, broken connection, lease); return the error."""
        if self._error is None:
            self._error = TenureEnded(self._lane, reason, detail=detail)
        return self._error
