"""A client's time on one cluster, until it goes on to another one: what was said there counts there alone.

Invariants
    U3  a message, or a number, of before a change of cluster is never taken for an offset of the one after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.sdk.known import KnownOffsets
from anabranch.sdk.message import RoutedMessage
from anabranch.sdk.names import Names, Place, place_of


@dataclass(slots=True)
class Era:
    """``number`` counts them, from 1; before the first client there is none.

    ``started`` is where partitions begin in which nothing is committed, ``known`` the offsets that may be named, and
    ``committed`` what the cluster is known to have committed.  All are by the names there.
    """

    number: int = 0
    cluster: str = ""
    started: Mapping[Place, int] = field(default_factory=dict)
    known: KnownOffsets = field(default_factory=KnownOffsets)
    committed: dict[Place, int] = field(default_factory=dict)

    def wrapped(self, raw: Any, names: Names) -> RoutedMessage:
        """A message that was read in this era, by the application's name."""
        topic = raw.topic()
        if raw.error() is None:
            self.known.delivered((topic, raw.partition()), raw.offset())
        return RoutedMessage(raw, self.number, names.here.get(topic, topic))

    def raw_of(self, message: Any) -> Any:
        """The client's own message of one that was given out in this era, or None; only the first gives out its own."""
        if isinstance(message, RoutedMessage):
            return message.raw if message.era == self.number else None
        return message if self.number == 1 else None

    def takes(self, one: Any, names: Names) -> bool:
        """Whether a partition's number is an offset of this cluster; on the first one each is."""
        return self.number <= 1 or self.known.is_known(place_of(names.to(one)), one.offset)

    def noted(self, committed: list[Any] | None) -> None:
        """Remember what the cluster has committed."""
        for one in committed or ():
            if one.error is None and one.offset >= 0:
                self.committed[place_of(one)] = one.offset
