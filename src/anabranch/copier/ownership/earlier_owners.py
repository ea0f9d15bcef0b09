"""Histories of a target partition that were given up: who may still have a request under way into it."""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.protocol.claims import ClaimLog, ClaimState
from anabranch.protocol.effects import LogEnd, ReadEnd, Steps
from anabranch.protocol.fences import fence


def fence_earlier_owners(
    assignment: LaneAssignment,
    position: int,
    claims: ClaimLog,
    persisted: Iterable[LaneKey],
    now_ms: int,
) -> Steps[None]:
    """Before a lane's first claim, fence who wrote its target partition in a history that was given up.

    Those are lanes of an earlier generation, or of a source topic that was made again since: a request of theirs
    that is still under way must not be appended among the new records.  ``persisted`` are the lanes that were ever
    persisted into this partition; an earlier history's was persisted before this lane was planned, so that those known
    at the beginning are all.  ``claims`` are read on while this waits for a broker.  Raises LaneStopped or
    OwnershipEnded where a fence is refused.
    """
    if claims.claims(str(assignment.lane)):
        return
    end: LogEnd = yield ReadEnd()
    if end.end == 0:
        return  # a new topic: a marker would cost it its first offset, and with that identity
    lane = assignment.lane
    earlier = [key for key in persisted if key.link == lane.link and key != lane]
    standing = [placed.claim for key in earlier for placed in claims.claims(str(key))]
    standing = [claim for claim in standing if claim.state is ClaimState.CLAIMED]
    yield from fence(str(lane), position, standing, now_ms)
