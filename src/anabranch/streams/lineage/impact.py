"""Who reads a column, and what breaks if it goes, over the lineage of many streams.

A stream whose query names a column cannot be analysed without it, whatever it makes of it.  Of the columns that it
makes of that column the same is asked then, table by table.

Invariants
    L9   the streams of an impact are the readers of the column and of each target column that the impact names.
    L10  impact is transitive: that of a column which an impact names is part of it.
    L11  a column that is named is one that an insert writes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from anabranch.streams.lineage.edges import Edge, InsertLineage, TableColumn
from anabranch.streams.lineage.values import LineageKind


@dataclass(frozen=True, slots=True)
class ColumnReader:
    """An INSERT of a stream whose query names a column.

    ``kinds`` are all that it is used for; none where the query names it and makes nothing of it.  ``columns`` are the
    target columns that it makes, or decides by a condition of their own; ``is_for_rows`` tells that it decides on rows.
    """

    stream: str
    target: str
    kinds: frozenset[LineageKind]
    columns: tuple[str, ...]
    is_for_rows: bool


@dataclass(frozen=True, slots=True)
class ColumnImpact:
    """What breaks without a column.

    ``streams`` cannot be analysed any more, or read a column that such a stream wrote; in the order of the way there.
    ``lost`` are columns whose values are made of it; ``changed`` those that it only decides on: by conditions, joins,
    grouping, order.  ``uncertain`` streams have parts that lineage does not understand: they may be in it needlessly,
    or have more columns in it.
    """

    column: TableColumn
    streams: tuple[str, ...]
    lost: frozenset[TableColumn]
    changed: frozenset[TableColumn]
    uncertain: tuple[str, ...] = ()

    @property
    def columns(self) -> frozenset[TableColumn]:
        """All target columns of it."""
        return self.lost | self.changed


@dataclass(frozen=True, slots=True)
class StreamsLineage:
    """The lineage of each INSERT of each stream by its name; names of tables and columns differ in more than case."""

    streams: Mapping[str, Sequence[InsertLineage]]

    def readers_of(self, column: TableColumn) -> tuple[ColumnReader, ...]:
        """The inserts whose queries name a column, by stream and target."""
        wanted = _key(column)
        found = []
        for stream, insert in self._inserts():
            if wanted not in {_key(one) for one in insert.reads}:
                continue
            edges = [one for one in insert.edges if _key(_source(one)) == wanted]
            columns = {one.target_column for one in edges if one.target_column is not None}
            kinds = frozenset(one.kind for one in edges)
            rows = any(one.target_column is None for one in edges)
            found.append(ColumnReader(stream, insert.target, kinds, tuple(sorted(columns)), rows))
        return tuple(sorted(found, key=lambda one: (one.stream, one.target)))

    def impact_of_dropping(self, column: TableColumn) -> ColumnImpact:
        """What breaks without a column, through all tables between."""
        streams: dict[str, None] = {}
        lost: dict[tuple[str, str], TableColumn] = {}
        changed: dict[tuple[str, str], TableColumn] = {}
        waiting, seen = deque([(column, True)]), {(_key(column), True)}
        while waiting:
            one, is_lost = waiting.popleft()
            for stream, insert in self._inserts():
                if _key(one) not in {_key(read) for read in insert.reads}:
                    continue
                streams.setdefault(stream)
                for target, is_direct in _targets(insert, one):
                    is_target_lost = is_lost and is_direct
                    (lost if is_target_lost else changed).setdefault(_key(target), target)
                    if (_key(target), is_target_lost) not in seen:
                        seen.add((_key(target), is_target_lost))
                        waiting.append((target, is_target_lost))
        incomplete = [name for name, inserts in self.streams.items() if not all(each.is_complete for each in inserts)]
        return ColumnImpact(
            column,
            tuple(streams),
            frozenset(lost.values()),
            frozenset(named for key, named in changed.items() if key not in lost),
            tuple(sorted(incomplete)),
        )

    def _inserts(self) -> Iterator[tuple[str, InsertLineage]]:
        for stream, inserts in self.streams.items():
            for insert in inserts:
                yield stream, insert


def _targets(insert: InsertLineage, column: TableColumn) -> Iterator[tuple[TableColumn, bool]]:
    """The target columns that a column makes (True), or decides on."""
    for edge in insert.edges:
        if _key(_source(edge)) != _key(column):
            continue
        names = insert.columns if edge.target_column is None else (edge.target_column,)
        for name in names:
            yield TableColumn(insert.target, name), edge.kind.is_direct


def _source(edge: Edge) -> TableColumn:
    return TableColumn(edge.source_table, edge.source_column)


def _key(column: TableColumn) -> tuple[str, str]:
    return column.table.lower(), column.column.lower()
