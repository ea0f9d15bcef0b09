"""Alignment of two small logs in one process, the way the Spark job does it; and mirrors with their truth."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anabranch.offsets.align.gaps import Gap, Row, Settled, may_copy, settle
from anabranch.offsets.align.islands import Island, chain, fold_anchors, join_islands
from anabranch.offsets.align.lane import Aligned, Bounds, Cell, assemble, cells_of, walk
from anabranch.offsets.align.places import Side, Strip, fold_places, join_strips

Log = Mapping[int, str]
"""Contents by offset."""


@dataclass(frozen=True)
class Mirror:
    """Two logs, and for each target offset the source offset that it was copied from."""

    source: Log
    target: Log
    truth: Mapping[int, int]
    bounds: Bounds

    def kept(self) -> dict[int, int]:
        """Source offset to target offset of all copies that have only later records of the source behind them."""
        found: dict[int, int] = {}
        low: int | None = None
        for target in sorted(self.truth, reverse=True):
            source = self.truth[target]
            if low is None or source < low:
                found[source] = target
                low = source
        return found


def digest(content: str) -> tuple[int, int]:
    """Equal for equal contents only, in one process."""
    return hash(("a", content)), hash(("b", content))


def align(source: Log, target: Log, bounds: Bounds, cuts: random.Random | None = None) -> Aligned:
    """What the job makes of one lane; ``cuts`` has rows come in batches of any size."""
    here = Counter(source.values())
    where = {content: offset for offset, content in source.items() if here[content] == 1}
    last = {content: offset for offset, content in target.items()}
    there = Counter(target.values())
    anchors = sorted((last[content], where[content], there[content] == 1) for content in where if content in last)
    found = chain(join_islands(_islands(anchors, cuts)), headless=bounds.headless)
    cells = cells_of(bounds, found.kept)
    rows: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
    for at, cell in enumerate(cells):
        if cell.look:
            rows[at] = sorted(_rows(cell, source, target, anchors))
    strips = {at: join_strips(_strips(at, found_rows, cuts)) for at, found_rows in rows.items()}
    walked = walk(bounds, cells, strips)
    settled = [_settle(gap, source, target, where, bounds) for gap in walked.gaps]
    return assemble(bounds, walked, found, settled)


def _batches(count: int, cuts: random.Random | None) -> Iterator[slice]:
    at = 0
    while at < count:
        size = count if cuts is None else cuts.randint(1, 5)
        yield slice(at, at + size)
        at += size


def _islands(anchors: Sequence[tuple[int, int, bool]], cuts: random.Random | None) -> Iterator[Island]:
    columns = [np.array(column, dtype=np.int64) for column in zip(*anchors, strict=True)] if anchors else []
    for part in _batches(len(anchors), cuts):
        targets, sources, single = (column[part] for column in columns)
        yield from (one for _, one in fold_anchors(np.zeros(len(targets), np.int64), targets, sources, single))


def _rows(
    cell: Cell, source: Log, target: Log, anchors: Sequence[tuple[int, int, bool]]
) -> Iterator[tuple[int, int, int, int]]:
    shift = cell.target - cell.source
    for place in range(cell.target, cell.target + cell.length):
        if place - shift in source:
            yield place, Side.SOURCE, *digest(source[place - shift])
        if place in target:
            yield place, Side.TARGET, *digest(target[place])
    for at, offset, _ in anchors:
        if cell.target <= at < cell.target + cell.length and at - offset == shift:
            yield at, Side.ANCHOR, 0, 0


def _strips(at: int, rows: Sequence[tuple[int, int, int, int]], cuts: random.Random | None) -> Iterator[Strip]:
    places: list[list[tuple[int, int, int, int]]] = []
    for row in rows:
        if places and places[-1][0][0] == row[0]:
            places[-1].append(row)
        else:
            places.append([row])
    for part in _batches(len(places), cuts):
        whole = [row for place in places[part] for row in place]
        columns = [np.array(column, dtype=np.int64) for column in zip(*whole, strict=True)]
        yield from (one for _, one in fold_places(np.full(len(whole), at), *columns))


def _settle(gap: Gap, source: Log, target: Log, where: Mapping[str, int], bounds: Bounds) -> Settled:
    ours = [
        Row(offset, digest(content))
        for offset, content in sorted(source.items())
        if gap.source_from <= offset < gap.source_to
    ]
    inside = [one for one in sorted(target.items()) if gap.target_from <= one[0] < gap.target_to]
    befores, comings = [], []
    before, coming = gap.source_from - 1, gap.source_to
    for _, content in inside:
        befores.append(before)
        before = where.get(content, before)
    for _, content in reversed(inside):
        comings.append(coming)
        coming = where.get(content, coming)
    theirs = [
        Row(offset, digest(content))
        for (offset, content), before, coming in zip(inside, befores, reversed(comings), strict=True)
        if content not in where and may_copy(gap, before, coming)
    ]
    return settle(gap, ours, theirs, headless=bounds.headless)
