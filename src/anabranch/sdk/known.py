"""Which offsets a client may name after a switch: those that the cluster where it is now has told it.

An offset given as a number does not say of which cluster it is.  On the first cluster every number is taken, as
without us; after a switch only one that was told there, in a message or in an answer.

Invariants
    K1  an offset is known that lies between the first that was delivered, or where the client began, and the one after
        the last, or was answered.
    K2  what is held does not grow with the records: delivered offsets are a range, and answers are the last so many.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from anabranch.sdk.names import Place

_TOLD = 64
"""Offsets of answers that are remembered for each partition."""


@dataclass(slots=True)
class _Partition:
    first: int = sys.maxsize
    next: int = -1
    told: OrderedDict[int, None] = field(default_factory=OrderedDict)


class KnownOffsets:
    """By topic and partition, on one cluster."""

    def __init__(self) -> None:
        self._partitions: defaultdict[Place, _Partition] = defaultdict(_Partition)

    def delivered(self, place: Place, offset: int) -> None:
        """A record was given to the application."""
        one = self._partitions[place]
        if offset >= one.next:
            one.next = offset + 1
        one.first = min(one.first, offset)

    def began(self, place: Place, offset: int) -> None:
        """The client reads a partition from there on."""
        one = self._partitions[place]
        one.first, one.next = min(one.first, offset), max(one.next, offset)

    def reached(self, place: Place, position: int) -> None:
        """All before this position was delivered, from where it is known that the client began."""
        one = self._partitions.get(place)
        if one is not None and one.first <= position:
            one.next = max(one.next, position)

    def told(self, place: Place, offsets: Iterable[int]) -> None:
        """An answer held these; logical ones (below 0) stand for no record."""
        held = self._partitions[place].told
        for offset in offsets:
            if offset >= 0:
                held[offset] = None
                held.move_to_end(offset)
        while len(held) > _TOLD:
            held.popitem(last=False)

    def forget(self, topic: str) -> None:
        """All of a topic."""
        for place in [one for one in self._partitions if one[0] == topic]:
            del self._partitions[place]

    def is_known(self, place: Place, offset: int) -> bool:
        """Whether it was told here; logical offsets are each cluster's own."""
        if offset < 0:
            return True
        one = self._partitions.get(place)
        if one is None:
            return False
        return offset in one.told or one.first <= offset <= one.next
