"""Under which leader epochs of the source a lane's records were read: what tells a truncation of the source.

A fetch names the epoch of the record before its offset; a source that has another history there answers with the
place up to which both agree (KIP-595).  So the epoch must be that of exactly this record: an older one would
call every later epoch a truncation.
"""

from __future__ import annotations

from bisect import bisect_left

from anabranch.protocol.reading import Reading

LONGEST = 64
UNKNOWN = -1


class EpochTrail:
    """The epochs of what was read last, in the order of offsets; it outlives ownerships.

    Invariants: ``_starts`` rises strictly in epoch and in offset; everything from its first offset to before
    ``_end`` was read, or is known to have been, under these epochs.
    """

    __slots__ = ("_end", "_starts")

    def __init__(self) -> None:
        self._starts: list[tuple[int, int]] = []  # (offset, epoch)
        self._end = 0

    def note(self, epoch: int, start: int, end: int) -> None:
        """The batch (or gap) of source offsets ``[start, end)`` was read under this epoch, behind the one before.

        Where it does not follow, or the source does not tell epochs, what was known is forgotten.
        """
        if epoch < 0 or start != self._end or (self._starts and self._starts[-1][1] > epoch):
            self._starts.clear()
        if epoch < 0:
            return
        if not self._starts or self._starts[-1][1] != epoch:
            self._starts.append((start, epoch))
            del self._starts[:-LONGEST]
        self._end = end

    def follow(self, fetch_offset: int, found: Reading) -> None:
        """An answer was read from this source offset on; epochs only rise, so mostly its two ends tell it all."""
        if found.fetch_offset == fetch_offset:
            return
        if not found.batches or found.batches[0].header.leader_epoch == found.epoch:
            self.note(found.epoch, fetch_offset, found.fetch_offset)
            return
        for batch in found.batches:
            self.note(batch.header.leader_epoch, fetch_offset, batch.end)
            fetch_offset = batch.end
        if fetch_offset < found.fetch_offset:
            self.note(found.epoch, fetch_offset, found.fetch_offset)

    def cut(self, offset: int) -> None:
        """Reading begins again at this source offset: what was read behind it does not count."""
        while self._starts and self._starts[-1][0] >= offset:
            self._starts.pop()
        self._end = min(self._end, offset)

    def forget(self) -> None:
        """Nothing is known of what was read: until the next batch the source is asked about no epoch."""
        self._starts.clear()

    def at(self, offset: int) -> int:
        """The epoch of the record before a source offset; ``UNKNOWN`` where that is not known."""
        if not self._starts or offset > self._end:
            return UNKNOWN
        index = bisect_left(self._starts, (offset, -1)) - 1
        return self._starts[index][1] if index >= 0 else UNKNOWN

    def agreed(self, epoch: int, end: int) -> int:
        """The first offset at which both histories differ, given the source's answer.

        The source has ``epoch``, or what it has of it, up to ``end``, and no later epoch that was asked about.  Where
        this lane read a later epoch from a lower offset on, the histories part there.
        """
        later = [start for start, mine in self._starts if mine > epoch]
        return min(end, *later) if later else end
