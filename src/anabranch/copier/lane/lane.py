"""One lane in a worker: its phase, and the parts of its state, each with one owner.

The lane holds no task and no socket.  The fetcher puts batches into ``fetched``, the sender takes them out, takeovers
make an ``active``; each looks at ``phase`` and nothing else decides.

Invariant: there is an ownership in phase RUNNING.  In phase STOPPED there may still be one, of which nothing is sent.
"""

from __future__ import annotations

import time
from enum import Enum

from anabranch.copier.lane.active import ActiveOwnership
from anabranch.copier.lane.copied import CopiedRecords
from anabranch.copier.lane.epochs import UNKNOWN
from anabranch.copier.lane.fetched import FetchedBatch, FetchedBatches, QueuedAnswer
from anabranch.copier.lane.source_log import SourceLogState
from anabranch.copier.lane.status import Status
from anabranch.kafka import fetch
from anabranch.kafka.connection import Connection
from anabranch.kafka.frames import Frame
from anabranch.model.lane import LaneAssignment, LaneMode
from anabranch.model.link import ModePolicy
from anabranch.offsets.errors import RangeOrderError
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded, Stop, refusal
from anabranch.protocol.gap_padding import OffsetGap, PaddingBudget
from anabranch.protocol.ownership import Ownership, ReusableProducer
from anabranch.protocol.pipeline import Pipeline
from anabranch.records.errors import CorruptBatchError, OldFormatError
from anabranch.records.patch import check_and_patch
from anabranch.state.segments.retiring import Starts


class LanePhase(Enum):
    """``TAKING``: being taken over; ``RUNNING``: batches may flow; ``STOPPED``: a person must act; ``OVER``: left."""

    TAKING = "taking"
    RUNNING = "running"
    STOPPED = "stopped"
    OVER = "over"


LANE_BYTES = 1 << 20
"""What one fetch asks for of a lane."""
OWNED = frozenset({LanePhase.RUNNING, LanePhase.STOPPED})
"""Phases in which a lane that was won has ranges to persist and a claim to give back."""


class Lane:
    """The state of one lane; see the module's docstring for who may do what.

    ``reusable_producer`` is what a clean ownership left for the next one; ``mapped_because`` says why the lane is to be
    mapped, empty where the link asks for that, None where it need not be.
    """

    __slots__ = (
        "_next_fetch",
        "active",
        "assignment",
        "budget",
        "copied",
        "doubted_since",
        "ended",
        "fetched",
        "key",
        "mapped_because",
        "phase",
        "reusable_producer",
        "source",
        "status",
        "stopped",
    )

    def __init__(self, assignment: LaneAssignment) -> None:
        self.assignment = assignment
        self.key = str(assignment.lane)
        self.phase = LanePhase.TAKING
        self.source = SourceLogState()
        self.fetched = FetchedBatches()
        self.active: ActiveOwnership | None = None
        self.copied = CopiedRecords()
        source = assignment.source
        self._next_fetch = fetch.PartitionFetch(
            source.topic, assignment.source_id.uuid, source.partition, -1, 0, -1, LANE_BYTES
        )
        self.status = Status()
        self.budget = PaddingBudget(time.monotonic())
        self.reusable_producer: ReusableProducer | None = None
        self.mapped_because: str | None = "" if assignment.mode is ModePolicy.MAPPED else None
        self.ended: OwnershipEnded | None = None
        self.stopped: LaneStopped | None = None
        self.doubted_since: float | None = None

    # -- phases ----------------------------------------------------------------------------------------

    def begin(self, ownership: Ownership, pipeline: Pipeline, connection: Connection) -> ActiveOwnership:
        """An ownership was won: batches flow from its position."""
        self._drop_fetched()
        self.active = ActiveOwnership(ownership, pipeline, connection)
        self.fetched.begin(ownership, self.assignment.onward(ownership.position))
        self.copied.begin(ownership)
        self.status.mode, self.status.mode_reason, self.status.held_by = ownership.mode, ownership.why, ""
        self.ended = None
        self.phase = LanePhase.RUNNING
        return self.active

    def end_ownership(self, active: ActiveOwnership, ended: OwnershipEnded) -> bool:
        """This ownership is over and the lane must be taken over again; False where it was over before."""
        if self.active is not active or self.phase is not LanePhase.RUNNING:
            return False
        if self.drained:
            self.copied.note_passed(self.copied.position, self.reached)
        self.active = None  # what is asked or filled for it still, nobody need wait for
        self.ended = ended
        self._drop_fetched()
        self.phase = LanePhase.TAKING
        return True

    def disconnected(self) -> bool:
        """The connection ended; True where nothing was under way on it, so that the ownership goes on over another."""
        if self.active is None or self.phase is not LanePhase.RUNNING or not self.active.is_idle:
            return False
        self.active.connection = None
        return True

    def stop(self, stopped: LaneStopped) -> None:
        """Going on would lose, repeat or guess: stand still until a person acts.

        What an ownership met is in doubt until claims are read again: under another owner's copy the source may have
        deleted what this one still wanted to read.
        """
        self.stopped = stopped
        self.doubted_since = None if self.active is None else time.monotonic()
        self._drop_fetched()
        if self.phase is not LanePhase.OVER:
            self.phase = LanePhase.STOPPED

    def stop_at(self, reason: Stop, offset: int, detail: str = "", fix: str = "") -> None:
        """``stop`` with a reason found on the source's side."""
        self.stop(LaneStopped(self.key, reason, offset, None, detail, fix))

    def claims_read(self, started: float, later: str | None) -> None:
        """Claims were read, beginning at ``started``: ``later`` is who has claimed the lane since, None for nobody."""
        active = self.active
        if active is not None and later is not None:
            if self.phase is LanePhase.STOPPED:
                self.stopped, self.phase = None, LanePhase.RUNNING
            self.end_ownership(active, OwnershipEnded(self.key, Ending.SUPERSEDED, None, later))
        elif self.doubted_since is not None and self.doubted_since <= started:
            self.doubted_since = None

    def retry(self) -> None:
        """A person acted: a stopped lane is taken over again, and stops again where nothing was fixed."""
        if self.phase is LanePhase.STOPPED:
            self.stopped = self.active = None
            self.source.leader = -1
            self.source.is_there()
            self.phase = LanePhase.TAKING

    def leave(self) -> None:
        """The lease is over, or the link no longer wants this lane."""
        self._drop_fetched()
        self.phase = LanePhase.OVER

    def _drop_fetched(self) -> None:
        self.fetched.drop()
        if self.active is not None:
            self.fetched.restart_at(self.active.pipeline.next_offset)

    @property
    def is_doubted(self) -> bool:
        """Whether claims were not read yet since an ownership of the lane met what stops it."""
        return self.doubted_since is not None

    # -- a source offset's way: fetched, sent, acknowledged --------------------------------------------

    @property
    def next_fetch(self) -> fetch.PartitionFetch:
        """What to ask the source's leader for; while nothing has changed, the same object."""
        last, fetched, leader_epoch = self._next_fetch, self.fetched, self.source.epoch
        is_where_it_was = last.offset == fetched.fetch_offset and last.last_epoch == fetched.last_epoch
        if is_where_it_was and last.leader_epoch == leader_epoch:
            return last  # asked of every lane before each fetch, and most of them stand still
        self._next_fetch = last._replace(
            leader_epoch=leader_epoch, offset=fetched.fetch_offset, last_epoch=fetched.last_epoch
        )
        return self._next_fetch

    def take_in(self, active: ActiveOwnership, answer: fetch.Fetched, frame: Frame) -> QueuedAnswer:
        """Queue what was fetched for an ownership; its gap record is to be written by the caller, before anything else
        is done.
        """
        queued = self.fetched.take_in(answer.records, answer.aborted, frame, active.ownership)
        if queued.fault is not None and self.drained:
            # Else what is queued is sent first; then the same bytes are met again with nothing before them.
            self.stop(self._unreadable(queued.fault))
        return queued

    def send(self, active: ActiveOwnership) -> FetchedBatch:
        """The next batch, entered into the window and patched: the caller sends it at once, and once, and releases its
        frame.

        Raises OwnershipEnded and LaneStopped; then it is not to be sent.
        """
        batch, ownership = self.fetched.batches[0], active.ownership
        if ownership.mode is LaneMode.IDENTITY:
            active.pipeline.keep_identity(batch.spans, batch.header.max_timestamp)
        sequence = active.pipeline.send(batch.spans, batch.header.max_timestamp)
        try:
            check_and_patch(batch.view, batch.at, batch.header, ownership.producer_id, 0, sequence)
        except CorruptBatchError as error:
            raise self._unreadable(error) from error
        return self.fetched.take()

    def acknowledge(self, active: ActiveOwnership, code: int, base_offset: int, log_start: int, size: int) -> None:
        """The oldest batch in flight was answered; ``log_start`` is where the target's log begins.

        Raises OwnershipEnded and LaneStopped.
        """
        ranges = active.pipeline.acknowledge(code, base_offset)
        try:
            self.copied.add(ranges, size)
        except RangeOrderError as error:
            raise LaneStopped(self.key, Stop.DIVERGED, ranges[0].source, None, error.message, error.hint) from error
        self.copied.target_start = log_start

    def refusal(self, code: int) -> OwnershipEnded | LaneStopped:
        """What a broker's refusal means while nothing is in flight."""
        return refusal(self.key, code, self.sent_to)

    def _unreadable(self, fault: CorruptBatchError | OldFormatError) -> LaneStopped:
        """The bytes that come next cannot be copied."""
        offset, reason = self.fetched.next_source, Stop.CORRUPT
        if isinstance(fault, OldFormatError):
            offset, reason = max(fault.offset, offset), Stop.OLD_FORMAT
        return LaneStopped(self.key, reason, offset, None, fault.message, fault.hint)

    # -- what may happen next --------------------------------------------------------------------------

    @property
    def wants_fetch(self) -> bool:
        """Whether the fetcher should ask for more."""
        return self.phase is LanePhase.RUNNING and self.fetched.has_room

    @property
    def is_behind(self) -> bool:
        """Whether the source has told of more than was fetched."""
        return self.source.high_watermark > self.fetched.fetch_offset

    @property
    def has_fetched_stable(self) -> bool:
        """Whether all was fetched that lies before the first open transaction, as the source told last."""
        return self.fetched.fetch_offset >= self.source.stable

    @property
    def may_send(self) -> bool:
        """Whether the sender may take a batch now."""
        batches = self.fetched.batches
        return (
            bool(batches)
            and ((pending := batches[0].pending) is None or pending.good)
            and self.phase is LanePhase.RUNNING
            and self.active is not None
            and self.active.may_send
        )

    @property
    def gap(self) -> OffsetGap | None:
        """What an identity lane must fill before its next batch; None where that may be sent."""
        if self.active is None or self.fetched.is_mapped:
            return None
        pipeline = self.active.pipeline
        return self.fetched.gap_before(pipeline.next_offset, pipeline.next_sequence)

    def keep_identity(self, active: ActiveOwnership, gap: OffsetGap) -> None:
        """A gap is about to be filled; raises OwnershipEnded where the lane must turn mapped instead."""
        batch = self.fetched.batches[0]
        active.pipeline.keep_identity(batch.spans, batch.header.max_timestamp)
        if why := self.budget.take(gap, self.fetched.missing(gap, self.source.stable), time.monotonic()):
            raise OwnershipEnded(self.key, Ending.NOT_IDENTITY, detail=why)

    def filled(self, gap: OffsetGap) -> None:
        """The target log ends where the gap does, and a gap record leads over it."""
        assert self.active is not None
        self.active.pipeline.filled(gap.end)
        self.fetched.filled()
        self.copied.filled(gap.end)

    # -- how far it came -------------------------------------------------------------------------------

    @property
    def drained(self) -> bool:
        """Whether nothing that was fetched is on its way any more."""
        return not self.fetched.batches and (self.active is None or not self.active.pipeline.in_flight)

    @property
    def sent_to(self) -> int:
        """The source offset after the last record sent, acknowledged or not; the position where nothing is owned."""
        position = self.copied.position
        return position if self.active is None else max(position, self.active.pipeline.next_offset)

    @property
    def reached(self) -> int:
        """The source offset below which every record was copied or is none to be copied."""
        position = self.copied.position
        if self.phase is LanePhase.RUNNING and self.drained:
            return max(position, self.fetched.fetch_offset)
        return position

    def note_epoch(self) -> tuple[int, int] | None:
        """How far the lane has come with the source's epoch there; the last place of which it is known, else."""
        reached = self.reached
        epoch = self.fetched.epochs.at(reached)
        if epoch != UNKNOWN:
            self.copied.source_epoch = (reached, epoch)
        return self.copied.source_epoch

    def known_to(self) -> tuple[int, int] | None:
        """The target offset below which the book tells of all that the lane wrote, and the epoch of which that holds;
        what was persisted of it before, while the lane does not run."""
        copied = self.copied
        if self.phase is not LanePhase.RUNNING or copied.acknowledged_epoch < 0:
            return copied.target_epoch
        return copied.target_end, copied.acknowledged_epoch

    @property
    def starts(self) -> Starts | None:
        """Where both logs begin; None unless both were told while this worker owns the lane."""
        if self.phase is not LanePhase.RUNNING or self.copied.target_start < 0:
            return None
        return Starts(self.source.log_start, self.copied.target_start)
