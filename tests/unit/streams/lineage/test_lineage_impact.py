"""Readers of columns, and what breaks without one, over any number of streams."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.streams.lineage.edges import Edge, InsertLineage, TableColumn, lineage_of_insert
from anabranch.streams.lineage.expressions import NotUnderstood
from anabranch.streams.lineage.impact import ColumnReader, StreamsLineage
from anabranch.streams.lineage.values import LineageKind
from tests.unit.streams.lineage.cases import DECLARED, cases, lineages, recorded

pytestmark = pytest.mark.unit

COLUMNS = ("a", "b", "c")
TABLES = ("t1", "t2", "t3", "t4")


# Made once: strategies that are made anew for each draw take most of the time of a law.
_TABLE, _COLUMN = st.sampled_from(TABLES), st.sampled_from(COLUMNS)
_WAYS = st.frozensets(st.tuples(_COLUMN, _COLUMN, st.sampled_from(LineageKind)), max_size=4)
_ONLY = st.frozensets(_COLUMN, max_size=1)
_NOTED = st.sampled_from(((), (NotUnderstood("plan", "Strange"),)))


@st.composite
def inserts(draw: st.DrawFn) -> InsertLineage:
    """An INSERT between two of few tables, with any edges."""
    source, target = draw(_TABLE), draw(_TABLE)
    edges = frozenset(
        Edge(source, column, target, to if kind.is_direct else None, kind) for column, to, kind in draw(_WAYS)
    )
    reads = frozenset(TableColumn(source, name) for name in {*draw(_ONLY), *(edge.source_column for edge in edges)})
    return InsertLineage(target, COLUMNS, {source: COLUMNS}, tuple(edges), reads, draw(_NOTED))


LINEAGES = st.dictionaries(st.sampled_from("pqrs"), st.lists(inserts(), max_size=3), max_size=4).map(StreamsLineage)
ANY_COLUMN = st.builds(TableColumn, st.sampled_from(TABLES), st.sampled_from(COLUMNS))


@given(LINEAGES, ANY_COLUMN)
def test_an_impact_has_the_readers_of_all_its_columns_and_nobody_else(
    lineage: StreamsLineage, column: TableColumn
) -> None:
    """L9."""
    impact = lineage.impact_of_dropping(column)
    asked = {column, *impact.columns}
    assert set(impact.streams) == {reader.stream for one in asked for reader in lineage.readers_of(one)}
    assert len(impact.streams) == len(set(impact.streams))


@given(LINEAGES, ANY_COLUMN)
def test_impact_is_transitive(lineage: StreamsLineage, column: TableColumn) -> None:
    """L10: a lost column's losses are losses; what a changed one reaches is changed at least."""
    impact = lineage.impact_of_dropping(column)
    assert not impact.lost & impact.changed
    for one in impact.columns:
        further = lineage.impact_of_dropping(one)
        assert further.columns <= impact.columns
        assert set(further.streams) <= set(impact.streams)
        assert one not in impact.lost or further.lost <= impact.lost


@given(LINEAGES, ANY_COLUMN)
def test_an_impact_names_only_columns_that_an_insert_writes(lineage: StreamsLineage, column: TableColumn) -> None:
    """L11."""
    written = {
        TableColumn(one.target, name) for each in lineage.streams.values() for one in each for name in one.columns
    }
    assert lineage.impact_of_dropping(column).columns <= written


@given(LINEAGES, ANY_COLUMN)
def test_readers_and_the_first_step_of_an_impact_agree(lineage: StreamsLineage, column: TableColumn) -> None:
    """What a reader makes of a column is in the impact, with all columns of the target where it decides on rows."""
    impact = lineage.impact_of_dropping(column)
    for reader in lineage.readers_of(column):
        names = COLUMNS if reader.is_for_rows else reader.columns
        assert {TableColumn(reader.target, name) for name in names} <= impact.columns
        assert bool(reader.kinds) == bool(reader.columns or reader.is_for_rows)


@given(LINEAGES, ANY_COLUMN)
def test_names_are_compared_as_spark_does(lineage: StreamsLineage, column: TableColumn) -> None:
    """Upper and lower case are the same."""
    shouted = TableColumn(column.table.upper(), column.column.upper())
    assert lineage.readers_of(shouted) == lineage.readers_of(column)
    assert lineage.impact_of_dropping(shouted).streams == lineage.impact_of_dropping(column).streams


def test_no_edge_names_a_column_that_its_table_has_not() -> None:
    """L7, L8, on every script."""
    for found in (one for case in cases() for one in lineages(case)):
        for edge in found.edges:
            assert edge.source_column in found.sources[edge.source_table]
            assert edge.target_column is None or edge.target_column in found.columns
        assert {edge.source for edge in found.tables} == set(found.sources)


def chain() -> StreamsLineage:
    """A stream that writes what another one reads."""
    first, second = recorded()["a chain over a table between"]
    third = recorded()["a view with a column that nobody uses"][0]
    return StreamsLineage(
        {
            "enrich": [lineage_of_insert(first.text, first.target, first.columns, DECLARED)],
            "report": [lineage_of_insert(second.text, second.target, second.columns, DECLARED)],
            "people": [lineage_of_insert(third.text, "people", (), DECLARED)],
        }
    )


def test_what_breaks_is_found_through_a_table_between() -> None:
    """visits.page makes clicks.ad in one stream, which another one reports."""
    impact = chain().impact_of_dropping(TableColumn("visits", "page"))
    assert impact.streams == ("enrich", "people", "report")
    assert impact.lost == {TableColumn("clicks", "ad"), TableColumn("out", "ad")}
    assert (impact.changed, impact.uncertain) == (frozenset(), ())


def test_a_stream_that_only_names_a_column_is_a_reader() -> None:
    """Its view has the column, so that it cannot be analysed without."""
    readers = chain().readers_of(TableColumn("visits", "page"))
    assert readers == (
        ColumnReader("enrich", "clicks", frozenset({LineageKind.TRANSFORMATION}), ("ad",), False),
        ColumnReader("people", "people", frozenset(), (), False),
    )
