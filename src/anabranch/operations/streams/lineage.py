"""The lineage of all streams as one, and which of them use a table or a column of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anabranch.errors import InvalidFieldError
from anabranch.streams.catalog.names import CatalogNameError, object_name
from anabranch.streams.lineage.document import KAFKA, OWN, StoredLineage, lineage_of
from anabranch.streams.lineage.edges import InsertLineage, TableColumn
from anabranch.streams.lineage.impact import StreamsLineage


def streams_lineage(kept: Mapping[str, StoredLineage]) -> StreamsLineage:
    """What the streams of a store make of what; raises LineageDocumentError."""
    return StreamsLineage({name: lineage_of(one.document).inserts for name, one in kept.items()})


def column_of(text: str) -> TableColumn:
    """A column as people write it: TABLE.COLUMN, the table as lineage names it; raises InvalidFieldError."""
    table, dot, column = text.rpartition(".")
    if not dot or not table or not column:
        raise InvalidFieldError("lineage", "column", f"{text!r} is no column", "write TABLE.COLUMN: shop.orders.id")
    if table.startswith((KAFKA, OWN)):
        return TableColumn(table, column)
    try:
        return TableColumn(object_name(table).short, column)
    except CatalogNameError as error:
        raise InvalidFieldError("lineage", "column", error.message, "write TABLE.COLUMN: shop.orders.id") from error


def readers_of_table(lineage: StreamsLineage, table: str) -> tuple[str, ...]:
    """The streams that read a table, by name."""
    return _sorted(name for name, one in _inserts(lineage) if _is_in(table, one.sources))


def writers_of_table(lineage: StreamsLineage, table: str) -> tuple[str, ...]:
    """The streams that write a table, by name."""
    return _sorted(name for name, one in _inserts(lineage) if _is_in(table, (one.target,)))


def readers_of_columns(lineage: StreamsLineage, table: str, columns: Iterable[str]) -> tuple[str, ...]:
    """The streams whose queries name one of some columns of a table, by name."""
    found = (lineage.readers_of(TableColumn(table, column)) for column in columns)
    return _sorted(reader.stream for readers in found for reader in readers)


def _inserts(lineage: StreamsLineage) -> Iterable[tuple[str, InsertLineage]]:
    return ((name, one) for name, inserts in lineage.streams.items() for one in inserts)


def _is_in(table: str, tables: Iterable[str]) -> bool:
    return table.lower() in {one.lower() for one in tables}


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
