"""Sequences of idempotent producers: offsets modulo 2^31.

Source: ``DefaultRecordBatch.incrementSequence`` in Apache Kafka: 2^31 - 1 is followed by 0.
"""

from __future__ import annotations

MODULUS = 1 << 31
_MASK = MODULUS - 1


def sequence_of(offset: int) -> int:
    """Return the sequence of the record at ``offset`` where a lane's sequences follow source offsets."""
    return offset & _MASK


def advance(sequence: int, n: int) -> int:
    """Return the sequence ``n`` records after ``sequence`` (before it, if ``n`` is negative)."""
    return (sequence + n) & _MASK


def unwrap(sequence: int, near: int) -> int:
    """Return the offset with this sequence that is nearest to ``near``.

    Precisely: the one offset ``o`` with ``sequence_of(o) == sequence`` and ``near - 2^30 < o <= near +
    2^30``.  Right whenever the true offset is known to lie within 2^30 records of ``near``; a result below 0
    means that no offset fits there, and ``near`` was wrong.
    """
    half = MODULUS >> 1
    return near + half - ((near + half - sequence) & _MASK)
