"""Strays by lane on their way into ``anabranch.verify.classify``, and what comes out: numbers and samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from anabranch.verify.classify import ComparedLane, ContentOffsets, classify, unresolved
from anabranch.verify.compaction import excused
from anabranch.verify.findings import NO_FIELDS, NOWHERE, FindingKind
from anabranch.verify.rows import Rows, rows

FOUND = "lane int, kind int, source bigint, target bigint, fields int, number bigint"
ASKED = "lane int, target boolean, first bigint, second bigint"
MOST_ROWS = 2_000_000
"""Strays of one side of a lane that are named; beyond, they are counted as unnamed (about 1 GB in the task)."""
MOST_LOOKUPS = 5_000
"""Strays without a pair, of one side of a lane, whose contents are looked for in the whole of the other side."""
_FOUND = pa.schema(
    [
        ("lane", pa.int32()),
        ("kind", pa.int32()),
        ("source", pa.int64()),
        ("target", pa.int64()),
        ("fields", pa.int32()),
        ("number", pa.int64()),
    ]
)
_ASKED = pa.schema([("lane", pa.int32()), ("target", pa.bool_()), ("first", pa.int64()), ("second", pa.int64())])

Lookups = Mapping[int, tuple[ContentOffsets, ContentOffsets]]
"""By lane: where contents were found in the source, and in the target."""


def asked(strays: DataFrame) -> DataFrame:
    """The digests of strays without a pair; ``target`` tells whose they are."""
    return strays.groupBy("lane").applyInArrow(_ask, ASKED)


def _ask(table: pa.Table) -> pa.Table:
    lane = table.column("lane")[0].as_py()
    source, target, _ = _sides(table)
    lost, odd = unresolved(source, target, MOST_LOOKUPS)
    return pa.table(
        {
            "lane": pa.array([lane] * (len(lost) + len(odd)), pa.int32()),
            "target": pa.array([False] * len(lost) + [True] * len(odd), pa.bool_()),
            "first": pa.array([*lost[:, 0].tolist(), *odd[:, 0].tolist()], pa.int64()),
            "second": pa.array([*lost[:, 1].tolist(), *odd[:, 1].tolist()], pa.int64()),
        },
        schema=_ASKED,
    )


def classified(strays: DataFrame, lanes: Mapping[int, ComparedLane], lookups: Lookups, most: int) -> DataFrame:
    """At most ``most`` findings of each kind and lane; ``number`` is how many of the kind the lane has."""
    return strays.groupBy("lane").applyInArrow(_namer(dict(lanes), dict(lookups), most), FOUND)


def _namer(lanes: Mapping[int, ComparedLane], lookups: Lookups, most: int) -> Callable[[pa.Table], pa.Table]:
    def work(table: pa.Table) -> pa.Table:
        lane = table.column("lane")[0].as_py()
        source, target, beyond = _sides(table)
        found = classify(source, target, lanes[lane], *lookups.get(lane, ({}, {})))
        if beyond:
            found.append((FindingKind.UNNAMED, NOWHERE, NOWHERE, NO_FIELDS))
        numbers = Counter(kind for kind, *_ in found)
        numbers[FindingKind.UNNAMED] = beyond
        taken: Counter[FindingKind] = Counter()
        kept = []
        for kind, *rest in found:
            taken[kind] += 1
            if taken[kind] <= most:
                kept.append((lane, int(kind), *map(int, rest), numbers[kind]))
        columns = zip(*kept, strict=True) if kept else ([] for _ in _FOUND)
        return pa.Table.from_arrays(
            [pa.array(list(column), kind) for column, kind in zip(columns, _FOUND.types, strict=True)], schema=_FOUND
        )

    return work


def _sides(table: pa.Table) -> tuple[Rows, Rows, int]:
    """Both sides' rows, and how many were left out because there are too many."""
    import numpy as np

    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    is_target = columns["target"].astype(bool)
    most = max(int((~is_target).sum()), int(is_target.sum()))
    taken = np.ones(len(is_target), dtype=bool)
    if most > MOST_ROWS:
        limit = min(
            np.partition(columns["position"][side], MOST_ROWS)[MOST_ROWS]
            for side in (is_target, ~is_target)
            if side.sum() > MOST_ROWS
        )
        taken = columns["position"] < limit
    source, target = (_rows(columns, side & taken) for side in (~is_target, is_target))
    return source, target, int((~taken).sum())


def _rows(columns: Mapping[str, Any], which: Any) -> Rows:
    import numpy as np

    mine = {name: column[which] for name, column in columns.items()}
    at = np.where(mine["target"].astype(bool), mine["place"], mine["offset"]).astype(np.int64)
    may = excused(at, mine["keyed"].astype(bool), mine["newest_here"], mine["tombstone"]) | mine["untold"].astype(bool)
    return rows(
        mine["offset"],
        mine["place"],
        np.stack([mine["first"], mine["second"]], axis=1),
        np.stack([mine["key"], mine["value"], mine["headers"], mine["time"]], axis=1),
        may,
    )
