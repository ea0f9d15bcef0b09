"""The two moments of an ownership that touch the journal: taking a lane over, and giving it back.

Both are generators of effects (:mod:`anabranch.protocol.effects`), so that a worker and a model checker run the
same code.
"""

from __future__ import annotations

from dataclasses import replace

from anabranch.model.lane import LaneMode
from anabranch.protocol.claims import Claim, ClaimLog, ClaimState
from anabranch.protocol.effects import AppendClaim, LogEnd, ReadClaims, ReadEnd, Steps
from anabranch.protocol.endings import LaneStopped, OwnershipEnded, Stop, accepting, copied
from anabranch.protocol.identity import take_identity
from anabranch.protocol.mapped import take_mapped, to_held
from anabranch.protocol.ownership import Ownership, ReusableProducer, TakeoverRequest
from anabranch.protocol.pipeline import Pipeline


def takeover(request: TakeoverRequest) -> Steps[Ownership]:
    """Become the owner of a lane.

    The log's end is read before the journal: a claim's floor must be below whatever an owner wrote whose claim
    was not seen.  Raises OwnershipEnded (try again with a new connection) or LaneStopped.
    """
    end = yield ReadEnd()
    log = yield ReadClaims(request.lane)
    _refuse_forgotten(request, log, end)
    why = request.why
    made_mapped = log.mode(request.lane) is LaneMode.MAPPED
    if made_mapped:
        why = "an earlier owner made the lane mapped" if request.mode is LaneMode.IDENTITY else why
    elif request.mode is LaneMode.IDENTITY or _is_unfinished(log.fixed(request.lane), end):
        outcome = yield from take_identity(request, end, log)
        if isinstance(outcome, Ownership):
            return outcome
        why = outcome
        log = yield ReadClaims(request.lane)
        end = yield ReadEnd()
    _refuse_unfinished(request, log, end, why)
    first = log.mode(request.lane) is None
    try:
        ownership = yield from take_mapped(request, end, log, why)
    except OwnershipEnded as ended:
        if request.mode is LaneMode.IDENTITY and not made_mapped:
            ended.mapped_because = why
        raise
    if first:
        # An identity claim may have come in between, and an owner that pads.
        log = yield ReadClaims(request.lane)
        _refuse_unfinished(request, log, LogEnd(end.start, ownership.target_end, ownership.target_end), why)
    return ownership


def _refuse_forgotten(request: TakeoverRequest, log: ClaimLog, end: LogEnd) -> None:
    """A lane that was copied has claims: where none is left, its batches are nobody's and all would be copied again.

    Nor could anybody be fenced who wrote it before.
    """
    if log.mode(request.lane) is not None:
        return
    upto, offset = request.history, request.start
    if upto is not None:
        detail = f"it is persisted as copied up to source offset {upto:,}"
        offset = upto if request.persisted is None else request.persisted.source_end
    elif request.claims_deleted and request.begun_at < 0 and end.end > 0:
        detail = f"the first records of the claims' topic were deleted, and the target log ends at {end.end:,}"
    else:
        return
    raise LaneStopped(request.lane, Stop.CLAIMS_LOST, offset, detail=detail, fix=copied(request.lane))


def _is_unfinished(fixed: Claim | None, end: LogEnd) -> bool:
    """Whether the target log is still to be padded up to an identity lane's start."""
    return fixed is not None and fixed.pads and end.end < fixed.start


def _refuse_unfinished(request: TakeoverRequest, log: ClaimLog, end: LogEnd, why: str) -> None:
    """A lane whose padding cannot go on never becomes mapped: records would lie among the padding.

    So the records of a lane that was begun with padding lie at or past its start, whatever it became later.
    """
    fixed = log.fixed(request.lane)
    if fixed is None or not _is_unfinished(fixed, end):
        return
    raise LaneStopped(
        request.lane,
        Stop.DIVERGED,
        fixed.start,
        detail=f"the target log is padded up to {end.end:,} of {fixed.start:,}, and cannot go on: {why}",
        fix=f"delete the target topic, then copy it again: {accepting(request.lane)}",
    )


def release(ownership: Ownership, pipeline: Pipeline) -> Steps[ReusableProducer | None]:
    """Give the lane back after a clean ownership, so that the next owner need not fence this one.

    Returns what the process may claim again with later, or None: where a batch is in doubt nothing is released;
    where the journal's answer is unknown the release may land late, after a reclaim, and hide it; where a gap record
    was written for what was not sent the sequences behind it are taken.  The producer id is thrown away then.  An
    identity lane's id is shared and never released.
    """
    if ownership.mode is LaneMode.IDENTITY or not pipeline.clean:
        return None
    used_up = pipeline.gap_records_ahead
    offset = yield AppendClaim(replace(ownership.claim, state=ClaimState.RELEASED, end=pipeline.target_end))
    return None if offset is None or used_up else to_held(ownership)
