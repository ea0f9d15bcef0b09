"""The lineage of one INSERT: which columns of which tables make which columns of its target.

Invariants
    L7  an edge's source is a column of a table that the query reads, its target column one of the insert's.
    L8  each table of an edge is also that of a table edge; a table without columns in use has a table edge alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from anabranch.errors import ConfigError, RefusedError
from anabranch.streams.lineage.expressions import NotUnderstood
from anabranch.streams.lineage.naming import by_lower
from anabranch.streams.lineage.plans import read_plan
from anabranch.streams.lineage.relations import PlanReader
from anabranch.streams.lineage.values import LineageKind


@dataclass(eq=False)
class InsertColumnsError(ConfigError):
    """An INSERT whose query gives another number of columns than it names."""

    table: str
    named: int
    given: int

    _message = "the INSERT into {table} names {named} columns, and its query gives {given}"
    _hint = "name each column of the query, or none"


@dataclass(eq=False)
class PlanDepthError(RefusedError):
    """A plan that is nested too deeply to be read."""

    table: str

    _message = "the plan of the INSERT into {table} is nested too deeply for its lineage to be told"
    _hint = "split the query: insert into a table between, or write long chains of conditions as IN"


@dataclass(frozen=True, slots=True)
class Edge:
    """That a source column makes a target column, or decides on its rows.

    ``target_column`` is None where the source decides on whole rows: which there are, or in which order.  ``path``
    leads from the source column to the field inside it that is used, empty for the column as a whole.
    """

    source_table: str
    source_column: str
    target_table: str
    target_column: str | None
    kind: LineageKind
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        source = ".".join((self.source_table, self.source_column, *self.path))
        return f"{source} -> {self.target_table}.{self.target_column or '*'} {self.kind}"


@dataclass(frozen=True, slots=True, order=True)
class TableEdge:
    """That a table is read to write another one."""

    source: str
    target: str


@dataclass(frozen=True, slots=True, order=True)
class TableColumn:
    """A column of a table, by both names."""

    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


@dataclass(frozen=True, slots=True)
class InsertLineage:
    """What one INSERT makes of what.

    ``columns`` are those of the target that it writes, ``sources`` the tables that it reads with all their columns.
    ``reads`` are the columns that the query names anywhere, also those of which nothing in the target is made: the
    query cannot be analysed without them.
    """

    target: str
    columns: tuple[str, ...]
    sources: Mapping[str, tuple[str, ...]]
    edges: tuple[Edge, ...]
    reads: frozenset[TableColumn] = frozenset()
    not_understood: tuple[NotUnderstood, ...] = field(default=())

    @property
    def tables(self) -> tuple[TableEdge, ...]:
        """The edges between tables (L8)."""
        return tuple(TableEdge(source, self.target) for source in sorted(self.sources))

    @property
    def is_complete(self) -> bool:
        """Whether all of the plan was understood; otherwise the edges hold more than there may be."""
        return not self.not_understood


def lineage_of_insert(
    plan: str, target: str, columns: Iterable[str] = (), declared: Iterable[str] = ()
) -> InsertLineage:
    """The lineage of an INSERT by its query's analysed plan, as Spark's JSON.

    ``columns`` are the target's, by position; without them (and for BY NAME) those of the query.  ``declared`` are the
    tables at which the plan is not read further.  Raises PlanFormatError, InsertColumnsError, PlanDepthError.
    """
    reader = PlanReader(by_lower(declared))
    try:
        found = reader.read(read_plan(plan))
    except RecursionError:
        raise PlanDepthError(target) from None
    names = tuple(columns) or tuple(name for _, name in found.columns)
    if len(names) != len(found.columns):
        raise InsertColumnsError(target, len(names), len(found.columns))
    edges = {
        Edge(use.source.table, use.source.column, target, name, use.kind, use.source.path)
        for name, value in zip(names, found.given(), strict=True)
        for use in value.flat()
    }
    edges |= {Edge(use.source.table, use.source.column, target, None, use.kind, use.source.path) for use in found.rows}
    findings = reader.findings
    reads = {TableColumn(one.table, one.column) for one in findings.reads}
    reads |= {TableColumn(one.source_table, one.source_column) for one in edges}
    return InsertLineage(
        target,
        names,
        dict(sorted(findings.tables.items())),
        tuple(sorted(edges, key=_order)),
        frozenset(reads),
        tuple(sorted(findings.not_understood)),
    )


def _order(edge: Edge) -> tuple[bool, str, str, str, tuple[str, ...], str]:
    column = edge.target_column
    return (column is None, column or "", edge.source_table, edge.source_column, edge.path, edge.kind)
