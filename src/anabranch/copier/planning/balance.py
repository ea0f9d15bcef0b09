"""Spreading lanes over tasks by the bytes that they have to copy."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)

SLACK = 1.25
SPARE = float(64 << 20)
"""Bytes that a slot may have above the mean without losing a lane: less than what moving lanes would hold up."""


def balance(weights: Mapping[K, float], slots: int, before: Mapping[K, int] | None = None) -> list[list[K]]:
    """Put every key into one of ``slots`` lists so that their sums are about equal; some lists may be empty.

    Heaviest first into the lightest list (the longest is then at most 4/3 of the best possible).  A key goes
    back to the slot that ``before`` names while that keeps the slot within a quarter above the mean, or less than
    ``SPARE`` above it with about its share of keys: a lane that stays with its worker keeps its claim and its
    connection, and lanes that only follow do not wander with what arrives just then.

    Invariant: the lists are disjoint and together hold each key once; equal input gives equal output.
    """
    if slots < 1:
        raise ValueError(f"{slots} slots")
    before = before or {}
    mean = sum(weights.values()) / slots
    share = len(weights) / slots * SLACK + 1
    loads = [0.0] * slots
    lists: list[list[K]] = [[] for _ in range(slots)]
    order: Sequence[K] = sorted(weights, key=lambda key: (-weights[key], str(key)))
    for key in order:
        weight = weights[key]
        slot = before.get(key, -1)
        stays = 0 <= slot < slots and (
            loads[slot] + weight <= mean * SLACK
            or (loads[slot] + weight <= mean + SPARE and len(lists[slot]) + 1 <= share)
        )
        if not stays:
            slot = min(range(slots), key=lambda at: (loads[at], len(lists[at]), at))
        loads[slot] += weight
        lists[slot].append(key)
    return lists
