"""Taking over an identity lane: target offset = source offset, one producer id shared by all owners.

Nothing is fenced and nothing needs to be: under a strong guard the broker takes a batch only at its own
sequence, which is its own offset, and all owners hold the same bytes.  So two owners, lost answers, restarts
and truncation all converge on the same log.  Raising the epoch would break that.  Where the guard is not
strong, or the log shows that somebody else wrote, the lane becomes mapped, for good.
"""

from __future__ import annotations

from anabranch.lanes.claims import ClaimLog, Mode
from anabranch.lanes.effects import DescribeProducer, LogEnd, Pause, ReadEnd, ReadTail, Steps, TailBatch
from anabranch.lanes.endings import Ending, TenureEnded
from anabranch.lanes.guard import Strong, guard
from anabranch.lanes.mapped import claim_lane
from anabranch.lanes.tenure import Bid, Tenure
from anabranch.records.sequence import sequence_of

LOOKS = 50


def take_identity(bid: Bid, end: LogEnd, log: ClaimLog) -> Steps[Tenure | str]:
    """Take the lane over as identity; return the reason instead where it must become mapped.

    Raises TenureEnded where the end of the log does not come to rest.
    """
    if log.fixed(bid.lane) is None:
        log = (yield from claim_lane(bid, Mode.IDENTITY, end, log)).log
        if log.mode(bid.lane) is Mode.MAPPED:
            return "another owner has made the lane mapped"
    fixed = log.fixed(bid.lane)
    assert fixed is not None
    placed = log.get(bid.lane, fixed.producer_id)
    assert placed is not None
    start = log.start(bid.lane, bid.start)
    if (floor := log.floor(bid.lane, end.end)) > start:
        return f"the target log ended at {floor} before the lane's first claim, past its start {start}"
    for _ in range(LOOKS):
        end = yield ReadEnd()
        if end.high_watermark < end.end:
            yield Pause("the end of the target log is not replicated yet")
            continue
        entry = yield DescribeProducer(fixed.producer_id)
        tail = yield ReadTail(end.end)
        if (yield ReadEnd()).end == end.end:
            break
    else:
        raise TenureEnded(bid.lane, Ending.UNSETTLED)
    position: int = end.end
    if position < start:
        return f"the lane starts at source offset {start}, the target log ends at {position}"
    if tail is not None and (doubt := _doubt(tail, fixed.producer_id, position)):
        return doubt
    if entry is not None and (entry.epoch != 0 or entry.last_sequence != sequence_of(position - 1)):
        return f"the target remembers sequence {entry.last_sequence} of epoch {entry.epoch}, not offset {position - 1}"
    if tail is not None and entry is None:
        return "the target has forgotten the lane's producer id"
    strength = guard(bid.guard_ms, bid.now_ms, [] if tail is None else [tail.max_timestamp])
    if not isinstance(strength, Strong):
        return strength.reason
    return Tenure(
        lane=bid.lane,
        mode=Mode.IDENTITY,
        claim=fixed,
        claim_offset=placed.offset,
        leader_epoch=bid.leader_epoch,
        expiration_ms=bid.guard_ms,
        position=position,
        sequence=sequence_of(position),
        tail_end=position,
        target_end=position,
        last_timestamp=None if tail is None else tail.max_timestamp,
        settled=frozenset(),
        why=strength.reason,
    )


def _doubt(tail: TailBatch, producer_id: int, end: int) -> str:
    if tail.last_offset + 1 != end:
        return f"the target log has no record at {end - 1}"
    if tail.is_control or tail.producer_id != producer_id:
        return f"another writer appended at target offset {tail.base_offset}"
    if tail.base_sequence != sequence_of(tail.base_offset):
        return f"target offset {tail.base_offset} holds sequence {tail.base_sequence}: the lane is shifted"
    return ""
