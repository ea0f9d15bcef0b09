"""What the service answers of the catalog, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.store.catalog import StoredEntry
from anabranch.streams.catalog.names import CATALOG


@dataclass(frozen=True, slots=True)
class EntrySummary:
    """An entry in a list; ``short`` is its name as scripts write it."""

    name: str
    short: str
    kind: str
    owner: str
    description: str
    changed_at: int


@dataclass(frozen=True, slots=True)
class EntryAnswer:
    """An entry; ``document`` has the columns and options of a table, the query of a view, a function's statement.

    ``may`` is what the one who asks may do with it.
    """

    summary: EntrySummary
    revision: int
    created_at: int
    author: str
    document: Mapping[str, Any]
    may: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SchemaAnswer:
    """The columns that a table had from then on."""

    number: int
    at: int
    author: str
    columns: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class AttachedAnswer:
    """A catalog of Spark's own; ``connector`` writes into its tables, empty where they are only read.

    ``launcher`` is whose settings attach it; those of the default one are the service's.
    """

    name: str
    connector: str
    launcher: str


@dataclass(frozen=True, slots=True)
class GrantAnswer:
    """A grant, and who gave it when."""

    securable: str
    principal: str
    privilege: str
    at: int
    author: str


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """A group and its accounts; ``claimed`` are those that are in it by the word of their provider alone."""

    group: str
    members: tuple[str, ...]
    claimed: tuple[str, ...] = ()


def summary_of(entry: StoredEntry) -> EntrySummary:
    """An entry in a list."""
    short = entry.name.removeprefix(f"{CATALOG}.")
    return EntrySummary(entry.name, short, entry.kind, entry.owner, entry.description, entry.changed)
