"""The soak's mirrors without a cluster: many faults at once, at random places, each found and nothing else."""

from __future__ import annotations

import hashlib
import random

import pytest
from faulty import Logs
from hypothesis import given
from hypothesis import strategies as st

from anabranch.verify.findings import Finding
from qa.verify_lab import Fault, Message, messages, plant

pytestmark = pytest.mark.unit


class Contents:
    """A message as the classifier knows it: digests of all of it and of its parts."""

    def __init__(self, message: Message) -> None:
        parts = (message.key, message.value, message.headers, message.timestamp)
        self.digest = (_hash(parts), _hash((parts, 2)))
        self.parts = tuple(_hash(part) for part in parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Contents) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def _hash(value: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(value).encode()).digest()[:8], "big", signed=True)


@given(st.integers(0, 10**9), st.integers(0, 8))
def test_all_planted_faults_are_found_and_nothing_else(seed: int, count: int) -> None:
    """Up to eight faults that the map of an honest copier would tell of, and perhaps a tail that was cut off."""
    chance = random.Random(seed)
    told = [fault for fault in Fault if fault not in {Fault.UNTOLD_DROP, Fault.TAIL}]
    faults = [chance.choice(told) for _ in range(count)]
    if chance.random() < 0.3:
        faults.append(Fault.TAIL)
    mirror = plant(messages(200, chance), faults, chance, "lane")
    logs = Logs(
        {at: Contents(one) for at, one in enumerate(mirror.source)},  # type: ignore[misc]
        {at: Contents(one) for at, one in enumerate(mirror.target)},  # type: ignore[misc]
        mirror.ranges,
    )
    assert [Finding("lane", *one) for one in logs.named()] == list(mirror.expected)
