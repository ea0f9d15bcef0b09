"""Entries, schemas and grants as a store keeps them, and why it refuses; values, known without a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anabranch.errors import RefusedError


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry; ``name`` is its full name, ``document`` what it says as values.

    ``revision`` is 0 before it is kept, and rises with each change; times in ms.
    """

    name: str
    kind: str
    revision: int
    owner: str
    description: str
    document: Mapping[str, Any]
    created: int
    changed: int
    author: str


@dataclass(frozen=True, slots=True)
class StoredSchema:
    """The columns that a table had from then on."""

    name: str
    number: int
    at: int
    author: str
    columns: Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class StoredGrant:
    """A grant, and who gave it when."""

    securable: str
    principal: str
    privilege: str
    at: int
    author: str


@dataclass(frozen=True, slots=True)
class EntryChange:
    """What becomes of an entry whose revision is ``seen``, 0 where there is none; ``after`` is None where it goes.

    ``columns`` are kept as a table's next schema version.
    """

    name: str
    seen: int
    after: StoredEntry | None
    columns: Sequence[Mapping[str, str]] | None = field(default=None)


@dataclass(eq=False)
class EntryChangedError(RefusedError):
    """Somebody has changed an entry of the catalog since, or made it, or dropped it."""

    name: str

    _message = "somebody has changed {name} since it was read"
    _hint = "look at it again: `anabranch catalog show {name}`"


@dataclass(eq=False)
class NoEntryError(RefusedError):
    """There is no such entry, or none that the one who asks may see."""

    name: str

    _message = "there is no {name} in the catalog, or no grant on it for you"
    _hint = "list what you may see: `anabranch catalog list`"
