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
from anabranch.copier.lane.fetched import FetchedBatches
from anabranch.copier.lane.source_log import SourceLogState
from anabranch.copier.lane.status import Status
from anabranch.kafka.connection import Connection
from anabranch.model.lane import LaneAssignment
from anabranch.model.link import ModePolicy
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded, Stop
from anabranch.protocol.gap_padding import OffsetGap, PaddingBudget
from anabranch.protocol.ownership import Ownership, ReusableProducer
from anabranch.protocol.pipeline import Pipeline
from anabranch.state.segments.retiring import Starts


class LanePhase(Enum):
    """``TAKING``: being taken over; ``RUNNING``: batches may flow; ``STOPPED``: a person must act; ``OVER``: left."""

    TAKING = "taking"
    RUNNING = "running"
    STOPPED = "stopped"
    OVER = "over"


OWNED = frozenset({LanePhase.RUNNING, LanePhase.STOPPED})
"""Phases in which a lane that was won has ranges to persist and a claim to give back."""


class Lane:
    """The state of one lane; see the module's docstring for who may do what.

    ``reusable_producer`` is what a clean ownership left for the next one; ``mapped_because`` says why the lane is to be
    mapped, empty where the link asks for that, None where it need not be.
    """

    __slots__ = (
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
