"""A worker that owns a lane, or believes so: it drives the real takeover, pipeline and release.

One call of ``step`` is one thing a worker does between two moments at which it may be stopped, killed or
overtaken.  Reads of the target happen at once; kills and batches are requests on a connection and take as
long as the explorer likes.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from anabranch.model.lane import LaneMode
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol import (
    AllocateProducerId,
    AppendClaim,
    AppendFences,
    Claim,
    DescribeProducer,
    Ending,
    EndOfEpoch,
    Fences,
    ForgetClaims,
    LaneStopped,
    LogEnd,
    Ownership,
    OwnershipEnded,
    Pause,
    Pipeline,
    ProducerState,
    ReadClaims,
    ReadEnd,
    ReadGapRecords,
    ReadMarkers,
    ReadTail,
    ReusableProducer,
    Strong,
    TailBatch,
    TakeoverRequest,
    guard,
)
from anabranch.protocol.gap_records import OffsetSpan

from .mutations import Mutation
from .partition import Violation
from .world import LANE, Connection, Generation, Request, World


@dataclass(slots=True)
class Owner:
    """One process; ``luck`` decides the outcome of its journal appends."""

    name: str
    world: World
    mutation: Mutation
    luck: random.Random
    doubt: float = 0.0
    connection: Connection | None = None
    work: Generator[Any, Any, Any] | None = None
    answer: Any = None
    waiting: int = 0
    several: bool = False
    ownership: Ownership | None = None
    pipeline: Pipeline | None = None
    generation: Generation | None = None
    unpersisted: list[tuple[Generation, MappedRange]] = field(default_factory=list)
    flight: deque[tuple[int, int, int, int]] = field(default_factory=deque)
    reusable: ReusableProducer | None = None
    claimed: Claim | None = None
    reclaims: int | None = None
    reason: str = ""
    ending: bool = False
    releasing: bool = False
    stopped: LaneStopped | None = None
    ownerships: int = 0

    @property
    def done(self) -> bool:
        """Whether it has copied and heard of everything."""
        return self.pipeline is not None and self.pipeline.clean and self.pipeline.position == self.world.source_end

    def step(self) -> None:
        """Do one thing; errors of the protocol end the ownership or stop the lane as they would in a worker."""
        if self.stopped is not None:
            return
        try:
            if self.work is not None:
                self._advance()
            elif self.pipeline is None:
                self._begin()
            else:
                self._copy()
        except OwnershipEnded as ended:
            self.world.seen[ended.reason.name] += 1
            self._over()
        except LaneStopped as stop:
            self.stopped = stop
            self._over()

    # --- taking over and giving back
    def _begin(self) -> None:
        self.connection = self.world.connect()
        reusable, self.reusable = self.reusable, None
        self.reclaims = None if reusable is None else reusable.producer_id
        self.ownerships += 1
        self.work = self.mutation.takeover(self, self._bid(reusable))
        self.answer = None
        self.waiting = 0

    def _bid(self, reusable: ReusableProducer | None) -> TakeoverRequest:
        assert self.connection is not None
        return TakeoverRequest(
            lane=LANE,
            owner=self.name,
            mode=LaneMode.MAPPED if self.reason or not self.world.identity else LaneMode.IDENTITY,
            start=self.world.source_start,
            leader_epoch=self.connection.leader_epoch,
            expiration_ms=self.mutation.expiration_ms or self.world.partition.expiration_ms,
            now_ms=self.world.partition.now_ms,
            persisted=self.world.persisted(),
            reusable=reusable,
        )

    def _advance(self) -> None:
        assert self.work is not None
        connection = self.connection
        assert connection is not None
        if connection.broken or connection.leader_epoch != self.world.partition.leader_epoch:
            if not self.mutation.ignores_breaks:
                raise OwnershipEnded(LANE, Ending.DISCONNECTED)
            connection = self.connection = self.world.connect()
            if self.waiting:
                self.answer, self.waiting = (0,) * self.waiting if self.several else 0, 0
        if self.waiting:
            if not self._answered(connection, self.waiting):
                return
            answers = tuple(connection.answers.popleft()[0] for _ in range(self.waiting))
            self.answer = answers if self.several else answers[0]
            self.waiting = 0
        try:
            effect = self.work.send(self.answer)
        except StopIteration as finished:
            self.work = None
            self._finished(finished.value)
            return
        self.answer = self._perform(effect)

    def _answered(self, connection: Connection, count: int = 1) -> bool:
        """Whether the oldest answers have come: what they acknowledge is replicated."""
        oldest = list(islice(connection.answers, count))
        return len(oldest) == count and all(at <= self.world.partition.high_watermark for _, at in oldest)

    def _finished(self, value: Any) -> None:
        if self.releasing:
            self.releasing = False
            self.reusable = value
            self._forget()
            return
        self.ownership = value
        self.world.seen[f"{value.mode} ownership"] += 1
        if value.producer_id == self.reclaims:
            self.world.seen["reclaimed"] += 1
        if value.mode is LaneMode.MAPPED and self.world.identity:
            self.world.seen["converted"] += 1
        self.pipeline = self.mutation.pipeline(
            value,
            sole_writer=self.world.sole,
            clock=lambda: self.world.partition.now_ms / 1000,
            wall_ms=lambda: self.world.partition.now_ms,
        )
        self.generation = Generation(value.claim_offset, value.tail_end, value.leader_epoch)
        self.world.generations.append(self.generation)

    def _perform(self, effect: Any) -> Any:
        world, partition = self.world, self.world.partition
        match effect:
            case ReadEnd():
                return LogEnd(partition.start, partition.high_watermark, partition.end)
            case ReadTail(below):
                return self._last(below)
            case ReadClaims():
                return self.mutation.read_claims(self)
            case AppendClaim(claim):
                return self._append(claim)
            case AppendFences(_, markers):
                world.append_kills(markers)
                return None
            case ReadGapRecords():
                return self.mutation.read_gap_records(self)
            case AllocateProducerId():
                return world.allocate()
            case Fences(kills):
                for kill in kills:
                    world.seen["kill"] += 1
                    mark = partition.mark if world.forgets_ms is None else world.kill_by_coordinator
                    self._post(Request(partial(mark, kill.producer_id, self.mutation.kill_epoch(kill))))
                self.waiting, self.several = len(kills), True
                return None
            case ReadMarkers(offsets):
                if min(offsets) < partition.start:
                    raise OwnershipEnded(LANE, Ending.UNSETTLED, 1)  # OFFSET_OUT_OF_RANGE
                return tuple(self._last(at + 1) for at in offsets)
            case ForgetClaims(_, producer_ids):
                world.forget_claims(producer_ids)
                return None
            case DescribeProducer(producer_id):
                entry = partition.entries.get(producer_id)
                known = None if entry is None else ProducerState(entry.epoch, entry.last_sequence)
                return self.mutation.described(self, known)
            case EndOfEpoch(leader_epoch):
                return partition.end_of_epoch(leader_epoch)
            case Pause():
                partition.high_watermark = partition.end
                return None
        raise AssertionError(effect)

    def _last(self, below: int) -> TailBatch | None:
        """The last batch that begins below an offset."""
        if below - 1 > self.world.partition.end:
            raise OwnershipEnded(LANE, Ending.UNSETTLED, 1)  # OFFSET_OUT_OF_RANGE
        batch = self.world.partition.last_below(below)
        return None if batch is None else batch.header

    def _append(self, claim: Any) -> int | None:
        self.claimed = claim
        if self.luck.random() >= self.doubt:
            return self.world.append_claim(claim)
        if self.mutation.journal_repeats:
            self.world.late_appends.append(claim)
            return self.world.append_claim(claim)
        outcome = self.luck.randrange(3)
        if outcome == 0:
            self.world.append_claim(claim)
        elif outcome == 1:
            self.world.late_appends.append(claim)
        return None

    # --- copying
    def _copy(self) -> None:
        pipeline, ownership, connection = self.pipeline, self.ownership, self.connection
        assert pipeline is not None and ownership is not None and connection is not None
        assert self.generation is not None
        if connection.broken:
            if self._reconnects(pipeline):
                return
            if not self.mutation.resends(self, leader_changed=self._leader_changed()):
                raise pipeline.fail(Ending.DISCONNECTED)
            self._send_again()
            return
        if self._is_leased_out(ownership):
            raise pipeline.fail(Ending.LEASE)
        if self._answered(connection):
            (code, base), _ = connection.answers.popleft()
            ranges = pipeline.acknowledge(code, base)
            self.flight.popleft()
            self.unpersisted += [(self.generation, run) for run in ranges]
            return
        if pipeline.room() and not self.ending and pipeline.next_offset < self.world.source_end:
            self._send(pipeline, ownership)
        elif self.ending and not pipeline.in_flight:
            self._give_back(pipeline, ownership)

    def _reconnects(self, pipeline: Pipeline) -> bool:
        """Go on over another connection where nothing was in flight and the leader epoch is the same."""
        if pipeline.in_flight or (self.mutation.checks_epoch and self._leader_changed()):
            return False
        self.connection = self.world.connect()
        pipeline.reconnected()
        self.world.seen["reconnected"] += 1
        return True

    def _is_leased_out(self, ownership: Ownership) -> bool:
        """Whether a short lease is over; how old a claim may grow at most, the pipeline knows."""
        lease, since = self.world.lease_ms, ownership.claim.claimed_at_ms
        return lease is not None and ownership.mode is LaneMode.MAPPED and self.world.partition.now_ms - since > lease

    def _give_back(self, pipeline: Pipeline, ownership: Ownership) -> None:
        self.ending = False
        self.work = self.mutation.release(ownership, pipeline)
        self.answer = None
        self.releasing = True

    def _send(self, pipeline: Pipeline, ownership: Ownership) -> None:
        self._confirm_epoch(pipeline)
        first = pipeline.next_offset
        if first not in self.world.batches:
            raise Violation("MISPLACED", f"{first - self.world.source_start} begins no batch of the source")
        count, timestamp = self.world.batches[first]
        if ownership.mode is LaneMode.IDENTITY:
            now = self.world.partition.now_ms
            strength = guard(ownership.expiration_ms, now, [*pipeline.timestamps(), timestamp])
            if not isinstance(strength, Strong):
                self.reason = strength.reason
                raise pipeline.fail(Ending.LEASE, strength.reason)
        sequence = pipeline.send((OffsetSpan(first, count),), timestamp)
        batch = (sequence, first, count, timestamp)
        self.flight.append(batch)
        self._post_batch(batch)

    def _confirm_epoch(self, pipeline: Pipeline) -> None:
        if pipeline.needs_epoch_check() and self.mutation.checks_epoch:
            if self._leader_changed():
                raise pipeline.fail(Ending.LEADER_EPOCH)
            pipeline.epoch_confirmed()

    def _post_batch(self, batch: tuple[int, int, int, int]) -> None:
        assert self.ownership is not None
        producer_id = self.ownership.producer_id
        epoch, sequence = self.mutation.stamp(self, batch)
        partition = self.world.partition
        self._post(Request(lambda: partition.produce(producer_id, epoch, sequence, *batch[1:]), refusable=True))

    def _send_again(self) -> None:
        self.connection = self.world.connect()
        for batch in self.flight:
            self._post_batch(batch)

    def _post(self, request: Request) -> None:
        assert self.connection is not None
        request.posted_ms = self.world.partition.now_ms
        self.connection.requests.append(request)

    def _leader_changed(self) -> bool:
        assert self.connection is not None
        return self.connection.leader_epoch != self.world.partition.leader_epoch

    # --- what strikes from outside; each says whether it struck
    def give_up_waiting(self) -> bool:
        """A request times out: its outcome is unknown, and it may still be carried out."""
        if self.connection is None or self.connection.broken or not (self.waiting or self.flight):
            return False
        self.world.cut(self.connection, len(self.connection.requests))
        return True

    def lose_connection(self, keep: int) -> bool:
        """The connection breaks; the first ``keep`` requests under way had been received."""
        if self.connection is None or self.connection.broken:
            return False
        self.world.cut(self.connection, keep)
        return True

    def end_lease(self) -> bool:
        """The lease ends: drain, release, and begin the next one."""
        if self.pipeline is None or self.work is not None:
            return False
        self.ending = True
        return True

    def crash(self) -> None:
        """The process is killed: what it had sent stays on its way, what it had not persisted is gone."""
        if self.connection is not None:
            self.world.cut(self.connection, len(self.connection.requests))
        self.connection = None
        self.unpersisted.clear()

    def file(self) -> bool:
        """File the runs acknowledged so far; late, perhaps long after the ownership."""
        if not self.unpersisted:
            return False
        for generation, run in self.unpersisted:
            generation.ranges.append(run)
        self.unpersisted.clear()
        return True

    def _over(self) -> None:
        if self.connection is not None:
            self.world.cut(self.connection, len(self.connection.requests))
        if self.work is not None:
            self.work.close()
            self.work = None
        if self.pipeline is not None and not self.pipeline.clean:
            self.mutation.after_doubt(self)
        self.releasing = False
        self.ending = False
        self._forget()

    def _forget(self) -> None:
        self.pipeline = None
        self.ownership = None
        self.flight.clear()
        self.waiting = 0
