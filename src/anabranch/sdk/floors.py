"""How far an application has read in each partition: a message that lies beyond that is of no earlier cluster.

An application may keep messages of clusters that its consumer has left, and they say nothing of where they were read.
Where a message's offset says it, the message is given out as confluent-kafka's own; any other knows its cluster.
Partitions are by the names there; topics that are called otherwise are no matter of this.

Invariants
    M1  a message that was given out as it is on an earlier cluster lies below the floor of its partition: it was read
        before the client was asked how far it has read.  One that may have been read later is not given out as it is.
    M2  one that lies below the floor is never given out as it is.
    M3  ``open`` are partitions of which such a one may come, or of which it is not known where they begin.

Where a log begins anew under a consumer (its topic was made again), and it had read further in the former log than
where it stands as it leaves, M1 holds for what it has read since, and for what it was last asked of while it did.
"""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.sdk.names import Place

_ASKED_AFTER = (1_000, 10_000, 100_000)
"""After so many messages partitions of which none has come are asked about."""


class Floors:
    """Of one consumer, on all clusters where it has been; called under its lock."""

    def __init__(self) -> None:
        self._least: dict[Place, int] = {}
        self._reached: dict[Place, int] = {}
        self._seen = 0
        self.open: set[Place] = set()

    def read_to(self, place: Place, position: int) -> None:
        """It has read what lies before this, where it is; below 0 it has read nothing."""
        if position > self._reached.get(place, -1):
            self._reached[place] = position

    def leave(self) -> None:
        """It goes over to another cluster."""
        for place, position in self._reached.items():
            self._least[place] = max(position, self._least.get(place, 0))
        self._reached.clear()
        self.open.clear()

    def begin(self, place: Place, at: int | None) -> None:
        """It reads this partition from an offset on, or from where nobody knows."""
        self._seen = 0
        if at is None or not self.is_beyond(place, at):
            self.open.add(place)
        else:
            self.open.discard(place)

    def end(self, places: Iterable[Place]) -> None:
        """It reads these no more."""
        self.open.difference_update(places)

    def saw(self, place: Place, offset: int) -> bool:
        """Whether a message that has come is given out as it is."""
        self._seen += 1
        found = self.is_beyond(place, offset)
        if found:
            self.open.discard(place)
        return found

    @property
    def is_due(self) -> bool:
        """Whether it is to be asked now where the open partitions begin of which nothing has come."""
        return self._seen in _ASKED_AFTER and bool(self.open)

    def is_beyond(self, place: Place, offset: int | None) -> bool:
        """Whether a message that knows no cluster is of the one where the consumer is now."""
        floor = self._least.get(place)
        return floor is None or (offset is not None and offset >= floor)
