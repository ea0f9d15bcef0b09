"""The two moments of a tenure that touch the journal: taking a lane over, and giving it back.

Both are generators of effects (:mod:`anabranch.protocol.effects`), so that a worker and a model checker run the
same code.
"""

from __future__ import annotations

from dataclasses import replace

from anabranch.model.lane import LaneMode
from anabranch.protocol.claims import Claim, ClaimLog, ClaimState
from anabranch.protocol.effects import AppendClaim, LogEnd, ReadClaims, ReadEnd, Steps
from anabranch.protocol.endings import LaneStopped, Stop, TenureEnded, accepting, copied
from anabranch.protocol.identity import take_identity
from anabranch.protocol.mapped import take_mapped, to_held
from anabranch.protocol.pipeline import Pipeline
from anabranch.protocol.tenure import Bid, Held, Tenure


def takeover(bid: Bid) -> Steps[Tenure]:
    """Become the owner of a lane.

    The log's end is read before the journal: a claim's floor must be below whatever an owner wrote whose claim
    was not seen.  Raises TenureEnded (try again with a new connection) or LaneStopped.
    """
    end = yield ReadEnd()
    log = yield ReadClaims(bid.lane)
    _refuse_forgotten(bid, log, end)
    why = bid.why
    made_mapped = log.mode(bid.lane) is LaneMode.MAPPED
    if made_mapped:
        why = "an earlier owner made the lane mapped" if bid.mode is LaneMode.IDENTITY else why
    elif bid.mode is LaneMode.IDENTITY or _is_unfinished(log.fixed(bid.lane), end):
        outcome = yield from take_identity(bid, end, log)
        if isinstance(outcome, Tenure):
            return outcome
        why = outcome
        log = yield ReadClaims(bid.lane)
        end = yield ReadEnd()
    _refuse_unfinished(bid, log, end, why)
    first = log.mode(bid.lane) is None
    try:
        tenure = yield from take_mapped(bid, end, log, why)
    except TenureEnded as ended:
        if bid.mode is LaneMode.IDENTITY and not made_mapped:
            ended.mapped_because = why
        raise
    if first:
        # An identity claim may have come in between, and an owner that pads.
        log = yield ReadClaims(bid.lane)
        _refuse_unfinished(bid, log, LogEnd(end.start, tenure.target_end, tenure.target_end), why)
    return tenure


def _refuse_forgotten(bid: Bid, log: ClaimLog, end: LogEnd) -> None:
    """A lane that was copied has claims: where none is left, its batches are nobody's and all would be copied again.

    Nor could anybody be shut out who wrote it before.
    """
    if log.mode(bid.lane) is not None:
        return
    upto, offset = bid.history, bid.start
    if upto is not None:
        detail = f"it is filed as copied up to source offset {upto:,}"
        offset = upto if bid.filed is None else bid.filed.source_end
    elif bid.claims_deleted and bid.begun_at < 0 and end.end > 0:
        detail = f"the first records of the claims' topic were deleted, and the target log ends at {end.end:,}"
    else:
        return
    raise LaneStopped(bid.lane, Stop.CLAIMS_LOST, offset, detail=detail, fix=copied(bid.lane))


def _is_unfinished(fixed: Claim | None, end: LogEnd) -> bool:
    """Whether the target log is still to be padded up to an identity lane's start."""
    return fixed is not None and fixed.pads and end.end < fixed.start


def _refuse_unfinished(bid: Bid, log: ClaimLog, end: LogEnd, why: str) -> None:
    """A lane whose padding cannot go on never becomes mapped: records would lie among the padding.

    So the records of a lane that was begun with padding lie at or past its start, whatever it became later.
    """
    fixed = log.fixed(bid.lane)
    if fixed is None or not _is_unfinished(fixed, end):
        return
    raise LaneStopped(
        bid.lane,
        Stop.DIVERGED,
        fixed.start,
        detail=f"the target log is padded up to {end.end:,} of {fixed.start:,}, and cannot go on: {why}",
        fix=f"delete the target topic, then copy it anew: {accepting(bid.lane)}",
    )


def release(tenure: Tenure, pipeline: Pipeline) -> Steps[Held | None]:
    """Give the lane back after a clean tenure, so that the next owner need not kill this one.

    Returns what the process may claim again with later, or None: where a batch is in doubt nothing is released;
    where the journal's answer is unknown the release may land late, after a reclaim, and hide it; where a jump was
    written for what was not sent the sequences behind it are taken.  The producer id is thrown away then.  An
    identity lane's id is shared and never released.
    """
    if tenure.mode is LaneMode.IDENTITY or not pipeline.clean:
        return None
    used_up = pipeline.jumps_ahead
    offset = yield AppendClaim(replace(tenure.claim, state=ClaimState.RELEASED, end=pipeline.target_end))
    return None if offset is None or used_up else to_held(tenure)
