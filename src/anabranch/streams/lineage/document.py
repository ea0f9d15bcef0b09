"""The lineage of a stream's version as values: told by its job, kept by the store, read by whoever asks.

A table has one name for all streams: that of the catalog, ``kafka://CODE/TOPIC`` for a script's own table of a topic
that the catalog has not, ``stream://STREAM/NAME`` for any other one of its own.

Invariant
    L13  what is read from a document is what was written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.errors import ProtocolError
from anabranch.streams.catalog.names import CatalogNameError, object_name
from anabranch.streams.catalog.objects import topic_of
from anabranch.streams.lineage.edges import Edge, InsertLineage, TableColumn
from anabranch.streams.lineage.expressions import NotUnderstood
from anabranch.streams.lineage.openlineage import LineageDataset
from anabranch.streams.lineage.values import LineageKind
from anabranch.streams.tables import TableDeclaration

KAFKA, OWN = "kafka://", "stream://"


@dataclass(eq=False)
class LineageDocumentError(ProtocolError):
    """A text that is no lineage as this version keeps it."""

    problem: str

    _message = "this is no lineage of a stream: {problem}"
    _hint = "start the stream again: its job tells its lineage again"


@dataclass(frozen=True, slots=True)
class VersionLineage:
    """What each INSERT of a version makes of what; ``datasets`` are its tables as the world calls them."""

    inserts: tuple[InsertLineage, ...]
    datasets: Mapping[str, LineageDataset] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredLineage:
    """The lineage of a version as it is kept, and when it was told, in ms."""

    stream: str
    version: int
    at: int
    document: Mapping[str, Any]


def known_as(
    stream: str, table: TableDeclaration, topics: Mapping[str, Sequence[str]], leads: Mapping[str, str]
) -> str:
    """What a script's own table is called for all streams; ``topics`` and ``leads`` are those of a TableAccess."""
    topic = topic_of(table)
    if topic is None:
        return f"{OWN}{stream}/{table.name}"
    cluster = leads.get(topic[0], topic[0])
    names = topics.get(f"{cluster}/{topic[1]}", ())
    return short(names[0]) if names else f"{KAFKA}{cluster}/{topic[1]}"


def dataset_of(name: str, table: TableDeclaration) -> LineageDataset:
    """A table as OpenLineage names it: a topic by its cluster, any other by its provider."""
    types = {one.name: one.type for one in table.columns}
    topic = topic_of(table)
    if topic is not None:
        return LineageDataset(f"{KAFKA}{topic[0]}", topic[1], types)
    return LineageDataset(f"{table.provider}://", name, types)


def short(name: str) -> str:
    """A name of the catalog as lineage has it."""
    try:
        return object_name(name).short
    except CatalogNameError:
        return name


def renamed(found: InsertLineage, names: Mapping[str, str]) -> InsertLineage:
    """A lineage whose tables have other names; those that are not named stay."""

    def name(table: str) -> str:
        return names.get(table.lower(), table)

    return replace(
        found,
        target=name(found.target),
        sources={name(table): columns for table, columns in found.sources.items()},
        edges=tuple(
            replace(one, source_table=name(one.source_table), target_table=name(one.target_table))
            for one in found.edges
        ),
        reads=frozenset(TableColumn(name(one.table), one.column) for one in found.reads),
    )


def document_of(lineage: VersionLineage) -> dict[str, Any]:
    """As JSON has it."""
    return {
        "inserts": [_insert_fields(one) for one in lineage.inserts],
        "datasets": {
            name: {"namespace": one.namespace, "name": one.name, "types": dict(one.types)}
            for name, one in lineage.datasets.items()
        },
    }


def lineage_of(document: Mapping[str, Any]) -> VersionLineage:
    """What a document says (L13); raises LineageDocumentError."""
    try:
        datasets = {
            str(name): LineageDataset(one["namespace"], one["name"], dict(one["types"]))
            for name, one in document["datasets"].items()
        }
        return VersionLineage(tuple(_insert(one) for one in document["inserts"]), datasets)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LineageDocumentError(repr(error)) from error


def _insert_fields(one: InsertLineage) -> dict[str, Any]:
    return {
        "target": one.target,
        "columns": list(one.columns),
        "sources": {table: list(columns) for table, columns in one.sources.items()},
        "edges": [
            [each.source_table, each.source_column, list(each.path), each.target_column, each.kind.value]
            for each in one.edges
        ],
        "reads": sorted([each.table, each.column] for each in one.reads),
        "not_understood": [[each.what, each.name] for each in one.not_understood],
    }


def _insert(one: Mapping[str, Any]) -> InsertLineage:
    target = str(one["target"])
    return InsertLineage(
        target,
        tuple(one["columns"]),
        {table: tuple(columns) for table, columns in one["sources"].items()},
        tuple(
            Edge(table, column, target, to, LineageKind(kind), tuple(path))
            for table, column, path, to, kind in one["edges"]
        ),
        frozenset(TableColumn(table, column) for table, column in one["reads"]),
        tuple(NotUnderstood(what, name) for what, name in one["not_understood"]),
    )
