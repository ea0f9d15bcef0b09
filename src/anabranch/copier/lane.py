"""One lane in a worker: what was fetched and not yet sent, what is in flight, where it stands and why.

The lane holds no task and no socket.  The fetcher puts batches in, the sender takes them out, the keeper takes
it over; each looks at ``phase`` and nothing else decides.

Invariants
    ``fetch_at`` is the source offset up to which all was queued, sent, dropped for good or accepted as lost.
    ``queue_next`` and ``queue_sequence`` are the source offset after the last record queued, sent or read from the
    target's tail, and the sequence that the next one will have: a batch that does not begin there needs a jump.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from anabranch.copier.source.epochs import UNKNOWN, EpochTrail
from anabranch.copier.target.target import TargetPartition
from anabranch.kafka.connection import Connection
from anabranch.kafka.frames import Frame
from anabranch.kafka.presence import Absence
from anabranch.model.lane import KNOWN_S, LaneAssignment, LaneMode, LaneState
from anabranch.model.link import ModePolicy
from anabranch.offsets.runs import Run, RunMap
from anabranch.protocol.endings import LaneStopped, Stop, TenureEnded
from anabranch.protocol.fill import Budget, Hole
from anabranch.protocol.holes import Jump, Stretch, merged
from anabranch.protocol.pipeline import Pipeline
from anabranch.protocol.tenure import Held, Tenure
from anabranch.records.header import BatchHeader
from anabranch.records.sequence import advance
from anabranch.state.segments.retiring import Starts
from anabranch.state.segments.runs import RunBook

QUEUE_BYTES = 1 << 20
JUMP_REACH = 1 << 28
"""Records after which a producer id that has jumped jumps again, so that its newest jump is always near."""
LEAST_RATE = 1.0
"""Bytes a second below which a lane that copies nothing is said to stand still."""
SAMPLE = 1000
"""Queued offsets from which it is concluded how many of those behind them hold no record."""


class Phase(Enum):
    """``TAKING``: being taken over; ``RUNNING``: batches may flow; ``STOPPED``: a person must act; ``OVER``: left."""

    TAKING = "taking"
    RUNNING = "running"
    STOPPED = "stopped"
    OVER = "over"


@dataclass(slots=True)
class Ticket:
    """Whether the jump that a batch needs is in the journal."""

    good: bool = False


class Queued(NamedTuple):
    """A checked-in batch: its bytes, where they start in ``view``, and the frame that must be released.

    ``stretches`` say which source offsets its records have; ``ticket`` is that of the jump it waits for, if any.
    """

    view: memoryview
    at: int
    header: BatchHeader
    frame: Frame | None
    stretches: tuple[Stretch, ...]
    ticket: Ticket | None = None


@dataclass(slots=True)
class Source:
    """Where the lane is read: the leader and its epoch, and the ends that it last told.

    ``told_at`` is when a fetch was last answered, ``seen_at`` when the ends were last told, by whatever request;
    ``absence`` is for how long every broker says that there is no such topic, ``doubt`` what they say meanwhile.
    """

    leader: int = -1
    epoch: int = -1
    log_start: int = 0
    stable: int = 0
    high_watermark: int = 0
    told_at: float = 0.0
    seen_at: float = 0.0
    absence: Absence = field(default_factory=Absence)
    doubt: str = ""

    def is_there(self) -> None:
        """A broker knows the topic, or it is to be looked for from the beginning."""
        self.absence.end()
        self.doubt = ""


@dataclass(slots=True)
class Tally:
    """What was copied, ever and lately; rates are smoothed over some seconds.

    ``through`` is the source offset below which ``records`` counts all that was copied.
    """

    records: int = 0
    bytes: int = 0
    through: int = 0
    records_per_s: float = 0.0
    bytes_per_s: float = 0.0
    _seen: tuple[int, int, float] = (0, 0, 0.0)

    def measure(self, now: float) -> None:
        """Take the rates anew; called about once a second."""
        records, size, before = self._seen
        if before and now > before:
            weight = min(1.0, (now - before) / 3)
            self.records_per_s += weight * ((self.records - records) / (now - before) - self.records_per_s)
            self.bytes_per_s += weight * ((self.bytes - size) / (now - before) - self.bytes_per_s)
            if self.records == records and self.bytes_per_s < LEAST_RATE:
                self.records_per_s = self.bytes_per_s = 0.0  # what fades away for ever would be news for ever
        self._seen = (self.records, self.bytes, now)

    def add_found(self, runs: RunMap) -> None:
        """Count what of these runs was copied and not counted: by an owner that was killed before it filed that.

        Its bytes are an estimate, from the mean size of what was counted.
        """
        last = runs.last
        if last is None or last.source_end <= self.through:
            return
        indexes = range(max(0, runs.find_source(self.through)), len(runs))
        found = sum(max(0, runs[at].source_end - max(runs[at].source, self.through)) for at in indexes)
        size = round(found * self.bytes / self.records) if self.records else 0
        records, before, at = self._seen
        self._seen = (records + found, before + size, at)  # it is no rate of now
        self.records, self.bytes, self.through = self.records + found, self.bytes + size, last.source_end


class Lane:
    """The state of one lane; see the module's docstring for who may do what."""

    def __init__(self, assignment: LaneAssignment) -> None:
        self.assignment = assignment
        self.key = str(assignment.lane)
        self.phase = Phase.TAKING
        self.source = Source()
        self.made_at = time.monotonic()
        self.tally = Tally()
        self.book = RunBook()
        self.is_untold = False  # what was filed of its runs could not be put together
        self.mode = LaneMode.MAPPED
        self.mode_reason = ""
        self.waiting = ""
        self.held_by = ""
        self.gap: tuple[int, int] | None = None
        self.stranger = ""
        self.trail = EpochTrail()
        self.source_epoch: tuple[int, int] | None = None
        self.target_epoch: tuple[int, int] | None = None  # as it was filed
        self.tenure: Tenure | None = None
        self.held: Held | None = None
        self.acknowledged_epoch = -1
        self.want_mapped_why = ""
        self.want_mapped = assignment.mode is ModePolicy.MAPPED
        self.pipeline: Pipeline | None = None
        self.connection: Connection | None = None
        self.place: TargetPartition | None = None
        self.budget = Budget(time.monotonic())
        self.queue: deque[Queued] = deque()
        self.queued_bytes = 0
        self.owned_bytes = 0
        self.fetch_at = 0
        self.queue_next = 0
        self.queue_sequence = 0
        self.jumps = 0
        self.since_jump = 0
        self.last_epoch = -1
        self.position = 0
        self.target_start = -1  # the first offset of the target's log, as this tenure was told; -1: not yet
        self.target_end = 0
        self.oldest_waiting_ms: int | None = None
        self.ended: TenureEnded | None = None
        self.stopped: LaneStopped | None = None
        self.checking = False
        self.renewing = False
        self.joins = True
        self.has_joined = False

    # -- phases ----------------------------------------------------------------------------------------

    def begin(self, tenure: Tenure, pipeline: Pipeline, connection: Connection) -> None:
        """A tenure was won: batches flow from its position."""
        self.drop_queue()
        self.tenure = tenure
        self.pipeline = pipeline
        self.connection = connection
        self.mode = tenure.mode
        self.mode_reason = tenure.why
        self.position = tenure.position
        self.trail.cut(tenure.position)
        self.fetch_at = self.assignment.onward(tenure.position)
        self.last_epoch = self.trail.at(self.fetch_at)
        self.target_start, self.target_end = -1, tenure.target_end
        self.acknowledged_epoch = tenure.leader_epoch  # the takeover has found it all in this epoch's log
        if self.book.last is not None and tenure.tail_end < tenure.target_end:
            self.gap = (tenure.tail_end, tenure.target_end)
        self.queue_next, self.queue_sequence = tenure.position, tenure.sequence
        self.jumps, self.since_jump = tenure.jumps, JUMP_REACH
        if tenure.mode is LaneMode.IDENTITY:
            self.since_jump = max(0, tenure.position - tenure.jumped_at)
        self.held_by = ""
        self.checking = False
        self.ended = None
        self.phase = Phase.RUNNING

    def end_tenure(self, pipeline: Pipeline, ended: TenureEnded) -> bool:
        """This tenure is over and the lane must be taken over again; False where it was over before."""
        if self.pipeline is not pipeline or self.phase is not Phase.RUNNING:
            return False
        self.pipeline = None
        self.tenure = None
        self.connection = None
        self.checking = False  # what is asked or filled for this tenure still, nobody need wait for
        self.ended = ended
        self.drop_queue()
        self.phase = Phase.TAKING
        return True

    def disconnected(self) -> bool:
        """The connection ended; True where nothing was under way on it, so that the tenure goes on over another."""
        if self.pipeline is None or self.phase is not Phase.RUNNING or self.checking or self.renewing:
            return False
        if self.pipeline.in_flight:
            return False
        self.connection = None
        return True

    def stop(self, stopped: LaneStopped) -> None:
        """Going on would lose, repeat or guess: stand still until a person acts."""
        self.stopped = stopped
        self.drop_queue()
        if self.phase is not Phase.OVER:
            self.phase = Phase.STOPPED

    def stop_at(self, reason: Stop, offset: int, detail: str = "", fix: str = "") -> None:
        """``stop`` with a reason found on the source's side."""
        self.stop(LaneStopped(self.key, reason, offset, None, detail, fix))

    def retry(self) -> None:
        """A person acted: a stopped lane is taken over again, and stops again where nothing was mended."""
        if self.phase is Phase.STOPPED:
            self.stopped = self.pipeline = self.tenure = self.connection = None
            self.source.leader = -1
            self.source.is_there()
            self.phase = Phase.TAKING

    def leave(self) -> None:
        """The lease is over, or the link no longer wants this lane."""
        self.drop_queue()
        self.phase = Phase.OVER

    # -- batches ---------------------------------------------------------------------------------------

    @property
    def wants_fetch(self) -> bool:
        """Whether the fetcher should ask for more."""
        return self.phase is Phase.RUNNING and self.queued_bytes < QUEUE_BYTES

    @property
    def may_send(self) -> bool:
        """Whether the sender may take a batch now."""
        return (
            bool(self.queue)
            and ((ticket := self.queue[0].ticket) is None or ticket.good)
            and self.phase is Phase.RUNNING
            and not self.checking
            and not self.renewing
            and self.pipeline is not None
            and self.pipeline.room() > 0
        )

    def needs_jump(self, stretches: Sequence[Stretch]) -> bool:
        """Whether a batch with these stretches, queued next, does not tell its source offsets by its sequence."""
        if self.tenure is None or self.tenure.mode is LaneMode.IDENTITY:
            return False
        plain = len(stretches) == 1 and stretches[0].source == self.queue_next
        return not plain or (self.jumps > 0 and self.since_jump >= JUMP_REACH)

    def put(self, queued: Queued) -> None:
        """Queue the next batch of the source; holds its frame."""
        if queued.frame is not None:
            queued.frame.retain()
        else:
            self.owned_bytes += queued.header.size
        self.queue.append(queued)
        self.queued_bytes += queued.header.size
        self.queue_next = queued.stretches[-1].end
        self.queue_sequence = advance(self.queue_sequence, queued.header.count)
        self.since_jump += queued.header.count

    @property
    def hole(self) -> Hole | None:
        """What an identity lane must fill, or jump over anew, before its next batch; None where that may be sent."""
        if self.tenure is None or self.pipeline is None or self.tenure.mode is not LaneMode.IDENTITY or not self.queue:
            return None
        at, source = self.pipeline.next_offset, self.queue[0].stretches[0].source
        if source > at or (self.jumps and self.since_jump >= JUMP_REACH):
            return Hole(at, source, self.pipeline.next_sequence)
        return None

    def missing(self, hole: Hole) -> int:
        """About how many offsets up to the source's end hold no record, judged by what is queued."""
        span = self.queue[-1].stretches[-1].end - hole.start
        here = span - sum(queued.header.count for queued in self.queue)
        behind = self.source.stable - hole.start
        return here if span < SAMPLE or behind <= span else here * behind // span

    def filled(self, hole: Hole) -> None:
        """The target log ends where the hole does, and a jump leads over it."""
        assert self.pipeline is not None
        self.pipeline.filled(hole.end)
        self.jumps, self.since_jump = self.jumps + 1, 0
        self.position = self.target_end = hole.end

    def passed(self, position: int, leader_epoch: int) -> None:
        """All below ``position`` was queued or dropped; ``leader_epoch`` is that of the batch that ends there."""
        self.fetch_at = position
        if leader_epoch >= 0:
            self.last_epoch = leader_epoch

    def jump(self, sequence: int, stretches: Sequence[Stretch]) -> Jump:
        """The next jump of the tenure's producer id."""
        assert self.tenure is not None
        made = Jump(self.key, self.tenure.producer_id, sequence, self.jumps, merged(stretches))
        self.jumps += 1
        self.since_jump = made.stretches[-1].length
        return made

    @property
    def drained(self) -> bool:
        """Whether nothing that was fetched is on its way any more."""
        return not self.queue and (self.pipeline is None or not self.pipeline.in_flight)

    @property
    def reached(self) -> int:
        """The source offset below which every record was copied or is none to be copied."""
        return max(self.position, self.fetch_at) if self.phase is Phase.RUNNING and self.drained else self.position

    def take(self) -> Queued:
        """The next batch to send; the caller releases its frame."""
        queued = self.queue.popleft()
        self.queued_bytes -= queued.header.size
        if queued.frame is None:
            self.owned_bytes -= queued.header.size
        return queued

    def leave_frames(self) -> None:
        """Copy what is queued out of its frames: a small batch that waits must not keep a large answer in memory."""
        for at, queued in enumerate(self.queue):
            if queued.frame is not None:
                size = queued.header.size
                own = memoryview(bytearray(queued.view[queued.at : queued.at + size]))
                self.queue[at] = queued._replace(view=own, at=0, frame=None)
                self.owned_bytes += size
                queued.frame.release()

    def drop_queue(self) -> None:
        """Let go of everything that was fetched and not sent."""
        for queued in self.queue:
            if queued.frame is not None:
                queued.frame.release()
        self.queue.clear()
        self.queued_bytes = self.owned_bytes = 0
        if self.pipeline is not None:
            self.fetch_at = self.pipeline.next_offset
            self.last_epoch = -1

    def copied(self, runs: Sequence[Run], size: int) -> None:
        """A batch was acknowledged."""
        if self.tenure is not None:
            self.acknowledged_epoch = self.tenure.leader_epoch
        if runs[0].target > self.target_end and self.gap is None:
            self.gap = (self.target_end, runs[0].target)
        for run in runs:
            self.book.append(run)
            self.tally.records += run.length
        self.position = self.tally.through = runs[-1].source_end
        self.target_end = runs[-1].target_end
        self.tally.bytes += size

    def note_epoch(self) -> tuple[int, int] | None:
        """How far the lane has come with the source's epoch there; the last place of which it is known, else."""
        reached = self.reached
        epoch = self.trail.at(reached)
        if epoch != UNKNOWN:
            self.source_epoch = (reached, epoch)
        return self.source_epoch

    def source_silence(self) -> float:
        """For how many seconds the source has not told its ends; what is new here has waited since it came."""
        return time.monotonic() - (self.source.seen_at or self.made_at)

    def known_to(self) -> tuple[int, int] | None:
        """The target offset below which the book tells of all that the lane wrote, and the epoch of which that holds;
        what was filed of it before, while the lane does not run."""
        if self.phase is not Phase.RUNNING or self.acknowledged_epoch < 0:
            return self.target_epoch
        return self.target_end, self.acknowledged_epoch

    @property
    def starts(self) -> Starts | None:
        """Where both logs begin; None unless both were told while this worker owns the lane."""
        if self.phase is not Phase.RUNNING or self.target_start < 0:
            return None
        return Starts(self.source.log_start, self.target_start)

    # -- reports ---------------------------------------------------------------------------------------

    def state(self, paused: bool) -> LaneState:
        """What to call all this."""
        if self.phase is Phase.STOPPED:
            return LaneState.STOPPED
        if paused:
            return LaneState.PAUSED
        if self.phase is not Phase.RUNNING:
            return LaneState.WAITING
        if self.source_silence() > KNOWN_S:
            return LaneState.UNREACHABLE
        if self.held_by:
            return LaneState.WAITING
        if not self.source.seen_at:
            return LaneState.COPYING  # where the end is has not been told yet
        # An empty queue alone says little: who waits for memory or a quota, or was just resumed, has not read all.
        is_read = not self.queue and self.fetch_at >= self.source.stable
        return LaneState.FOLLOWING if is_read or self.reached >= self.source.stable else LaneState.COPYING
