"""What the service answers about lineage: of a table that the one who asks may not see the name alone.

Invariant
    H2  no column of a table of the catalog is told to who has no privilege on that table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from anabranch.operations.catalog.desk import KnownCatalog
from anabranch.streams.artifacts.values import ArtifactPin
from anabranch.streams.catalog.names import CatalogNameError, object_name
from anabranch.streams.lineage.document import KAFKA, OWN, StoredLineage, VersionLineage
from anabranch.streams.lineage.edges import Edge, InsertLineage, TableColumn
from anabranch.streams.lineage.impact import ColumnImpact, ColumnReader, StreamsLineage
from anabranch.streams.lineage.values import LineageKind

MaySee = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class LineageEdge:
    """A source column makes a target column, or decides on rows where ``target_column`` is None.

    ``path`` leads to the field inside of the source column that is used.
    """

    source_table: str
    source_column: str
    path: tuple[str, ...]
    target_table: str
    target_column: str | None
    kind: LineageKind


@dataclass(frozen=True, slots=True)
class LineageInsert:
    """What one INSERT makes of what.  ``not_understood`` is what the edges may have too much for."""

    target: str
    columns: tuple[str, ...]
    sources: Mapping[str, tuple[str, ...]]
    edges: tuple[LineageEdge, ...]
    not_understood: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LineageFunction:
    """A function of the catalog that a version calls, and the version of the artifact that it is, as ``lib@2``."""

    function: str
    artifact: str


@dataclass(frozen=True, slots=True)
class StreamLineageAnswer:
    """The lineage of a version; ``hidden`` are tables of which no column is told to who asks.

    ``functions`` are those of the catalog that its artifacts bring.
    """

    stream: str
    version: int
    told_at_ms: int
    inserts: tuple[LineageInsert, ...]
    hidden: tuple[str, ...]
    functions: tuple[LineageFunction, ...]


@dataclass(frozen=True, slots=True)
class LineageReader:
    """An INSERT whose query names a column; ``kinds`` are none where it makes nothing of it."""

    stream: str
    target: str
    kinds: tuple[LineageKind, ...]
    columns: tuple[str, ...]
    is_for_rows: bool


@dataclass(frozen=True, slots=True)
class ColumnLineageAnswer:
    """Who reads a column, and what breaks without it, over all streams that have told their lineage.

    ``streams`` break, in the order of the way there; ``lost`` columns are made of it, ``changed`` ones are decided by
    it; ``uncertain`` streams have parts that are not understood.  ``unknown`` are streams that have told nothing yet.
    """

    column: str
    readers: tuple[LineageReader, ...]
    streams: tuple[str, ...]
    lost: tuple[str, ...]
    changed: tuple[str, ...]
    uncertain: tuple[str, ...]
    unknown: tuple[str, ...]


def may_see_of(known: KnownCatalog) -> MaySee:
    """Whether columns of a table may be told: one that is no table of the catalog has them in its script."""

    def may_see(table: str) -> bool:
        if table.startswith((KAFKA, OWN)):
            return True
        try:
            entry = known.entries.get(str(object_name(table)))
        except CatalogNameError:
            return True
        return known.authority.is_admin if entry is None else known.may_see(entry)

    return may_see


def stream_lineage(
    kept: StoredLineage, found: VersionLineage, may_see: MaySee, pins: Iterable[ArtifactPin]
) -> StreamLineageAnswer:
    """The lineage of a version as it may be shown (H2); ``pins`` are what it runs with."""
    tables = {one.target for one in found.inserts} | {table for one in found.inserts for table in one.sources}
    hidden = tuple(sorted(table for table in tables if not may_see(table)))
    inserts = tuple(_insert(shown(one, may_see)) for one in found.inserts)
    functions = tuple(LineageFunction(each.name, str(pin)) for pin in pins for each in pin.functions)
    return StreamLineageAnswer(kept.stream, kept.version, kept.at, inserts, hidden, functions)


def shown(insert: InsertLineage, may_see: MaySee) -> InsertLineage:
    """An insert without the columns of tables that may not be seen (H2)."""
    is_target = may_see(insert.target)
    return InsertLineage(
        insert.target,
        insert.columns if is_target else (),
        {table: columns if may_see(table) else () for table, columns in insert.sources.items()},
        tuple(one for one in insert.edges if may_see(one.source_table) and is_target),
        frozenset(one for one in insert.reads if may_see(one.table)),
        insert.not_understood,
    )


def column_lineage(
    column: TableColumn, lineage: StreamsLineage, unknown: Iterable[str], may_see: MaySee
) -> ColumnLineageAnswer:
    """Readers and impact of a column that may be seen (H2)."""
    impact: ColumnImpact = lineage.impact_of_dropping(column)

    def told(columns: Iterable[TableColumn]) -> tuple[str, ...]:
        return tuple(sorted(str(one) if may_see(one.table) else f"{one.table}.*" for one in columns))

    return ColumnLineageAnswer(
        str(column),
        tuple(_reader(one, may_see) for one in lineage.readers_of(column)),
        impact.streams,
        tuple(dict.fromkeys(told(impact.lost))),
        tuple(dict.fromkeys(told(impact.changed))),
        impact.uncertain,
        tuple(sorted(unknown)),
    )


def _reader(one: ColumnReader, may_see: MaySee) -> LineageReader:
    columns = one.columns if may_see(one.target) else ()
    return LineageReader(one.stream, one.target, tuple(sorted(one.kinds)), columns, one.is_for_rows)


def _insert(one: InsertLineage) -> LineageInsert:
    noted = tuple(f"{each.what} {each.name}" for each in one.not_understood)
    return LineageInsert(one.target, one.columns, one.sources, tuple(_edge(each) for each in one.edges), noted)


def _edge(one: Edge) -> LineageEdge:
    return LineageEdge(one.source_table, one.source_column, one.path, one.target_table, one.target_column, one.kind)
