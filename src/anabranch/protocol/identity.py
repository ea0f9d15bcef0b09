"""Taking over an identity lane: target offset = source offset, one producer id shared by all owners.

Nothing is fenced and nothing needs to be: under a strong guard the broker takes a batch only at its own
sequence, which is its own offset, and all owners hold the same bytes.  So two owners, lost answers, restarts
and truncation all converge on the same log.  Raising the epoch would break that.  Where the guard is not
strong, or the log shows that somebody else wrote, the lane becomes mapped, for good.

    head    below the lane's start the log is padded with empty records, under the same producer id, at sequences
            that are their offsets; then they are deleted.  Records lie at or past the start only.
    gaps   offsets without a record are filled by markers of empty transactions (:mod:`anabranch.protocol.gap_padding`),
            after a gap record was written: from the first one on the sequence counts records, and the gap records tell
            where each belongs.  So a batch that lies anywhere else is found out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anabranch.model.lane import LaneMode
from anabranch.protocol.claims import Claim, ClaimLog
from anabranch.protocol.effects import (
    DescribeProducer,
    LogEnd,
    Pause,
    ProducerState,
    ReadEnd,
    ReadGapRecords,
    ReadTail,
    Steps,
    TailBatch,
)
from anabranch.protocol.endings import Ending, OwnershipEnded
from anabranch.protocol.gap_records import GapRecord
from anabranch.protocol.guard import Strong, guard
from anabranch.protocol.mapped import claim_lane
from anabranch.protocol.ownership import Ownership, TakeoverRequest
from anabranch.records.sequence import MODULUS, advance, sequence_of, unwrap

LOOKS = 50
WALK = 4096
"""Markers that are walked past to the lane's last record; a gap that is filled has at most half as many."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the target had while its end stood still; ``tail`` is the last batch that is no marker."""

    end: LogEnd
    gap_records: tuple[GapRecord, ...]
    entry: ProducerState | None
    tail: TailBatch | None
    doubt: str


def take_identity(request: TakeoverRequest, end: LogEnd, log: ClaimLog) -> Steps[Ownership | str]:
    """Take the lane over as identity; return the reason instead where it must become mapped.

    Raises OwnershipEnded where the end of the log does not come to rest.
    """
    if log.fixed(request.lane) is None:
        log = (yield from claim_lane(request, LaneMode.IDENTITY, end, log)).log
        if log.mode(request.lane) is LaneMode.MAPPED:
            return "another owner has made the lane mapped"
    fixed = log.fixed(request.lane)
    assert fixed is not None
    placed = log.get(request.lane, fixed.producer_id)
    assert placed is not None
    start = fixed.start
    if (floor := fixed.floor) > start:
        return f"the target log ended at {floor:,} before the lane's first claim, past its start {start:,}"
    if 0 < floor < start:
        return (
            f"the target log ended at {floor:,} before the lane's first claim: padding up to {start:,} would hide that"
        )
    seen = yield from _look(request, fixed.producer_id)
    position = seen.end.end
    if seen.doubt:
        return seen.doubt
    if position < start:
        found: tuple[int, int] | str = _padded(fixed, seen)
    else:
        found = _told(fixed, seen)
    if isinstance(found, str):
        return found
    sequence, ahead = found
    tail = seen.tail if seen.tail is not None and seen.tail.last_offset >= start else None
    strength = guard(request.guard_ms, request.now_ms, [] if tail is None else [tail.max_timestamp])
    if not isinstance(strength, Strong):
        return strength.reason
    return Ownership(
        lane=request.lane,
        mode=LaneMode.IDENTITY,
        claim=fixed,
        claim_offset=placed.offset,
        leader_epoch=request.leader_epoch,
        expiration_ms=request.guard_ms,
        position=position,
        sequence=sequence,
        tail_end=position if tail is None else tail.last_offset + 1,
        target_end=position,
        last_timestamp=None if seen.tail is None else seen.tail.max_timestamp,
        settled=frozenset(),
        why=f"target offsets are the source's: {strength.reason}",
        gap_records=len(seen.gap_records),
        gap_record_at=seen.gap_records[-1].spans[0].source if seen.gap_records else -1,
        ahead=ahead,
    )


def _look(request: TakeoverRequest, producer_id: int) -> Steps[_Seen]:
    """Everything about the log while its end stands still.

    The gap records are read after the end was: whatever was sent past a gap has its gap record in them.
    """
    for _ in range(LOOKS):
        end: LogEnd = yield ReadEnd()
        if end.high_watermark < end.end:
            yield Pause("the end of the target log is not replicated yet")
            continue
        gap_records = (yield ReadGapRecords(request.lane)).of(request.lane, producer_id)
        entry = yield DescribeProducer(producer_id)
        tail, doubt = yield from _last_record(producer_id, end)
        if (yield ReadEnd()).end == end.end:
            return _Seen(end, gap_records, entry, tail, doubt)
    raise OwnershipEnded(request.lane, Ending.UNSETTLED)


def _last_record(producer_id: int, end: LogEnd) -> Steps[tuple[TailBatch | None, str]]:
    """The last batch that is no marker, and what is wrong with what lies there."""
    below = end.end
    for _ in range(WALK):
        batch: TailBatch | None = yield ReadTail(below)
        if batch is None:
            return None, ""
        if batch.last_offset + 1 != below:
            return None, f"the target log has no record at {below - 1:,}"
        if not batch.is_control:
            if batch.producer_id != producer_id:
                return None, f"another writer appended at target offset {batch.base_offset:,}"
            return batch, ""
        below = batch.base_offset
    return None, f"the target log has more than {WALK:,} markers after offset {below - 1:,}"


def _padded(fixed: Claim, seen: _Seen) -> tuple[int, int] | str:
    """The sequence at which padding goes on: all of it has its offset as its sequence."""
    position = seen.end.end
    if seen.tail is not None and seen.tail.last_offset + 1 != position:
        return f"another writer appended at target offset {seen.tail.last_offset + 1:,}"
    if seen.tail is not None and seen.tail.base_sequence != sequence_of(seen.tail.base_offset):
        return (
            f"target offset {seen.tail.base_offset:,} holds sequence {seen.tail.base_sequence:,}: the lane is shifted"
        )
    if seen.tail is None and position:
        return f"the target log was written up to {position:,} by others, short of the lane's start {fixed.start:,}"
    return _expected(seen, sequence_of(position)) or (sequence_of(position), -1)


def _told(fixed: Claim, seen: _Seen) -> tuple[int, int] | str:
    """The sequence of the next record, and where a gap record leads it; or what does not fit.

    The last record must lie where the gap records put it, the broker must remember it as the last, and the log must end
    behind it, or between there and where the next gap record leads.
    """
    start, position = fixed.start, seen.end.end
    tail = seen.tail if seen.tail is not None and seen.tail.last_offset >= start else None
    if tail is not None:
        if _shift(fixed, seen.gap_records, tail.base_sequence, tail.base_offset):
            return f"target offset {tail.base_offset:,} holds sequence {tail.base_sequence:,}: the lane is shifted"
        sequence = advance(tail.base_sequence, tail.length)
        if seen.entry is None:
            return "the target has forgotten the lane's producer id"
    elif seen.entry is not None and seen.entry.last_sequence >= 0:
        sequence = advance(seen.entry.last_sequence, 1)
    elif seen.end.start <= start:
        sequence = sequence_of(start)
    else:
        return "the target has forgotten the lane's producer id"
    if doubt := _expected(seen, sequence):
        return doubt
    # Where the log was truncated, gap records past the next one are void until the lane comes there again.
    following = next(
        (at for at, gap_record in enumerate(seen.gap_records) if gap_record.spans[0].source >= position),
        len(seen.gap_records),
    )
    told = position - _shift(fixed, seen.gap_records[:following], sequence, position)
    ahead = -1
    if following < len(seen.gap_records) and seen.gap_records[following].sequence == sequence:
        ahead = seen.gap_records[following].spans[0].source
    if position > max(told, ahead):
        # What lies behind the last record are markers; a coordinator writes one again where it does not hear of the
        # first, as when the leader moves meanwhile.
        return f"the target log ends at {position:,}, the lane at {max(told, ahead):,}: a marker too many lies there"
    if position < told:
        return f"the target log ends at {position:,}, the lane at {told:,}: another writer appended"
    return sequence, ahead


def _expected(seen: _Seen, sequence: int) -> str:
    """What is wrong with what the broker remembers, if the next sequence is to be this one."""
    entry, before = seen.entry, advance(sequence, -1)
    if entry is None or (entry.epoch == 0 and entry.last_sequence == before):
        return ""
    return f"the target remembers sequence {entry.last_sequence:,} of epoch {entry.epoch}, not {before:,}"


def _shift(fixed: Claim, gap_records: Sequence[GapRecord], sequence: int, offset: int) -> int:
    """How far past its source offset a record of this sequence lies if it lies at ``offset``; 0 where it belongs."""
    begun, source = sequence_of(fixed.start), fixed.start
    for gap_record in gap_records:
        if gap_record.spans[0].source > offset:
            break
        begun, source = gap_record.sequence, gap_record.spans[0].source
    return offset - unwrap((source + sequence - begun) % MODULUS, offset)
