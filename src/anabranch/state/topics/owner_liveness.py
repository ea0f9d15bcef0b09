"""When the owner of a lane was last heard of, as far as its progress tells.

A lane that stands still is persisted now and then only, so an owner is alive while it persists any lane; but not for
ever of one that it persists no more: it may have left that one.
"""

from __future__ import annotations

from collections.abc import Callable

from anabranch.model.clock import monotonic
from anabranch.model.lane import LaneKey

LANE_TIMEOUT_S = 30.0
_MANY = 1000


class OwnerLiveness:
    """Who persisted each lane last, and when that owner persisted anything; times are of this process' monotonic
    clock.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lanes: dict[LaneKey, tuple[str, float]] = {}
        self._owners: dict[str, float] = {}

    def note(self, lane: LaneKey, owner: str, at: float) -> None:
        """The owner persisted this lane at that time."""
        self._lanes[lane] = (owner, at)
        self._owners[owner] = max(at, self._owners.get(owner, at))
        if len(self._owners) > _MANY:
            patient = self._clock() - LANE_TIMEOUT_S
            self._owners = {one: when for one, when in self._owners.items() if when > patient}

    def forget(self, lane: LaneKey) -> None:
        """The lane is persisted no more."""
        self._lanes.pop(lane, None)

    def get(self, lane: LaneKey) -> tuple[str, float] | None:
        """Which owner persisted a lane last, and when it was last heard of; None of a lane that was never persisted."""
        found = self._lanes.get(lane)
        if found is None or self._clock() - found[1] > LANE_TIMEOUT_S:
            return found
        return found[0], self._owners.get(*found)
