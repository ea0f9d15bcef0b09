"""Objects of the catalog as the store keeps them, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.streams.catalog.kept import StoredEntry, StoredSchema
from anabranch.streams.catalog.names import object_name
from anabranch.streams.catalog.objects import (
    CatalogDatabase,
    CatalogObject,
    Function,
    ObjectKind,
    SchemaVersion,
    Table,
    View,
    kind_of,
)
from anabranch.streams.tables import Column, TableDeclaration

MADE_TOPIC = "made_topic"
"""Of a table's document: that its topic was made with it, and goes with it where that is asked for."""


def entry_of(
    made: CatalogObject, author: str, now_ms: int, before: StoredEntry | None, *, made_topic: bool = False
) -> StoredEntry:
    """An object as it is kept, over the entry that is there; an owner stays, and who makes one owns it."""
    document = dict(document_of(made))
    if made_topic or (before is not None and _has_made(before, made)):
        document[MADE_TOPIC] = True
    return StoredEntry(
        str(made.name),
        kind_of(made).value,
        0 if before is None else before.revision,
        author if before is None else before.owner,
        made.description,
        document,
        now_ms if before is None else before.created,
        now_ms,
        author,
    )


def document_of(made: CatalogObject) -> Mapping[str, Any]:
    """What an object says, as values."""
    if isinstance(made, Table):
        told = made.declaration
        return {
            "provider": told.provider,
            "columns": columns_of(told.columns),
            "options": dict(told.options),
            "comments": dict(made.comments),
        }
    if isinstance(made, View):
        return {"query": made.query}
    return {"statement": made.statement} if isinstance(made, Function) else {}


def says_the_same(before: StoredEntry, made: CatalogObject) -> bool:
    """Whether an object is as it is kept."""
    document = {name: value for name, value in before.document.items() if name != MADE_TOPIC}
    return (document, before.description) == (document_of(made), made.description)


def _has_made(before: StoredEntry, made: CatalogObject) -> bool:
    old = object_of(before)
    is_same = isinstance(old, Table) and isinstance(made, Table) and old.topic == made.topic
    return is_same and bool(before.document.get(MADE_TOPIC))


def object_of(entry: StoredEntry) -> CatalogObject:
    """The object of an entry."""
    told = entry.document
    if entry.kind == ObjectKind.DATABASE:
        return CatalogDatabase(entry.name, entry.description)
    name = object_name(entry.name)
    if entry.kind == ObjectKind.VIEW:
        return View(name, told["query"], entry.description)
    if entry.kind == ObjectKind.FUNCTION:
        return Function(name, told["statement"], entry.description)
    declaration = TableDeclaration(entry.name, told["provider"], _columns(told["columns"]), dict(told["options"]))
    return Table(name, declaration, entry.description, dict(told["comments"]))


def columns_of(columns: Sequence[Column]) -> list[Mapping[str, str]]:
    """Columns as values."""
    return [{"name": one.name, "type": one.type} for one in columns]


def version_of(stored: StoredSchema) -> SchemaVersion:
    """A schema version as it is known elsewhere."""
    return SchemaVersion(stored.number, stored.at, stored.author, _columns(stored.columns))


def _columns(columns: Sequence[Mapping[str, str]]) -> tuple[Column, ...]:
    return tuple(Column(one["name"], one["type"]) for one in columns)
