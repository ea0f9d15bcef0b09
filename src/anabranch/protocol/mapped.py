"""Taking over a mapped lane: claim, fence, tail.

    claim   a fresh producer id, in the journal, whose offset order arbitrates
    fence    every earlier claim that was not released and may still be written under, each until acknowledged on this
            leader epoch, or found in the log where an earlier owner noted its marker
    tail    the position from the headers of the target log and the journal of gap records, both read after the fences

Invariants
    I1  only the last claim that was not fenced can append.
    I2  nothing of the lane is appended between the last fence and the tail's reading, but by a later claimant,
        which fences this one before it reads; a leader change in between ends the ownership.
    I5  an ownership's sequences begin at its position mod 2^31 and count records; with the gap records (lanes.gaps)
        positions and runs come from headers alone.
    I6  a producer id is claimed again only by the process that released it, in the leader epoch in which it
        wrote, while no other id has a claim in the journal after its own.
    I7  a fence is proven where this leader returns its marker from below the high watermark, and the marker is young
        enough (A3): every replica that can lead without another leader epoch has it, and refuses the id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anabranch.model.lane import LaneMode
from anabranch.protocol import age
from anabranch.protocol.claims import Claim, ClaimLog, ClaimState
from anabranch.protocol.effects import (
    Allocated,
    AllocateProducerId,
    AppendClaim,
    AppendFences,
    ForgetClaims,
    LogEnd,
    Pause,
    ReadClaims,
    ReadEnd,
    ReadGapRecords,
    ReadMarkers,
    Steps,
    TailBatch,
)
from anabranch.protocol.endings import Ending, OwnershipEnded
from anabranch.protocol.fences import fence
from anabranch.protocol.ownership import Ownership, ReusableProducer, TakeoverRequest
from anabranch.protocol.tail import JournalView, read_tail
from anabranch.records.sequence import sequence_of

CLAIM_ATTEMPTS = 5
LOOKS = 50
FORGOTTEN = 200
"""Claims that one takeover forgets at most."""


@dataclass(frozen=True, slots=True)
class OwnClaim:
    """An own claim that is in the journal, and the journal as read after it."""

    claim: Claim
    offset: int
    log: ClaimLog
    reclaimed: bool


def take_mapped(request: TakeoverRequest, end: LogEnd, log: ClaimLog, why: str) -> Steps[Ownership]:
    """Claim the lane, fence the earlier owners, and read the position from the target's log.

    Raises OwnershipEnded where a later owner has claimed, a fence is refused or the log changed underneath, and
    LaneStopped where the position cannot be determined exactly.
    """
    own = yield from claim_lane(request, LaneMode.MAPPED, end, log)
    if (later := own.log.successor(request.lane, own.claim.producer_id)) is not None:
        raise OwnershipEnded(request.lane, Ending.SUPERSEDED, detail=later.owner)
    settled = request.reusable.settled if own.reclaimed and request.reusable is not None else frozenset()
    old = own.log.predecessors(request.lane, own.claim.producer_id, request.over_ms, request.now_ms)
    standing = [claim for claim in old if claim.producer_id not in settled]
    proven = yield from _proven(request, own.log, end, [claim.producer_id for claim in standing])
    left = [claim for claim in standing if claim.producer_id not in proven]
    fenced = yield from fence(request.lane, request.start, left, request.now_ms)
    end = yield from _settle(request)
    gap_records = yield ReadGapRecords(request.lane)
    tail = yield from read_tail(request, JournalView(own.log, gap_records), end.high_watermark, frozenset(fenced))
    # Of a claim that is over and whose end is not known the log's end is noted: one day it can be forgotten, too.
    endless = own.log.endless(request.lane, own.claim.producer_id, request.over_ms, request.now_ms)
    if markers := (*tail.markers, *((one, end.high_watermark) for one in endless[:FORGOTTEN])):
        yield AppendFences(request.lane, markers)
    if useless := own.log.useless(request.lane, own.claim.producer_id, request.over_ms, request.now_ms, end.start):
        yield ForgetClaims(request.lane, useless[:FORGOTTEN])
    goes_on = tail.producer_id == own.claim.producer_id
    has_gap_record = gap_records.count(request.lane, own.claim.producer_id)
    if has_gap_record and not goes_on:
        # Retention took its batches: its next sequence is not in the log, and the position's has a meaning already.
        detail = f"producer id {own.claim.producer_id} has a gap record, and its last batch is gone from the target"
        raise OwnershipEnded(request.lane, Ending.OUT_OF_ORDER, detail=detail)
    return Ownership(
        lane=request.lane,
        mode=LaneMode.MAPPED,
        claim=own.claim,
        claim_offset=own.offset,
        leader_epoch=request.leader_epoch,
        expiration_ms=request.guard_ms,
        position=tail.position,
        sequence=tail.sequence if goes_on else sequence_of(tail.position),
        tail_end=tail.target_end,
        target_end=end.high_watermark,
        last_timestamp=tail.last_timestamp,
        settled=settled | fenced | proven,
        why=why,
        allocated_at_ms=request.reusable.allocated_at_ms
        if own.reclaimed and request.reusable is not None
        else request.now_ms,
        gap_records=has_gap_record,
        is_replaced=tail.is_replaced,
    )


def _proven(request: TakeoverRequest, log: ClaimLog, end: LogEnd, producer_ids: Sequence[int]) -> Steps[set[int]]:
    """The producer ids whose fence, which an earlier owner noted, is still in this leader's log (I7).

    An unclean election may have taken it, and all behind it, or retention: outside the log a broker would not look.
    """
    noted = [(one, at) for one in producer_ids if (at := log.marker(request.lane, one)) is not None]
    noted = [(one, at) for one, at in noted if end.start <= at < end.high_watermark]
    if not noted:
        return set()
    found: tuple[TailBatch | None, ...] = yield ReadMarkers(tuple(at for _, at in noted))
    return {
        producer_id
        for (producer_id, at), batch in zip(noted, found, strict=True)
        if batch is not None
        and batch.is_control
        and batch.base_offset == at
        and batch.producer_id == producer_id
        and age.proves(batch.max_timestamp, request.expiration_ms, request.now_ms)
    }


def claim_lane(request: TakeoverRequest, mode: LaneMode, end: LogEnd, log: ClaimLog) -> Steps[OwnClaim]:
    """Put a claim into the journal, for the held producer id where it may be used again, else for a fresh one.

    An append of unknown outcome throws its producer id away: it may appear later, and is then fenced by
    whoever comes next.  Raises OwnershipEnded where the journal cannot be written or does not show the claim.
    """
    reusable = request.reusable if mode is LaneMode.MAPPED and _usable(request, log) else None
    for _ in range(CLAIM_ATTEMPTS):
        if reusable is not None:
            allocated = Allocated(reusable.producer_id, reusable.transactional_id)
        else:
            allocated = yield AllocateProducerId(request.lane)
            if allocated.producer_id in log.producer_ids(request.lane):
                continue
        claim = Claim(
            lane=request.lane,
            producer_id=allocated.producer_id,
            mode=mode,
            owner=request.owner,
            transactional_id=allocated.transactional_id,
            claimed_at_ms=request.now_ms,
            state=ClaimState.CLAIMED,
            start=log.start(request.lane, request.start),
            floor=log.floor(request.lane, end.end),
        )
        offset: int | None = yield AppendClaim(claim)
        if offset is None:
            reusable = None
            continue
        log = yield ReadClaims(request.lane)
        placed = log.get(request.lane, claim.producer_id)
        if placed is None or placed.offset < offset:
            raise OwnershipEnded(request.lane, Ending.JOURNAL, detail=f"the claim at {offset:,} was not read back")
        if reusable is not None and not log.untouched_since(request.lane, reusable.claim_offset, reusable.producer_id):
            reusable = None
            continue
        return OwnClaim(claim, offset, log, reclaimed=reusable is not None)
    raise OwnershipEnded(request.lane, Ending.JOURNAL, detail=f"no claim in {CLAIM_ATTEMPTS} attempts")


def _usable(request: TakeoverRequest, log: ClaimLog) -> bool:
    """Whether the held producer id may be claimed again, as far as can be told before the claim (I6)."""
    reusable = request.reusable
    if reusable is None or reusable.owner != request.owner or reusable.leader_epoch != request.leader_epoch:
        return False
    if request.now_ms - reusable.claimed_at_ms >= request.expiration_ms:
        return False
    if reusable.transactional_id is not None and request.now_ms - reusable.allocated_at_ms >= age.COORDINATED_MS:
        return False
    placed = log.get(request.lane, reusable.producer_id)
    return (
        placed is not None
        and placed.claim.state is ClaimState.RELEASED
        and log.untouched_since(request.lane, reusable.claim_offset, reusable.producer_id)
    )


def _settle(request: TakeoverRequest) -> Steps[LogEnd]:
    """Wait until all that is in the log now is replicated: a read ends at the high watermark."""
    first: int | None = None
    for _ in range(LOOKS):
        end: LogEnd = yield ReadEnd()
        if first is None:
            first = end.end
        if end.high_watermark >= first:
            return end
        yield Pause("the end of the target log is not replicated yet")
    raise OwnershipEnded(request.lane, Ending.UNSETTLED)


def to_held(ownership: Ownership) -> ReusableProducer:
    """What a process remembers of an ownership that it released."""
    return ReusableProducer(
        producer_id=ownership.claim.producer_id,
        transactional_id=ownership.claim.transactional_id,
        owner=ownership.claim.owner,
        claim_offset=ownership.claim_offset,
        claimed_at_ms=ownership.claim.claimed_at_ms,
        allocated_at_ms=ownership.allocated_at_ms,
        leader_epoch=ownership.leader_epoch,
        settled=ownership.settled,
    )
