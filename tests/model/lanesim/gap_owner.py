"""A worker that copies a source with gaps: it fetches ahead, writes gap records ahead, persists ranges behind,
forgets gap records.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from anabranch.offsets.errors import RangeOrderError
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.protocol import (
    Ending,
    GapRecord,
    GapRecordLog,
    OffsetSpan,
    Ownership,
    Pipeline,
    ReadMappedRanges,
    ReusableProducer,
    TakeoverRequest,
)
from anabranch.protocol.tail import tell
from anabranch.records.sequence import advance

from .gap_mutations import GapMutation
from .gap_world import GapWorld, joined
from .owner import Owner
from .partition import Violation
from .source import offsets_of
from .world import LANE, Request

AHEAD = 5
PENDING = 2
HOUSEKEEPING = 0.8


@dataclass(slots=True)
class Queued:
    """A batch that was fetched; it waits for ``gap_record``, if there is one, and is under ``sequence`` when it is
    sent.
    """

    spans: tuple[OffsetSpan, ...]
    sequence: int
    gap_record: GapRecord | None

    @property
    def count(self) -> int:
        return sum(span.length for span in self.spans)


@dataclass(slots=True)
class Persisting:
    """What an owner may file, and forget once it has: its runs, and how far its own batches are in them."""

    claim_offset: int
    leader_epoch: int
    producer_id: int
    begun: int
    sequence: int
    book: OffsetMap
    dead: tuple[int, ...]
    gap_records: GapRecordLog
    persisted: tuple[OffsetMap, int] | None = None
    persisted_at: int = 0


@dataclass(slots=True)
class GapOwner(Owner):
    """An owner in a ``GapWorld``.

    ``queue`` are the batches fetched ahead, ``fetch_at`` where the next fetch begins; ``unwritten`` are gap records
    that were not acknowledged, the first of them on its way to the journal, unless one is in it whose acknowledgement
    is on its way: ``unanswered``.
    """

    world: GapWorld
    mutation: GapMutation
    queue: deque[Queued] = field(default_factory=deque)
    unwritten: deque[GapRecord] = field(default_factory=deque)
    unanswered: deque[GapRecord] = field(default_factory=deque)
    fetch_at: int = 0
    sequence: int = 0
    ordinal: int = 0
    gap_records: GapRecordLog = field(default_factory=GapRecordLog)
    persisting: Persisting | None = None
    early: OffsetMap | None = None
    must_file: bool = False

    @property
    def done(self) -> bool:
        """Whether it has copied and heard of everything."""
        pipeline = self.pipeline
        return pipeline is not None and pipeline.clean and not self.world.source.has_more(pipeline.position)

    # --- taking over
    def _bid(self, held: ReusableProducer | None) -> TakeoverRequest:
        self.world.bids[self.name] = self.world.tick()
        self.early = self.early or self.world.book
        return Owner._bid(self, held)

    def _perform(self, effect: Any) -> Any:
        if isinstance(effect, ReadMappedRanges):
            return self.mutation.ranges_of_request(self)
        answer = Owner._perform(self, effect)
        if isinstance(answer, GapRecordLog):
            self.gap_records = answer
        return answer

    def _finished(self, value: Any) -> None:
        releasing = self.releasing
        Owner._finished(self, value)
        if releasing:
            return
        self.world.bids.pop(self.name, None)
        ownership: Ownership = value
        assert self.pipeline is not None
        self.fetch_at, self.sequence = self.pipeline.next_offset, self.pipeline.next_sequence
        self.ordinal = ownership.gap_records
        persisted = self.world.book
        self.must_file = self.mutation.must_file(self, persisted, ownership)
        claims = self.world.claim_log().claims(LANE)
        dead = tuple(one.claim.producer_id for one in claims if one.offset < ownership.claim_offset)
        self.persisting = Persisting(
            ownership.claim_offset,
            ownership.leader_epoch,
            ownership.producer_id,
            ownership.sequence,
            ownership.sequence,
            self._completed(OffsetMap.of(persisted.truncate(ownership.tail_end)), ownership),
            dead,
            self.gap_records,
        )

    def _completed(self, book: OffsetMap, ownership: Ownership) -> OffsetMap:
        """The persisted runs, and those that the headers of the log tell up to the lane's last batch."""
        world = self.world
        mine = world.claim_log().producer_ids(LANE)
        for batch in world.partition.log:
            if batch.base < book.target_end or batch.end > ownership.tail_end or batch.producer_id not in mine:
                continue
            if batch.control:
                continue
            near = book.last.source_end if book.last is not None else world.source_start
            spans = tell(LANE, self.gap_records, book, batch.header, near)
            if spans is None:
                raise Violation("UNTOLD", f"target offset {batch.base} while the runs are completed")
            book = extended(book, pieces(spans, batch.base))
        return book

    # --- copying
    def _copy(self) -> None:
        pipeline, ownership, connection = self.pipeline, self.ownership, self.connection
        assert pipeline is not None and ownership is not None and connection is not None and self.persisting is not None
        if connection.broken:
            if self._reconnects(pipeline):
                return
            raise pipeline.fail(Ending.DISCONNECTED)
        if self._is_leased_out(ownership):
            raise pipeline.fail(Ending.LEASE)
        if self._answered(connection):
            (code, base), _ = connection.answers.popleft()
            ranges = pipeline.acknowledge(code, base)
            _, _, count, _ = self.flight.popleft()
            self.persisting.book = extended(self.persisting.book, ranges)
            self.persisting.sequence = advance(self.persisting.sequence, count)
        elif self.must_file:
            self._file_now(pipeline)
        elif self.ending:
            if not pipeline.in_flight:
                self._give_back(pipeline, ownership)
        else:
            self.luck.choice(self._possible(pipeline) or [lambda: None])()

    def _possible(self, pipeline: Pipeline) -> list[Any]:
        can: list[Any] = []
        if self.luck.random() < HOUSEKEEPING:
            can.append(self.luck.choice((self.file, self.forget)))
        if self.unwritten and (not self.unanswered or self.mutation.gap_records_at_once):
            can.append(self._write_gap_record)
        if self.unanswered:
            can.append(self._permit)
        if self.queue and pipeline.room() and not self.mutation.waits(self, self.queue[0]):
            can.append(self._send_next)
        pending = len(self.unwritten) + len(self.unanswered)
        if len(self.queue) < AHEAD and pending < PENDING and self.world.source.has_more(self.fetch_at):
            can.append(self._fetch)
        return can

    def _file_now(self, pipeline: Pipeline) -> None:
        """File before anything is sent; an unknown outcome ends the ownership."""
        if self.luck.random() < self.doubt:
            if self.luck.random() < 0.5:
                self.file()
            raise pipeline.fail(Ending.JOURNAL, "the runs may not be persisted")
        self.file()
        self.must_file = False
        self.world.seen["cut persisted"] += 1

    def _fetch(self) -> None:
        """One fetch round: where its batches do not plainly continue, a gap record from the first that does not."""
        assert self.ownership is not None and self.pipeline is not None
        following, sequence = self.fetch_at, self.sequence
        rounds = self.world.source.fetch(self.fetch_at, self.luck)
        gap_record: GapRecord | None = None
        for at, spans in enumerate(rounds):
            if gap_record is None and (len(spans) > 1 or spans[0].source != following):
                ahead = joined(span for batch in rounds[at:] for span in batch)
                gap_record = GapRecord(LANE, self.ownership.producer_id, sequence, self.ordinal, ahead)
            queued = Queued(spans, sequence, gap_record)
            self.queue.append(queued)
            following, sequence = spans[-1].end, advance(sequence, queued.count)
        self.fetch_at, self.sequence = following, sequence
        if gap_record is not None:
            self.ordinal += 1
            self.world.seen["jump"] += 1
            self.pipeline.intend()
            self.unwritten.append(gap_record)
            self.mutation.intended(self, gap_record)

    def _write_gap_record(self) -> None:
        """The journal's broker takes the oldest gap record, or it is not known whether it did."""
        assert self.pipeline is not None
        gap_record = self.unwritten.popleft()
        if self.luck.random() < self.doubt:
            self._abandon(gap_record)
            if not self.mutation.gap_records_at_once:
                self.unwritten.clear()
            raise self.pipeline.fail(Ending.JOURNAL, "a gap record may not be written")
        self.world.append_gap_record(gap_record.key, gap_record)
        self.unanswered.append(gap_record)

    def _abandon(self, gap_record: GapRecord) -> None:
        """Nobody waits for this gap record any more: it is in the journal, will be, or never."""
        outcome = self.luck.randrange(3)
        if outcome == 0:
            self.world.append_gap_record(gap_record.key, gap_record)
        elif outcome == 1:
            self.world.late_appends.append(gap_record)

    def _permit(self) -> None:
        assert self.pipeline is not None
        self.mutation.acknowledged(self, self.unanswered.popleft())

    def _send_next(self) -> None:
        assert self.pipeline is not None and self.ownership is not None
        pipeline = self.pipeline
        self._confirm_epoch(pipeline)
        queued = self.queue.popleft()
        first, count = queued.spans[0].source, queued.count
        timestamp = max(self.world.timestamps[offset] for offset in offsets_of(queued.spans))
        sequence = pipeline.send(queued.spans, timestamp)
        if sequence != queued.sequence:
            raise Violation("COUNTED", f"{queued} was to be sent under {sequence}")
        batch = (sequence, first, count, timestamp)
        self.flight.append(batch)
        epoch, sequence = self.mutation.stamp(self, batch)
        producer_id, partition, held = self.ownership.producer_id, self.world.partition, queued.spans
        self._post(
            Request(lambda: partition.produce(producer_id, epoch, sequence, first, count, timestamp, held), True)
        )

    # --- what strikes from outside
    def drop(self) -> bool:
        """What was fetched is let go of; where a gap record was written for it, the ownership ends (H3)."""
        pipeline = self.pipeline
        if pipeline is None or self.work is not None or not self.queue:
            return False
        self.queue.clear()
        if pipeline.gap_records_ahead:
            pipeline.fail(Ending.JOURNAL, "what was jumped for was dropped")
            self._over()
            return True
        self.fetch_at, self.sequence = pipeline.next_offset, pipeline.next_sequence
        return True

    def crash(self) -> None:
        """The process is killed: gap records on their way may still arrive."""
        Owner.crash(self)
        self.world.bids.pop(self.name, None)
        self._lose_queue()
        self.persisting = None

    def file(self) -> bool:
        """File the runs known so far; late, perhaps long after the ownership."""
        persisting = self.persisting
        if persisting is None or (persisting.persisted is not None and persisting.persisted[0] is persisting.book):
            return False
        self.world.file_book(persisting.claim_offset, persisting.leader_epoch, persisting.book)
        persisting.persisted = (persisting.book, persisting.sequence)
        persisting.persisted_at = self.world.tick()
        return True

    def forget(self) -> bool:
        """Forget the gap records that the persisted runs make superfluous: own ones, and those of the ids it shut
        out.
        """
        persisting = self.persisting
        if persisting is None or persisting.persisted is None or not self.mutation.may_forget(self, persisting):
            return False
        forgotten = self.mutation.superfluous(self, persisting)
        for key in forgotten:
            self.world.append_gap_record(key, None)
        if forgotten:
            self.world.seen["gap record forgotten"] += len(forgotten)
            self.world.audit()
        return bool(forgotten)

    def _forget(self) -> None:
        Owner._forget(self)
        self.world.bids.pop(self.name, None)
        self._lose_queue()

    def _lose_queue(self) -> None:
        on_the_way = len(self.unwritten) if self.mutation.gap_records_at_once else not self.unanswered
        for gap_record in list(self.unwritten)[: int(on_the_way)]:
            self._abandon(gap_record)
        self.unwritten.clear()
        self.unanswered.clear()
        self.queue.clear()


def extended(book: OffsetMap, ranges: Iterable[MappedRange]) -> OffsetMap:
    """A book with more runs; what does not rise was persisted wrongly."""
    try:
        return book.extend(ranges)
    except RangeOrderError as error:
        raise Violation("FALSE RUN", error.message) from error


def pieces(spans: Any, target: int) -> list[MappedRange]:
    """Spans as runs, from a target offset on."""
    found = []
    for source, length in spans:
        found.append(MappedRange(source, target, length))
        target += length
    return found
