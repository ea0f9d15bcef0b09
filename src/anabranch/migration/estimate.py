"""How long the copy of waves takes: from sizes on disk, the rate of their writers, and the rate that is allowed.

Waves that are started at once share that rate by what each has to copy, as their links do, so that all of them have
caught up at about the same time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anabranch.migration.inventory import TopicInventory

USUAL_RATE = 50_000_000
"""Bytes a second that are taken for what clusters and network give where no limit says less: a careful guess."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """About how long a copy takes until it has caught up.

    ``size`` are the bytes to copy, ``written`` the bytes a second that come meanwhile, ``rate`` those that are copied
    while ``waves`` copy at once.  ``seconds`` is None where sizes are not known, or the copy never catches up
    (``is_endless``).  ``assumed``: whether the rate comes from ``USUAL_RATE``, and not from a limit of the migration.
    """

    size: int
    written: float
    rate: float
    seconds: float | None
    assumed: bool
    is_endless: bool
    waves: int = 1


def estimates(waves: Mapping[str, Sequence[TopicInventory]], source_rate: int | None) -> dict[str, Estimate]:
    """The estimate of each wave, by its name, where all of them are copied at once."""
    whole = float(USUAL_RATE if source_rate is None else source_rate)
    sizes = {name: sum(topic.size or 0 for topic in topics) for name, topics in waves.items()}
    written = {name: sum(topic.bytes_a_second or 0.0 for topic in topics) for name, topics in waves.items()}
    together, left = sum(sizes.values()), whole - sum(written.values())
    is_known = all(topic.size is not None for topics in waves.values() for topic in topics)
    found = {}
    for name, size in sizes.items():
        part = size / together if together else 1 / len(waves)
        rate = written[name] + left * part if left > 0 else whole / len(waves)
        seconds = together / left if left > 0 and is_known else None
        found[name] = Estimate(size, written[name], rate, seconds, source_rate is None, left <= 0, len(waves))
    return found
