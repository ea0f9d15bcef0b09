"""Fetch sessions as a broker keeps them (KIP-227): what is read, and what was answered last.

Source: ``FetchSession.scala`` in Apache Kafka.
"""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field
from typing import NamedTuple

ID_NOT_FOUND, INVALID_EPOCH, TOPIC_ID_ERROR = 70, 71, 106
Key = tuple[str | uuid.UUID, int]


class FetchPosition(NamedTuple):
    """The parameters with which one partition is read."""

    leader_epoch: int
    offset: int
    last_epoch: int
    max_bytes: int


@dataclass(slots=True)
class CachedPartition:
    """A partition of a session; the offsets are those of the last answer, -1 before the first answer."""

    wanted: FetchPosition
    high_watermark: int = -1
    log_start: int = -1


@dataclass(slots=True)
class SimulatedFetchSession:
    """What one client reads; ``epoch`` is that of the next request."""

    id: int
    by_id: bool
    epoch: int = 1
    reads: dict[Key, CachedPartition] = field(default_factory=dict)


class FetchSessionCache:
    """The sessions that a broker keeps in memory."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.known: dict[int, SimulatedFetchSession] = {}

    def begin(self, by_id: bool, reads: dict[Key, CachedPartition]) -> SimulatedFetchSession:
        """A new one."""
        number = self._chance.randrange(1, 1 << 31)
        made = self.known[number] = SimulatedFetchSession(number, by_id, 1, reads)
        return made

    def find(self, number: int, epoch: int, by_id: bool) -> SimulatedFetchSession | int:
        """The session of an incremental request, or the code for which it is refused."""
        found = self.known.get(number)
        if found is None:
            return ID_NOT_FOUND
        if found.epoch != epoch:
            return INVALID_EPOCH
        if found.by_id != by_id:
            return TOPIC_ID_ERROR
        found.epoch = 1 if epoch == (1 << 31) - 1 else epoch + 1
        return found

    def end(self, number: int) -> None:
        """Forget one."""
        self.known.pop(number, None)
