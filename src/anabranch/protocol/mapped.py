"""Taking over a mapped lane: claim, kill, tail.

    claim   a fresh producer id, in the journal, whose offset order arbitrates
    kill    every earlier claim that was not released and may still be written under, each until acknowledged on this
            leader epoch, or found in the log where an earlier owner noted its marker
    tail    the position from the headers of the target log and the journal of jumps, both read after the kills

Invariants
    I1  only the last claim that was not killed can append.
    I2  nothing of the lane is appended between the last kill and the tail's reading, but by a later claimant,
        which kills this one before it reads; a leader change in between ends the tenure.
    I5  a tenure's sequences begin at its position mod 2^31 and count records; with the jumps (lanes.holes) positions
        and runs come from headers alone.
    I6  a producer id is claimed again only by the process that released it, in the leader epoch in which it
        wrote, while no other id has a claim in the journal after its own.
    I7  a kill is proven where this leader returns its marker from below the high watermark, and the marker is young
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
    AppendKills,
    ForgetClaims,
    LogEnd,
    Pause,
    ReadClaims,
    ReadEnd,
    ReadJumps,
    ReadMarkers,
    Steps,
    TailBatch,
)
from anabranch.protocol.endings import Ending, TenureEnded
from anabranch.protocol.kills import shut_out
from anabranch.protocol.tail import Journal, read_tail
from anabranch.protocol.tenure import Bid, Held, Tenure
from anabranch.records.sequence import sequence_of

CLAIM_ATTEMPTS = 5
LOOKS = 50
FORGOTTEN = 200
"""Claims that one takeover forgets at most."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """An own claim that is in the journal, and the journal as read after it."""

    claim: Claim
    offset: int
    log: ClaimLog
    reclaimed: bool


def take_mapped(bid: Bid, end: LogEnd, log: ClaimLog, why: str) -> Steps[Tenure]:
    """Claim the lane, kill the earlier owners, and read the position from the target's log.

    Raises TenureEnded where a later owner has claimed, a kill is refused or the log changed underneath, and
    LaneStopped where the position cannot be told exactly.
    """
    own = yield from claim_lane(bid, LaneMode.MAPPED, end, log)
    if (later := own.log.successor(bid.lane, own.claim.producer_id)) is not None:
        raise TenureEnded(bid.lane, Ending.SUPERSEDED, detail=later.owner)
    settled = bid.held.settled if own.reclaimed and bid.held is not None else frozenset()
    old = own.log.predecessors(bid.lane, own.claim.producer_id, bid.over_ms, bid.now_ms)
    standing = [claim for claim in old if claim.producer_id not in settled]
    proven = yield from _proven(bid, own.log, end, [claim.producer_id for claim in standing])
    left = [claim for claim in standing if claim.producer_id not in proven]
    killed = yield from shut_out(bid.lane, bid.start, left, bid.now_ms)
    end = yield from _settle(bid)
    jumps = yield ReadJumps(bid.lane)
    tail = yield from read_tail(bid, Journal(own.log, jumps), end.high_watermark, frozenset(killed))
    # Of a claim that is over and whose end is not known the log's end is noted: one day it can be forgotten, too.
    endless = own.log.endless(bid.lane, own.claim.producer_id, bid.over_ms, bid.now_ms)
    if markers := (*tail.markers, *((one, end.high_watermark) for one in endless[:FORGOTTEN])):
        yield AppendKills(bid.lane, markers)
    if useless := own.log.useless(bid.lane, own.claim.producer_id, bid.over_ms, bid.now_ms, end.start):
        yield ForgetClaims(bid.lane, useless[:FORGOTTEN])
    goes_on = tail.producer_id == own.claim.producer_id
    jumped = jumps.count(bid.lane, own.claim.producer_id)
    if jumped and not goes_on:
        # Retention took its batches: its next sequence is not in the log, and the position's has a meaning already.
        detail = f"producer id {own.claim.producer_id} has jumped, and its last batch is gone from the target"
        raise TenureEnded(bid.lane, Ending.OUT_OF_ORDER, detail=detail)
    return Tenure(
        lane=bid.lane,
        mode=LaneMode.MAPPED,
        claim=own.claim,
        claim_offset=own.offset,
        leader_epoch=bid.leader_epoch,
        expiration_ms=bid.guard_ms,
        position=tail.position,
        sequence=tail.sequence if goes_on else sequence_of(tail.position),
        tail_end=tail.target_end,
        target_end=end.high_watermark,
        last_timestamp=tail.last_timestamp,
        settled=settled | killed | proven,
        why=why,
        allocated_at_ms=bid.held.allocated_at_ms if own.reclaimed and bid.held is not None else bid.now_ms,
        jumps=jumped,
    )


def _proven(bid: Bid, log: ClaimLog, end: LogEnd, producer_ids: Sequence[int]) -> Steps[set[int]]:
    """The producer ids whose kill, which an earlier owner noted, is still in this leader's log (I7).

    An unclean election may have taken it, and all behind it, or retention: outside the log a broker would not look.
    """
    noted = [(one, at) for one in producer_ids if (at := log.marker(bid.lane, one)) is not None]
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
        and age.proves(batch.max_timestamp, bid.expiration_ms, bid.now_ms)
    }


def claim_lane(bid: Bid, mode: LaneMode, end: LogEnd, log: ClaimLog) -> Steps[Claimed]:
    """Put a claim into the journal, for the held producer id where it may be used again, else for a fresh one.

    An append of unknown outcome throws its producer id away: it may appear later, and is then killed by
    whoever comes next.  Raises TenureEnded where the journal cannot be written or does not show the claim.
    """
    held = bid.held if mode is LaneMode.MAPPED and _usable(bid, log) else None
    for _ in range(CLAIM_ATTEMPTS):
        if held is not None:
            allocated = Allocated(held.producer_id, held.transactional_id)
        else:
            allocated = yield AllocateProducerId(bid.lane)
            if allocated.producer_id in log.producer_ids(bid.lane):
                continue
        claim = Claim(
            lane=bid.lane,
            producer_id=allocated.producer_id,
            mode=mode,
            owner=bid.owner,
            transactional_id=allocated.transactional_id,
            claimed_at_ms=bid.now_ms,
            state=ClaimState.CLAIMED,
            start=log.start(bid.lane, bid.start),
            floor=log.floor(bid.lane, end.end),
        )
        offset: int | None = yield AppendClaim(claim)
        if offset is None:
            held = None
            continue
        log = yield ReadClaims(bid.lane)
        placed = log.get(bid.lane, claim.producer_id)
        if placed is None or placed.offset < offset:
            raise TenureEnded(bid.lane, Ending.JOURNAL, detail=f"the claim at {offset:,} was not read back")
        if held is not None and not log.untouched_since(bid.lane, held.claim_offset, held.producer_id):
            held = None
            continue
        return Claimed(claim, offset, log, reclaimed=held is not None)
    raise TenureEnded(bid.lane, Ending.JOURNAL, detail=f"no claim in {CLAIM_ATTEMPTS} attempts")


def _usable(bid: Bid, log: ClaimLog) -> bool:
    """Whether the held producer id may be claimed again, as far as can be told before the claim (I6)."""
    held = bid.held
    if held is None or held.owner != bid.owner or held.leader_epoch != bid.leader_epoch:
        return False
    if bid.now_ms - held.claimed_at_ms >= bid.expiration_ms:
        return False
    if held.transactional_id is not None and bid.now_ms - held.allocated_at_ms >= age.COORDINATED_MS:
        return False
    placed = log.get(bid.lane, held.producer_id)
    return (
        placed is not None
        and placed.claim.state is ClaimState.RELEASED
        and log.untouched_since(bid.lane, held.claim_offset, held.producer_id)
    )


def _settle(bid: Bid) -> Steps[LogEnd]:
    """Wait until all that is in the log now is replicated: a read ends at the high watermark."""
    first: int | None = None
    for _ in range(LOOKS):
        end: LogEnd = yield ReadEnd()
        if first is None:
            first = end.end
        if end.high_watermark >= first:
            return end
        yield Pause("the end of the target log is not replicated yet")
    raise TenureEnded(bid.lane, Ending.UNSETTLED)


def to_held(tenure: Tenure) -> Held:
    """What a process remembers of a tenure that it released."""
    return Held(
        producer_id=tenure.claim.producer_id,
        transactional_id=tenure.claim.transactional_id,
        owner=tenure.claim.owner,
        claim_offset=tenure.claim_offset,
        claimed_at_ms=tenure.claim.claimed_at_ms,
        allocated_at_ms=tenure.allocated_at_ms,
        leader_epoch=tenure.leader_epoch,
        settled=tenure.settled,
    )
