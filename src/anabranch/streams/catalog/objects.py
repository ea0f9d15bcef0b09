"""What the catalog has: databases, tables, views, functions, as values.

Invariant
    G1  a table's versions count from 1 without a gap; the columns of now are those of the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.streams.catalog.names import ObjectName
from anabranch.streams.connectors import option
from anabranch.streams.tables import Column, TableDeclaration


class ObjectKind(StrEnum):
    """What an entry of the catalog is."""

    DATABASE = "database"
    TABLE = "table"
    VIEW = "view"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class CatalogDatabase:
    """``name`` is ``catalog.database``."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table as it is declared; ``comments`` are those of its columns, by their names."""

    name: ObjectName
    declaration: TableDeclaration
    description: str = ""
    comments: Mapping[str, str] = field(default_factory=dict)

    @property
    def topic(self) -> tuple[str, str] | None:
        """Cluster code and topic of a Kafka table."""
        return topic_of(self.declaration)


@dataclass(frozen=True, slots=True)
class View:
    """A query under a name; who reads it needs a grant on each table below it too."""

    name: ObjectName
    query: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """A function; ``statement`` is the CREATE FUNCTION that makes it."""

    name: ObjectName
    statement: str
    description: str = ""


CatalogObject = CatalogDatabase | Table | View | Function


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """The columns that a table had from then on (G1); ``at`` in ms."""

    number: int
    at: int
    author: str
    columns: tuple[Column, ...]


def kind_of(found: CatalogObject) -> ObjectKind:
    """What it is."""
    if isinstance(found, Table):
        return ObjectKind.TABLE
    if isinstance(found, View):
        return ObjectKind.VIEW
    return ObjectKind.DATABASE if isinstance(found, CatalogDatabase) else ObjectKind.FUNCTION


def topic_of(declaration: TableDeclaration) -> tuple[str, str] | None:
    """Cluster code and topic of a Kafka table; None of any other."""
    cluster, topic = option(declaration, "cluster"), option(declaration, "topic")
    return (cluster, topic) if declaration.provider.lower() == "kafka" and cluster and topic else None
