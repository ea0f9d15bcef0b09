"""Histories of a target partition that were given up: who may still have a request under way into it."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.lanes.claims import ClaimLog, ClaimState
from anabranch.lanes.effects import Kill, LogEnd, ReadEnd, Steps
from anabranch.lanes.endings import refusal
from anabranch.model.lane import LaneAssignment, LaneKey, LaneProgress


def shut_out_histories(
    assignment: LaneAssignment, position: int, claims: ClaimLog, filed: Mapping[LaneKey, LaneProgress]
) -> Steps[None]:
    """Before a lane's first claim, shut out who wrote its target partition in a history that was given up.

    Those are lanes of an earlier generation, or of a source topic that was made again since: a request of theirs
    that is still under way must not be appended among the new records.  ``claims`` and ``filed`` are read on while
    this waits for a broker; an earlier history's lane was filed before this lane was planned, so that those known
    at the beginning are all.  Raises LaneStopped or TenureEnded where a kill is refused.
    """
    if claims.claims(str(assignment.lane)):
        return
    end: LogEnd = yield ReadEnd()
    if end.end == 0:
        return  # a new topic: a marker would cost it its first offset, and with that identity
    lane = assignment.lane
    earlier = [
        key
        for key, progress in filed.items()
        if key.link == lane.link and key != lane and progress.target == assignment.target
    ]
    for key in earlier:
        for placed in claims.claims(str(key)):
            if placed.claim.state is ClaimState.CLAIMED:
                code: int = yield Kill(placed.claim.producer_id, placed.claim.transactional_id)
                if code:
                    raise refusal(str(lane), code, position, f"shutting out {placed.claim.producer_id}")
