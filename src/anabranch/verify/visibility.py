"""Which offsets of a log both isolation levels show alike, concluded from what one of them showed.

A read-committed consumer sees some of the records that a read-uncommitted one sees, and at no offset another.  So where
it saw as many records as a range has offsets, both see the same there.  All else is undecided: control records, what
was aborted, what a cleaner took, what lies above the last stable offset.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from anabranch.verify.pins import Pin, chunk_of, chunks_pin, gather, holds
from anabranch.verify.sums import NOTHING, Sum

Part = tuple[int, Pin]
"""A lane's number and a part of its pin."""
MOST_RANGES = 8
"""Undecided ranges of a lane; more are joined, with what lies between them."""


def split(
    parts: Iterable[Part], committed: Mapping[int, Mapping[int, Sum]]
) -> tuple[list[Part], dict[int, dict[int, Sum]]]:
    """The parts of parts that are to be read uncommitted, and the sums of the chunks that need not be.

    ``committed`` are sums by lane and chunk of a read-committed scan of these very parts.
    """
    lanes: dict[int, list[Pin]] = {}
    for lane, part in parts:
        lanes.setdefault(lane, []).append(part)
    undecided: list[Part] = []
    decided: dict[int, dict[int, Sum]] = {}
    for lane, pins in lanes.items():
        seen = committed.get(lane, {})
        ranges = _undecided(pins, seen)
        if ranges is None:
            undecided += [(lane, one) for one in pins]
            continue
        undecided += [
            (lane, piece) for one in pins for first, last in ranges if (piece := chunks_pin(one, first, last)).offsets
        ]
        decided[lane] = {chunk: one for chunk, one in seen.items() if not holds(ranges, chunk)}
    return undecided, decided


def _undecided(pins: Sequence[Pin], seen: Mapping[int, Sum]) -> list[tuple[int, int]] | None:
    """Sorted ranges (first, last) of chunks; None where chunks do not tell which offsets were meant."""
    offsets: dict[int, int] = {}
    for pin in pins:
        if pin.source_from >= pin.source_to:
            return None  # foreign records only: they count to a chunk that is not this pin's
        for chunk in range(chunk_of(pin.source_from), chunk_of(pin.source_to - 1) + 1):
            piece = chunks_pin(pin, chunk, chunk)
            offsets[chunk] = offsets.get(chunk, 0) + piece.target_to - piece.target_from
    if not seen.keys() <= offsets.keys():
        return None
    return gather(
        sorted(chunk for chunk, number in offsets.items() if seen.get(chunk, NOTHING).records != number), MOST_RANGES
    )
