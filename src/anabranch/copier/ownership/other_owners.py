"""Whether a lane is left to somebody else who claimed it and is alive: of two runs of one link one copies.

That is courtesy, not safety: claims decide, whoever is heard of.
"""

from __future__ import annotations

import time

from anabranch.copier.lane.lane import Lane
from anabranch.model.clock import now_ms
from anabranch.protocol.claims import ClaimState
from anabranch.protocol.endings import Ending
from anabranch.state.topics.control import Progress
from anabranch.state.topics.journal import Journal

SILENCE_S = 6.0


def was_lost(lane: Lane) -> bool:
    """Whether somebody else took the lane from this worker."""
    return lane.ended is not None and lane.ended.reason in {Ending.FENCED, Ending.SUPERSEDED}


class OtherOwners:
    """What one worker, ``owner``, has read of others: their claims, and when they were last heard of."""

    def __init__(self, owner: str, journal: Journal, progress: Progress) -> None:
        self._owner = owner
        self._run = owner.partition("/")[0]
        self._journal = journal
        self._progress = progress

    def is_anothers(self, lane: Lane) -> bool:
        """Whether the lane is another's who persisted progress lately; the own run's lanes are ours to take at once,
        unless they were taken from us.  Nothing is persisted of such a lane: it would hide that its owner is alive."""
        claims = self._journal.claims.claims(lane.key)
        if not claims or claims[-1].claim.state is ClaimState.RELEASED:
            return False
        holder = claims[-1].claim.owner
        if holder == self._owner:
            return False
        if holder.partition("/")[0] == self._run and not was_lost(lane):
            return False
        if 0 <= now_ms() - claims[-1].claim.claimed_at_ms < SILENCE_S * 1000:
            return True  # who has claimed just now has had no time to persist
        heard = self._progress.liveness.get(lane.assignment.lane)
        if heard is None or heard[0] == self._owner:
            return False
        return time.monotonic() - heard[1] < SILENCE_S

    def report(self, lane: Lane) -> bool:
        """Whether others tell how far a lane came that is being taken over."""
        return was_lost(lane) or self.is_anothers(lane)
