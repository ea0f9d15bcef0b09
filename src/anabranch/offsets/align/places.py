"""Contents held against each other place by place, where both logs are a known distance apart.

A place is a target offset; the source's record belongs to the place at its offset plus the distance.  A cell is one
island, by a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

NO_ANCHOR = -1


class Side(IntEnum):
    """Whose row it is; an anchor's row says that the pair at this place is one."""

    SOURCE = 0
    TARGET = 1
    ANCHOR = 2


class Strip(NamedTuple):
    """Places ``first`` to ``last`` of a cell: all equal and without a gap (``good``), or all not equal.

    ``anchor`` and ``last_anchor`` are the first and last anchor's place among good ones, -1 for none.  Of the others
    ``differing`` hold two contents, ``sources`` only the source's, ``targets`` only the target's.
    """

    first: int
    last: int
    good: bool
    anchor: int = NO_ANCHOR
    last_anchor: int = NO_ANCHOR
    differing: int = 0
    sources: int = 0
    targets: int = 0


def fold_places(
    cells: Longs, places: Longs, sides: Longs, firsts: Longs, seconds: Longs
) -> Iterator[tuple[int, Strip]]:
    """The strips of rows that are sorted by cell, place and side, as (cell, strip)."""
    import numpy as np

    count = len(cells)
    if not count:
        return
    new = np.ones(count, dtype=bool)
    new[1:] = (cells[1:] != cells[:-1]) | (places[1:] != places[:-1])
    at = np.flatnonzero(new)
    has = [np.logical_or.reduceat(sides == side, at) for side in Side]
    other = np.minimum(at + 1, count - 1)
    same = (firsts[at] == firsts[other]) & (seconds[at] == seconds[other])
    both = has[Side.SOURCE] & has[Side.TARGET]
    # An anchor was seen on both sides before: a row that a log has lost since does not unmake it.
    good = has[Side.ANCHOR] | (both & same)
    cell, place = cells[at], places[at]
    edge = np.ones(len(at), dtype=bool)
    edge[1:] = (cell[1:] != cell[:-1]) | (good[1:] != good[:-1]) | (good[1:] & (place[1:] != place[:-1] + 1))
    first = np.flatnonzero(edge)
    last = np.append(first[1:], len(at)) - 1
    far = np.iinfo(np.int64).max
    anchor = np.minimum.reduceat(np.where(has[Side.ANCHOR], place, far), first)
    last_anchor = np.maximum.reduceat(np.where(has[Side.ANCHOR], place, NO_ANCHOR), first)
    apart = [
        np.add.reduceat((kind & ~good).astype(np.int64), first)
        for kind in (both, has[Side.SOURCE] & ~both, has[Side.TARGET] & ~both)
    ]
    anchor = np.where(anchor == far, NO_ANCHOR, anchor)
    columns = (cell[first], place[first], place[last], good[first], anchor, last_anchor, *apart)
    for number, *rest in zip(*(column.tolist() for column in columns), strict=True):
        yield number, Strip(*rest)


def join_strips(pieces: Iterable[Strip]) -> list[Strip]:
    """Strips of one cell, in order, with neighbours that are one made one."""
    found: list[Strip] = []
    for one in pieces:
        last = found[-1] if found else None
        if last is None or last.good != one.good or (one.good and one.first != last.last + 1):
            found.append(one)
            continue
        found[-1] = Strip(
            last.first,
            one.last,
            one.good,
            one.anchor if last.anchor == NO_ANCHOR else last.anchor,
            last.last_anchor if one.last_anchor == NO_ANCHOR else one.last_anchor,
            last.differing + one.differing,
            last.sources + one.sources,
            last.targets + one.targets,
        )
    return found
