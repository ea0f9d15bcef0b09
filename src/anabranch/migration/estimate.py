"""How long the copy of a wave takes: from sizes on disk, the rate of its writers, and the rate that is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anabranch.migration.inventory import TopicInventory

USUAL_RATE = 50_000_000
"""Bytes a second that are taken for what clusters and network give where no limit says less: a careful guess."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """About how long a copy takes until it has caught up.

    ``size`` are the bytes to copy, ``written`` the bytes a second that come meanwhile, ``rate`` those that are copied.
    ``seconds`` is None where sizes are not known, or the copy never catches up (``is_endless``).  ``assumed``: whether
    the rate is ``USUAL_RATE``, and not a limit of the migration.
    """

    size: int
    written: float
    rate: float
    seconds: float | None
    assumed: bool
    is_endless: bool


def estimate(topics: Sequence[TopicInventory], source_rate: int | None) -> Estimate:
    """The estimate of what is copied together."""
    rate = float(USUAL_RATE if source_rate is None else source_rate)
    sizes = [topic.size for topic in topics]
    size = sum(one for one in sizes if one is not None)
    written = sum(topic.bytes_a_second or 0.0 for topic in topics)
    is_endless = written >= rate
    seconds = None if is_endless or None in sizes else size / (rate - written)
    return Estimate(size, written, rate, seconds, source_rate is None, is_endless)
