"""The protocol as it is, and the broken variants that the checker must find.

A mutation replaces one decision of the protocol from outside; the code under ``src`` has no switches.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from anabranch.model.lane import LaneMode
from anabranch.protocol import (
    Claim,
    ClaimLog,
    ClaimState,
    Fence,
    Fences,
    Ownership,
    Pipeline,
    ProducerState,
    ReadClaims,
    ReadEnd,
    ReadMarkers,
    TailBatch,
    TakeoverRequest,
    age,
    release,
    takeover,
)
from anabranch.protocol.gap_records import GapRecordLog
from anabranch.protocol.mapped import claim_lane
from anabranch.protocol.tail import JournalView, read_tail
from anabranch.records.sequence import sequence_of

from .partition import FENCE_EPOCH

if TYPE_CHECKING:
    from .owner import Owner

Steps = Generator[Any, Any, Any]
Batch = tuple[int, int, int, int]


class Mutation:
    """The protocol as implemented: every method does what the real worker does."""

    ignores_breaks = False
    checks_epoch = True
    journal_repeats = False
    expiration_ms: int | None = None
    pipeline: type[Pipeline] = Pipeline
    claims: type[ClaimLog] = ClaimLog

    def takeover(self, owner: Owner, request: TakeoverRequest) -> Steps:
        return takeover(request)

    def release(self, ownership: Ownership, pipeline: Pipeline) -> Steps:
        return release(ownership, pipeline)

    def read_claims(self, owner: Owner) -> ClaimLog:
        return owner.world.claim_log(self.claims)

    def read_gap_records(self, owner: Owner) -> GapRecordLog:
        return GapRecordLog()

    def described(self, owner: Owner, entry: ProducerState | None) -> ProducerState | None:
        return entry

    def kill_epoch(self, kill: Fence) -> int:
        return FENCE_EPOCH

    def stamp(self, owner: Owner, batch: Batch) -> tuple[int, int]:
        """The producer epoch and base sequence a batch is sent under."""
        return 0, batch[0]

    def resends(self, owner: Owner, *, leader_changed: bool) -> bool:
        return False

    def after_doubt(self, owner: Owner) -> None:
        """An ownership has just ended with batches in doubt."""


class AlwaysWide(Pipeline):
    """Five in flight from the first batch on, whatever the guard."""

    __slots__ = ()

    def room(self) -> int:
        return 0 if self._error is not None else 5 - len(self._flight)


class Wide(Mutation):
    """P1 left out: batches are sent behind others while the broker may not remember the producer id."""

    pipeline = AlwaysWide


class _LongLived(Pipeline):
    __slots__ = ()

    def __init__(self, ownership: Ownership, **more: Any) -> None:
        super().__init__(ownership, **more)
        self._limit = age.limit_ms(ownership.expiration_ms, by_coordinator=False)


class WritesForLong(Mutation):
    """K12: A4 left out: under a coordinator's producer id is written for half the expiration."""

    pipeline = _LongLived


# --- identity lanes
class GuardedResend(Mutation):
    """M1: sends again what was not answered, under a strong guard."""

    def resends(self, owner: Owner, *, leader_changed: bool) -> bool:
        return not leader_changed


class Unguarded(Mutation):
    """M4, M5: believes the guard strong whatever the records' age."""

    expiration_ms = 1 << 60

    def described(self, owner: Owner, entry: ProducerState | None) -> ProducerState | None:
        partition = owner.world.partition
        return ProducerState(0, sequence_of(partition.end - 1)) if partition.log else None


class UnguardedResend(Unguarded):
    """M2: the same, and sends again what was not answered."""

    def resends(self, owner: Owner, *, leader_changed: bool) -> bool:
        return True


class ConvertsWithoutKill(Mutation):
    """C1: an identity lane becomes mapped without fencing the shared producer id ."""

    class claims(ClaimLog):
        """A journal in which identity claims need no kill."""

        __slots__ = ()

        def predecessors(self, lane: str, mine: int, expiration_ms: int, now_ms: int) -> tuple[Claim, ...]:
            found = super().predecessors(lane, mine, expiration_ms, now_ms)
            return tuple(claim for claim in found if claim.mode is LaneMode.MAPPED)


@dataclass(frozen=True, slots=True)
class RaisedOwnership(Ownership):
    """An ownership under a raised epoch, whose sequences start at 0."""

    epoch: int = 0


class RaisedEpoch(Mutation):
    """M7: a fixed producer id, its epoch raised by each owner, the older epoch shut out by the first write."""

    marker = False
    producer_id = 7

    def __init__(self) -> None:
        self.epochs = 0

    def takeover(self, owner: Owner, request: TakeoverRequest) -> Steps:
        epoch = self.epochs = self.epochs + 1
        if self.marker and (yield Fences((Fence(self.producer_id, str(epoch)),))) != (0,):
            return (yield from self.takeover(owner, request))
        end = (yield ReadEnd()).end
        position = owner.world.partition.next_source
        claim = Claim(
            request.lane,
            self.producer_id,
            LaneMode.MAPPED,
            request.owner,
            None,
            request.now_ms,
            ClaimState.CLAIMED,
            request.start,
            0,
        )
        return RaisedOwnership(
            lane=request.lane,
            mode=LaneMode.MAPPED,
            claim=claim,
            claim_offset=epoch,
            leader_epoch=request.leader_epoch,
            expiration_ms=request.expiration_ms,
            position=position,
            sequence=0,
            tail_end=end,
            target_end=end,
            last_timestamp=None,
            settled=frozenset(),
            why="",
            epoch=epoch,
        )

    def kill_epoch(self, kill: Fence) -> int:
        return int(kill.transactional_id or 0)

    def stamp(self, owner: Owner, batch: Batch) -> tuple[int, int]:
        assert isinstance(owner.ownership, RaisedOwnership)
        return owner.ownership.epoch, batch[0]


class RaisedEpochWithMarker(RaisedEpoch):
    """M8 (strong), M9 (old records): the same, fenced by a marker of the new epoch before the read."""

    marker = True


# --- mapped lanes
class IgnoresBreaks(Mutation):
    """K3b: a connection that broke during the takeover is opened again and the takeover goes on."""

    ignores_breaks = True


class NoClaims(Mutation):
    """K4: kills the producer ids seen in the log instead of the claims."""

    def read_claims(self, owner: Owner) -> ClaimLog:
        seen = {batch.producer_id for batch in owner.world.partition.log if batch.first >= 0}
        mine = owner.claimed.producer_id if owner.claimed is not None else -1
        return ClaimLog(r for r in owner.world.claim_records() if r[1].producer_id in seen or r[1].producer_id == mine)


class KillsOnlyLatest(Mutation):
    """K5: kills only the latest earlier claim."""

    class claims(ClaimLog):
        """A journal that names the latest predecessor only."""

        __slots__ = ()

        def predecessors(self, lane: str, mine: int, expiration_ms: int, now_ms: int) -> tuple[Claim, ...]:
            return super().predecessors(lane, mine, expiration_ms, now_ms)[-1:]


class TailBeforeKill(Mutation):
    """K6: reads the tail before the kills."""

    def takeover(self, owner: Owner, request: TakeoverRequest) -> Steps:
        end = yield ReadEnd()
        log = yield ReadClaims(request.lane)
        own = yield from claim_lane(request, LaneMode.MAPPED, end, log)
        end = yield ReadEnd()
        tail = yield from read_tail(request, JournalView(own.log, GapRecordLog()), end.high_watermark, frozenset())
        old = own.log.predecessors(request.lane, own.claim.producer_id, request.expiration_ms, request.now_ms)
        if old:
            yield Fences(tuple(Fence(claim.producer_id, None) for claim in old))
        end = yield ReadEnd()
        return Ownership(
            lane=request.lane,
            mode=LaneMode.MAPPED,
            claim=own.claim,
            claim_offset=own.offset,
            leader_epoch=request.leader_epoch,
            expiration_ms=request.expiration_ms,
            position=tail.position,
            sequence=sequence_of(tail.position),
            tail_end=tail.target_end,
            target_end=end.end,
            last_timestamp=tail.last_timestamp,
            settled=frozenset(),
            why="",
        )


class _AsksForProofs(Mutation):
    """Answers what a takeover reads to prove a kill, between its claim and its last look at the log's end."""

    def takeover(self, owner: Owner, request: TakeoverRequest) -> Steps:
        work = takeover(request)
        answer, log = None, ClaimLog()
        while True:
            try:
                effect = work.send(answer)
            except StopIteration as finished:
                return finished.value
            answer = yield effect
            if isinstance(effect, ReadClaims):
                log = answer
            elif isinstance(effect, ReadMarkers):
                told = zip(effect.offsets, answer, strict=True)
                answer = tuple(self.proof(request, log, at, batch) for at, batch in told)

    def proof(self, request: TakeoverRequest, log: ClaimLog, at: int, found: TailBatch | None) -> TailBatch | None:
        """The batch that is shown where a marker should lie."""
        raise NotImplementedError


class KillsAllAnew(_AsksForProofs):
    """No kill is ever proven: each takeover kills every earlier claim."""

    def proof(self, request: TakeoverRequest, log: ClaimLog, at: int, found: TailBatch | None) -> TailBatch | None:
        return None


class TrustsNotes(_AsksForProofs):
    """K10: a kill counts as proven where one was noted once, whatever the log says."""

    def proof(self, request: TakeoverRequest, log: ClaimLog, at: int, found: TailBatch | None) -> TailBatch | None:
        noted = [p for p in log.producer_ids(request.lane) if log.marker(request.lane, p) == at]
        return TailBatch(at, at, max(noted), -1, True, request.now_ms)


class TrustsOldMarkers(_AsksForProofs):
    """K11: a kill counts as proven where its marker lies, however old it is."""

    def proof(self, request: TakeoverRequest, log: ClaimLog, at: int, found: TailBatch | None) -> TailBatch | None:
        return found and replace(found, max_timestamp=request.now_ms)


class ResendsSameLeader(Mutation):
    """K7 (old records), K7b (strong): sends again inside an ownership, while the leader is the same."""

    def resends(self, owner: Owner, *, leader_changed: bool) -> bool:
        return not leader_changed


class ResendsAnyLeader(Mutation):
    """K8: sends again inside an ownership, after a leader change too."""

    def resends(self, owner: Owner, *, leader_changed: bool) -> bool:
        return True


class NoEpochCheck(Mutation):
    """K9: an idle ownership sends on without asking whether the leader epoch is still its own."""

    checks_epoch = False


# --- a producer id claimed again by the process that released it
class _Unchecked(ClaimLog):
    __slots__ = ()

    def untouched_since(self, lane: str, offset: int, mine: int) -> bool:
        return True


class _UncheckedAndTrusting(_Unchecked):
    __slots__ = ()

    def predecessors(self, lane: str, mine: int, expiration_ms: int, now_ms: int) -> tuple[Claim, ...]:
        return ()


class ReclaimsUnchecked(Mutation):
    """R1k: claims again without looking whether somebody claimed in between, but kills and reads the tail."""

    claims = _Unchecked


class ReclaimsBlindly(Mutation):
    """R1: claims again without looking whether somebody claimed in between, and kills nobody."""

    def read_claims(self, owner: Owner) -> ClaimLog:
        again = owner.claimed is not None and owner.claimed.producer_id == owner.reclaims
        return owner.world.claim_log(_UncheckedAndTrusting if again else _Unchecked)


class JournalRepeats(Mutation):
    """R2: the journal's client sends an append again by itself, so that a release may land after a reclaim."""

    journal_repeats = True


class ReleasesInDoubt(Mutation):
    """R3: releases its producer id although batches were in doubt."""

    def after_doubt(self, owner: Owner) -> None:
        assert owner.ownership is not None
        if owner.ownership.mode is LaneMode.MAPPED:
            owner.world.append_claim(replace(owner.ownership.claim, state=ClaimState.RELEASED))
