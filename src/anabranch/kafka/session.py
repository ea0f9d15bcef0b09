"""Fetch sessions: the broker remembers what is read; requests and responses carry only what has changed.

Pure: no socket.  ``next_request`` is what the next request carries; ``answered`` or ``lost`` is its outcome.

Invariants
    S1  at most one request of a session is under way, and every ``next_request`` is followed by ``answered`` or
        ``lost``.
    S2  while ``epoch`` is above 0, the broker holds exactly ``held``, in whatever order.  After anything else than a
        plain answer the session counts as unknown, and the next request carries all of it again.
    S3  a broker that grants no session (its cache is full, or it has none) is asked in full each time.

Source: KIP-227; ``FetchSessionHandler.java`` and ``FetchSession.java`` in Apache Kafka.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import NamedTuple

from anabranch.kafka.fetch import PartitionFetch

Key = tuple[str | uuid.UUID, int]
"""A partition as answers name it: by its topic's id, or its name where the broker takes none."""

LOST = frozenset({70, 71, 106})
"""FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR: ask in full, no more."""
UNKNOWN_ID = 70
FIRST, FINAL = 0, -1
_LAST_EPOCH = 2**31 - 1


class SessionRequest(NamedTuple):
    """What a request carries: all that is read where ``epoch`` is 0, else what is new or changed, and what is gone."""

    session: int
    epoch: int
    wanted: list[PartitionFetch]
    forgotten: list[PartitionFetch]


class FetchSession:
    """One session with one broker; it begins by itself, and again after a loss."""

    __slots__ = ("epoch", "held", "id")

    def __init__(self) -> None:
        self.id = 0
        self.epoch = FIRST
        self.held: Mapping[Key, PartitionFetch] = {}
        """What the last request read, partition by partition, whether or not it had to say so."""

    def next_request(self, wanted: Mapping[Key, PartitionFetch]) -> SessionRequest:
        """The next request, to read ``wanted`` and nothing else; the same mapping again costs nothing."""
        before, self.held = self.held, wanted
        if self.epoch == FIRST:
            return SessionRequest(self.id, FIRST, list(wanted.values()), [])
        if wanted is before:
            return SessionRequest(self.id, self.epoch, [], [])
        changed = [partition for key, partition in wanted.items() if before.get(key) != partition]
        forgotten = [partition for key, partition in before.items() if key not in wanted]
        return SessionRequest(self.id, self.epoch, changed, forgotten)

    def answered(self, code: int, session: int) -> bool:
        """Take notice of an answer's code and session; False where it was refused for the session's sake."""
        if code:
            self.lost()
            if code == UNKNOWN_ID:
                self.id = 0
            return code not in LOST
        if session == 0:  # none was granted, or it was closed
            self.id, self.epoch = 0, FIRST
        elif self.epoch == FIRST or session != self.id:
            self.id, self.epoch = session, 1
        else:
            self.epoch = 1 if self.epoch == _LAST_EPOCH else self.epoch + 1
        return True

    def lost(self) -> None:
        """It is not known whether the last request arrived: the next one replaces the session."""
        self.epoch = FIRST

    def close(self) -> SessionRequest | None:
        """A request that ends the session, so that its place in the broker's cache is free; None without one."""
        if self.id == 0:
            return None
        request = SessionRequest(self.id, FINAL, [], [])
        self.id, self.epoch, self.held = 0, FIRST, {}
        return request
