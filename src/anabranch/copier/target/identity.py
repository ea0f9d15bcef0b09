"""Whether an identity lane may send its next batch as one, asked before each."""

from __future__ import annotations

from anabranch.copier.lane.active import ActiveOwnership
from anabranch.copier.lane.fetched import FetchedBatch
from anabranch.copier.lane.lane import Lane
from anabranch.model.clock import now_ms
from anabranch.protocol.endings import Ending, OwnershipEnded
from anabranch.protocol.guard import Weak, guard


def keep_identity(lane: Lane, active: ActiveOwnership, batch: FetchedBatch) -> None:
    """An identity lane turns mapped before a batch that its guard or a gap would not hold, never after.

    Raises OwnershipEnded with the reason why.
    """
    ownership = active.ownership
    source = batch.spans[0].source
    if lane.sent_to == ownership.position and ownership.ahead >= 0 and source != ownership.ahead:
        found = f"an earlier owner found source offset {ownership.ahead:,} next, now it is {source:,}"
        why = f"{found}: the source log changes"
    elif len(batch.spans) > 1:
        why = f"the source log is compacted: it has gaps after offset {batch.spans[0].end - 1:,}"
    else:
        timestamps = [*active.pipeline.timestamps(), batch.header.max_timestamp]
        strength = guard(ownership.expiration_ms, now_ms(), timestamps)
        if not isinstance(strength, Weak):
            return
        why = strength.reason
    raise OwnershipEnded(lane.key, Ending.NOT_IDENTITY, detail=why)
