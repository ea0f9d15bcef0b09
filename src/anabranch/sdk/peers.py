"""Producers and consumers of this process whose transactions belong together: they pause in step.

A transaction that commits offsets of a consumer holds records that this consumer has delivered.  So its producer may
begin one as long as the consumer reads, and is ready only when the consumer has paused.

Invariants
    X1  offsets that a transaction commits are of the cluster where it was begun, and of messages that the consumer has
        delivered there; any other is refused, and the application aborts.  So is the first transaction after a switch
        before which the consumer had delivered what was in none: the new cluster gives these messages again.
    X2  a consumer goes on reading, though it is asked to pause, while a transaction is open that is to hold what it has
        delivered since the last one ended; where it has paused, nothing of a transaction that is open waits for it.
    X3  a producer waits for consumers on its own cluster alone: one on another cluster is moved by itself.
"""

from __future__ import annotations

import weakref
from typing import Any, Protocol


class ReadingConsumer(Protocol):
    """A consumer."""

    def is_reading(self, cluster: str) -> bool:
        """Whether it is on this cluster, and has still to pause for a switch, of which it may not have heard yet."""

    def gave(self, metadata: object) -> bool:
        """Whether this group metadata is of this consumer."""

    def transaction_ended(self, committed: bool) -> None:
        """One that commits its offsets has."""


class WritingProducer(Protocol):
    """A producer."""

    def has_open(self, consumer: ReadingConsumer) -> bool:
        """Whether a transaction is open in which it commits offsets of this consumer, as far as it is known."""

    def may_have_open(self, consumer: ReadingConsumer) -> bool:
        """The same, or it has committed no consumer's offsets yet."""


_CONSUMERS: weakref.WeakSet[Any] = weakref.WeakSet()
_PRODUCERS: weakref.WeakSet[Any] = weakref.WeakSet()


def join(consumer: ReadingConsumer) -> None:
    """A consumer has begun; it is held weakly."""
    _CONSUMERS.add(consumer)


def join_producer(producer: WritingProducer) -> None:
    """A producer has begun; it is held weakly."""
    _PRODUCERS.add(producer)


def consumer_of(metadata: object) -> Any:
    """The consumer that has given this group metadata, or None."""
    return next((one for one in list(_CONSUMERS) if one.gave(metadata)), None)


def have_open(consumer: ReadingConsumer) -> bool:
    """Whether a transaction is open that commits offsets of a consumer (X2)."""
    return any(one.has_open(consumer) for one in list(_PRODUCERS))


def may_have_open(consumer: ReadingConsumer) -> bool:
    """Whether a transaction is open that may commit offsets of a consumer."""
    return any(one.may_have_open(consumer) for one in list(_PRODUCERS))


class Linked:
    """The consumers of which a producer has committed offsets."""

    def __init__(self) -> None:
        self._consumers: weakref.WeakSet[Any] = weakref.WeakSet()

    def __bool__(self) -> bool:
        return bool(self._consumers)

    def add(self, consumer: Any) -> None:
        """One more."""
        if consumer is not None:
            self._consumers.add(consumer)

    def has(self, consumer: ReadingConsumer) -> bool:
        """Whether it is one of them."""
        return consumer in self._consumers

    def is_reading(self, cluster: str) -> bool:
        """Whether one of them that is on this cluster has still to pause (X3)."""
        return any(one.is_reading(cluster) for one in list(self._consumers))

    def ended(self, committed: bool) -> None:
        """A transaction has."""
        for one in list(self._consumers):
            one.transaction_ended(committed)
