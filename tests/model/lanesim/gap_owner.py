"""A worker that copies a source with holes: it fetches ahead, writes jumps ahead, files runs behind, forgets jumps."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from anabranch.offsets.errors import RunOrderError
from anabranch.offsets.runs import Run, RunMap
from anabranch.protocol import Bid, Ending, Held, Jump, JumpLog, Pipeline, ReadRuns, Stretch, Tenure
from anabranch.protocol.tail import tell
from anabranch.records.sequence import advance

from .hole_mutations import HoleMutation
from .hole_world import HoleWorld, joined
from .owner import Owner
from .partition import Violation
from .source import offsets_of
from .world import LANE, Request

AHEAD = 5
PENDING = 2
HOUSEKEEPING = 0.8


@dataclass(slots=True)
class Queued:
    """A batch that was fetched; it waits for ``jump``, if there is one, and is under ``sequence`` when it is sent."""

    stretches: tuple[Stretch, ...]
    sequence: int
    jump: Jump | None

    @property
    def count(self) -> int:
        return sum(stretch.length for stretch in self.stretches)


@dataclass(slots=True)
class Filing:
    """What an owner may file, and forget once it has: its runs, and how far its own batches are in them."""

    claim_offset: int
    leader_epoch: int
    producer_id: int
    begun: int
    sequence: int
    book: RunMap
    dead: tuple[int, ...]
    jumps: JumpLog
    filed: tuple[RunMap, int] | None = None
    filed_at: int = 0


@dataclass(slots=True)
class HoleOwner(Owner):
    """An owner in a ``HoleWorld``.

    ``queue`` are the batches fetched ahead, ``fetch_at`` where the next fetch begins; ``unwritten`` are jumps that
    were not acknowledged, the first of them on its way to the journal, unless one is in it whose acknowledgement is
    on its way: ``unanswered``.
    """

    world: HoleWorld
    mutation: HoleMutation
    queue: deque[Queued] = field(default_factory=deque)
    unwritten: deque[Jump] = field(default_factory=deque)
    unanswered: deque[Jump] = field(default_factory=deque)
    fetch_at: int = 0
    sequence: int = 0
    ordinal: int = 0
    jumps: JumpLog = field(default_factory=JumpLog)
    filing: Filing | None = None
    early: RunMap | None = None
    must_file: bool = False

    @property
    def done(self) -> bool:
        """Whether it has copied and heard of everything."""
        pipeline = self.pipeline
        return pipeline is not None and pipeline.clean and not self.world.source.has_more(pipeline.position)

    # --- taking over
    def _bid(self, held: Held | None) -> Bid:
        self.world.bids[self.name] = self.world.tick()
        self.early = self.early or self.world.book
        return Owner._bid(self, held)

    def _perform(self, effect: Any) -> Any:
        if isinstance(effect, ReadRuns):
            return self.mutation.runs_of_bid(self)
        answer = Owner._perform(self, effect)
        if isinstance(answer, JumpLog):
            self.jumps = answer
        return answer

    def _finished(self, value: Any) -> None:
        releasing = self.releasing
        Owner._finished(self, value)
        if releasing:
            return
        self.world.bids.pop(self.name, None)
        tenure: Tenure = value
        assert self.pipeline is not None
        self.fetch_at, self.sequence = self.pipeline.next_offset, self.pipeline.next_sequence
        self.ordinal = tenure.jumps
        filed = self.world.book
        self.must_file = self.mutation.must_file(self, filed, tenure)
        claims = self.world.claim_log().claims(LANE)
        dead = tuple(one.claim.producer_id for one in claims if one.offset < tenure.claim_offset)
        self.filing = Filing(
            tenure.claim_offset,
            tenure.leader_epoch,
            tenure.producer_id,
            tenure.sequence,
            tenure.sequence,
            self._completed(RunMap.of(filed.truncate(tenure.tail_end)), tenure),
            dead,
            self.jumps,
        )

    def _completed(self, book: RunMap, tenure: Tenure) -> RunMap:
        """The filed runs, and those that the headers of the log tell up to the lane's last batch."""
        world = self.world
        mine = world.claim_log().producer_ids(LANE)
        for batch in world.partition.log:
            if batch.base < book.target_end or batch.end > tenure.tail_end or batch.producer_id not in mine:
                continue
            if batch.control:
                continue
            near = book.last.source_end if book.last is not None else world.source_start
            stretches = tell(LANE, self.jumps, book, batch.header, near)
            if stretches is None:
                raise Violation("UNTOLD", f"target offset {batch.base} while the runs are completed")
            book = extended(book, pieces(stretches, batch.base))
        return book

    # --- copying
    def _copy(self) -> None:
        pipeline, tenure, connection = self.pipeline, self.tenure, self.connection
        assert pipeline is not None and tenure is not None and connection is not None and self.filing is not None
        if connection.broken:
            if self._reconnects(pipeline):
                return
            raise pipeline.fail(Ending.DISCONNECTED)
        if self._is_leased_out(tenure):
            raise pipeline.fail(Ending.LEASE)
        if self._answered(connection):
            (code, base), _ = connection.answers.popleft()
            runs = pipeline.acknowledge(code, base)
            _, _, count, _ = self.flight.popleft()
            self.filing.book = extended(self.filing.book, runs)
            self.filing.sequence = advance(self.filing.sequence, count)
        elif self.must_file:
            self._file_now(pipeline)
        elif self.ending:
            if not pipeline.in_flight:
                self._give_back(pipeline, tenure)
        else:
            self.luck.choice(self._possible(pipeline) or [lambda: None])()

    def _possible(self, pipeline: Pipeline) -> list[Any]:
        can: list[Any] = []
        if self.luck.random() < HOUSEKEEPING:
            can.append(self.luck.choice((self.file, self.forget)))
        if self.unwritten and (not self.unanswered or self.mutation.jumps_at_once):
            can.append(self._write_jump)
        if self.unanswered:
            can.append(self._permit)
        if self.queue and pipeline.room() and not self.mutation.waits(self, self.queue[0]):
            can.append(self._send_next)
        pending = len(self.unwritten) + len(self.unanswered)
        if len(self.queue) < AHEAD and pending < PENDING and self.world.source.has_more(self.fetch_at):
            can.append(self._fetch)
        return can

    def _file_now(self, pipeline: Pipeline) -> None:
        """File before anything is sent; an unknown outcome ends the tenure."""
        if self.luck.random() < self.doubt:
            if self.luck.random() < 0.5:
                self.file()
            raise pipeline.fail(Ending.JOURNAL, "the runs may not be filed")
        self.file()
        self.must_file = False
        self.world.seen["cut filed"] += 1

    def _fetch(self) -> None:
        """One fetch round: where its batches do not plainly continue, a jump from the first that does not."""
        assert self.tenure is not None and self.pipeline is not None
        following, sequence = self.fetch_at, self.sequence
        rounds = self.world.source.fetch(self.fetch_at, self.luck)
        jump: Jump | None = None
        for at, stretches in enumerate(rounds):
            if jump is None and (len(stretches) > 1 or stretches[0].source != following):
                ahead = joined(stretch for batch in rounds[at:] for stretch in batch)
                jump = Jump(LANE, self.tenure.producer_id, sequence, self.ordinal, ahead)
            queued = Queued(stretches, sequence, jump)
            self.queue.append(queued)
            following, sequence = stretches[-1].end, advance(sequence, queued.count)
        self.fetch_at, self.sequence = following, sequence
        if jump is not None:
            self.ordinal += 1
            self.world.seen["jump"] += 1
            self.pipeline.intend()
            self.unwritten.append(jump)
            self.mutation.intended(self, jump)

    def _write_jump(self) -> None:
        """The journal's broker takes the oldest jump, or it is not known whether it did."""
        assert self.pipeline is not None
        jump = self.unwritten.popleft()
        if self.luck.random() < self.doubt:
            self._abandon(jump)
            if not self.mutation.jumps_at_once:
                self.unwritten.clear()
            raise self.pipeline.fail(Ending.JOURNAL, "a jump may not be written")
        self.world.append_jump(jump.key, jump)
        self.unanswered.append(jump)

    def _abandon(self, jump: Jump) -> None:
        """Nobody waits for this jump any more: it is in the journal, will be, or never."""
        outcome = self.luck.randrange(3)
        if outcome == 0:
            self.world.append_jump(jump.key, jump)
        elif outcome == 1:
            self.world.late_appends.append(jump)

    def _permit(self) -> None:
        assert self.pipeline is not None
        self.mutation.acknowledged(self, self.unanswered.popleft())

    def _send_next(self) -> None:
        assert self.pipeline is not None and self.tenure is not None
        pipeline = self.pipeline
        self._confirm_epoch(pipeline)
        queued = self.queue.popleft()
        first, count = queued.stretches[0].source, queued.count
        timestamp = max(self.world.timestamps[offset] for offset in offsets_of(queued.stretches))
        plain = len(queued.stretches) == 1 and self.luck.random() < 0.5
        sequence = pipeline.send(first, count, timestamp, None if plain else queued.stretches)
        if sequence != queued.sequence:
            raise Violation("COUNTED", f"{queued} was to be sent under {sequence}")
        batch = (sequence, first, count, timestamp)
        self.flight.append(batch)
        epoch, sequence = self.mutation.stamp(self, batch)
        producer_id, partition, held = self.tenure.producer_id, self.world.partition, queued.stretches
        self._post(
            Request(lambda: partition.produce(producer_id, epoch, sequence, first, count, timestamp, held), True)
        )

    # --- what strikes from outside
    def drop(self) -> bool:
        """What was fetched is let go of; where a jump was written for it, the tenure ends (H3)."""
        pipeline = self.pipeline
        if pipeline is None or self.work is not None or not self.queue:
            return False
        self.queue.clear()
        if pipeline.jumps_ahead:
            pipeline.fail(Ending.JOURNAL, "what was jumped for was dropped")
            self._over()
            return True
        self.fetch_at, self.sequence = pipeline.next_offset, pipeline.next_sequence
        return True

    def crash(self) -> None:
        """The process is killed: jumps on their way may still arrive."""
        Owner.crash(self)
        self.world.bids.pop(self.name, None)
        self._lose_queue()
        self.filing = None

    def file(self) -> bool:
        """File the runs known so far; late, perhaps long after the tenure."""
        filing = self.filing
        if filing is None or (filing.filed is not None and filing.filed[0] is filing.book):
            return False
        self.world.file_book(filing.claim_offset, filing.leader_epoch, filing.book)
        filing.filed = (filing.book, filing.sequence)
        filing.filed_at = self.world.tick()
        return True

    def forget(self) -> bool:
        """Forget the jumps that the filed runs make superfluous: own ones, and those of the ids it shut out."""
        filing = self.filing
        if filing is None or filing.filed is None or not self.mutation.may_forget(self, filing):
            return False
        forgotten = self.mutation.superfluous(self, filing)
        for key in forgotten:
            self.world.append_jump(key, None)
        if forgotten:
            self.world.seen["jump forgotten"] += len(forgotten)
            self.world.audit()
        return bool(forgotten)

    def _forget(self) -> None:
        Owner._forget(self)
        self.world.bids.pop(self.name, None)
        self._lose_queue()

    def _lose_queue(self) -> None:
        on_the_way = len(self.unwritten) if self.mutation.jumps_at_once else not self.unanswered
        for jump in list(self.unwritten)[: int(on_the_way)]:
            self._abandon(jump)
        self.unwritten.clear()
        self.unanswered.clear()
        self.queue.clear()


def extended(book: RunMap, runs: Iterable[Run]) -> RunMap:
    """A book with more runs; what does not rise was filed wrongly."""
    try:
        return book.extend(runs)
    except RunOrderError as error:
        raise Violation("FALSE RUN", error.message) from error


def pieces(stretches: Any, target: int) -> list[Run]:
    """Stretches as runs, from a target offset on."""
    found = []
    for source, length in stretches:
        found.append(Run(source, target, length))
        target += length
    return found
