"""Names of the catalog: ``catalog.database.name``, as Spark resolves them.

Invariant
    N1  two texts that Spark takes for the same object are the same ObjectName: case does not count, and what is left
        out is the session catalog and its default database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from anabranch.errors import ConfigError

CATALOG, DATABASE = "spark_catalog", "default"
"""Spark's own names for what a name without them is in."""
_PART = re.compile(r"`(?P<quoted>[^`]*)`|(?P<plain>[A-Za-z0-9_]+)")
_VALID = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,98}[a-z0-9_])?")


@dataclass(eq=False)
class CatalogNameError(ConfigError):
    """A text that is no name of the catalog."""

    name: str
    problem: str

    _message = "{name!r} is no name of the catalog: {problem}"
    _hint = "use letters, digits and _, parts separated by dots: table, database.table or catalog.database.table"


@dataclass(frozen=True, slots=True, order=True)
class ObjectName:
    """A table, a view or a function; lower case (N1)."""

    catalog: str
    database: str
    name: str

    def __str__(self) -> str:
        return ".".join((self.catalog, self.database, self.name))

    @property
    def short(self) -> str:
        """Without the session catalog, as people write it."""
        parts = (self.database, self.name) if self.catalog == CATALOG else (self.catalog, self.database, self.name)
        return ".".join(parts)

    @property
    def parents(self) -> tuple[str, str]:
        """Its catalog and its database, as grants name them."""
        return self.catalog, f"{self.catalog}.{self.database}"


def object_name(text: str) -> ObjectName:
    """The object of a name with one to three parts; raises CatalogNameError."""
    parts = name_parts(text)
    if len(parts) > 3:
        raise CatalogNameError(text, f"it has {len(parts)} parts")
    return ObjectName(*(CATALOG, DATABASE)[: 3 - len(parts)], *parts)


def database_name(text: str) -> str:
    """``catalog.database`` of a database's name with one or two parts; raises CatalogNameError."""
    parts = name_parts(text)
    if len(parts) > 2:
        raise CatalogNameError(text, f"a database's name has at most two parts, not {len(parts)}")
    return ".".join((CATALOG, *parts)[-2:])


def catalog_name(text: str) -> str:
    """A catalog's name; raises CatalogNameError."""
    parts = name_parts(text)
    if len(parts) > 1:
        raise CatalogNameError(text, f"a catalog's name has one part, not {len(parts)}")
    return parts[0]


def name_parts(text: str) -> tuple[str, ...]:
    """The parts of a name, unquoted and in lower case; raises CatalogNameError."""
    parts: list[str] = []
    at = 0
    while True:
        part = _PART.match(text, at)
        if part is None:
            raise CatalogNameError(text, f"a part is expected at {text[at : at + 20]!r}")
        found = (part["plain"] if part["quoted"] is None else part["quoted"]).lower()
        if not _VALID.fullmatch(found):
            raise CatalogNameError(text, f"{found[:60]!r} is no part of one")
        parts.append(found)
        at = part.end()
        if at == len(text):
            return tuple(parts)
        if text[at] != ".":
            raise CatalogNameError(text, f"a dot is expected at {text[at : at + 20]!r}")
        at += 1


def name_of_topic(topic: str) -> str:
    """A table's name for a topic: what is none of its characters is ``_``."""
    return re.sub(r"[^a-z0-9_]", "_", topic.lower())[:100]
