"""Counting what was copied while lanes come and go."""

from __future__ import annotations

from anabranch.copier.lane.lane import Lane


class LeaseCounts:
    """Records and bytes copied in the lanes that are counted, since they were last asked for.

    A lane's tally goes back to its first owner; what it held when it was added does not count.
    """

    def __init__(self) -> None:
        self._seen: dict[Lane, tuple[int, int]] = {}
        self._left = (0, 0)

    def add(self, lane: Lane) -> None:
        """Count a lane from now on."""
        self._seen[lane] = (lane.copied.tally.records, lane.copied.tally.bytes)

    def remove(self, lane: Lane) -> None:
        """Count no more of a lane; what it copied up to now is still told once."""
        self._left = self._plus(self._left, lane)
        del self._seen[lane]

    def take(self) -> tuple[int, int]:
        """Records and bytes since the last time."""
        total, self._left = self._left, (0, 0)
        for lane in list(self._seen):
            total = self._plus(total, lane)
            self.add(lane)
        return total

    def _plus(self, total: tuple[int, int], lane: Lane) -> tuple[int, int]:
        records, size = self._seen[lane]
        return total[0] + lane.copied.tally.records - records, total[1] + lane.copied.tally.bytes - size
