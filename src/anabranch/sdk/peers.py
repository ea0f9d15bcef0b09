"""Consumers of this process that a transaction's offsets belong to: producer and consumer pause in step.

A transaction that commits offsets of a consumer holds records that this consumer has delivered.  So its producer may
begin one as long as the consumer reads, and is ready only when the consumer has paused.
"""

from __future__ import annotations

import weakref
from typing import Any, Protocol


class ReadingConsumer(Protocol):
    """A consumer."""

    def is_reading(self) -> bool:
        """Whether it has still to pause for a switch, of which it may not have heard yet."""


_CONSUMERS: weakref.WeakSet[Any] = weakref.WeakSet()


def join(consumer: ReadingConsumer) -> None:
    """A consumer has begun; it is held weakly."""
    _CONSUMERS.add(consumer)


def consumer_of(metadata: object) -> Any:
    """The consumer that gave this group metadata last, or None."""
    return next((one for one in list(_CONSUMERS) if one.gave(metadata)), None)


class Linked:
    """The consumers of which a producer has committed offsets."""

    def __init__(self) -> None:
        self._consumers: weakref.WeakSet[Any] = weakref.WeakSet()

    def add(self, consumer: Any) -> None:
        """One more."""
        if consumer is not None:
            self._consumers.add(consumer)

    def is_reading(self) -> bool:
        """Whether one of them has still to pause."""
        return any(one.is_reading() for one in list(self._consumers))
