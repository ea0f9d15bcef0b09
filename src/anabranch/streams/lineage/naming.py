"""What a plan calls a table, and which declared table that is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from anabranch.streams.lineage.plans import Node

_CATALOG, _DATABASE = "spark_catalog", "default"
"""Where Spark has a table for which a script names neither."""


def by_lower(names: Iterable[str]) -> dict[str, str]:
    """Names by how Spark compares them."""
    return {name.lower(): name for name in names}


def view_name(view: Node) -> tuple[str, ...]:
    """The parts of a view's name."""
    description = view.fields.get("desc")
    return _parts(description.get("identifier")) if isinstance(description, Mapping) else ()


def relation_name(owner: Any, declared: Mapping[str, str]) -> str | None:
    """The name of a catalog's table or of a qualified alias; None where there is none that says which table it is."""
    if not isinstance(owner, Mapping):
        return None
    parts = _parts(owner.get("identifier", owner))
    if len(parts) < 2:
        return None
    return declared_name(parts, declared) or ".".join(parts[1:] if parts[0] == _CATALOG and len(parts) > 2 else parts)


def declared_name(parts: tuple[str, ...], declared: Mapping[str, str]) -> str | None:
    """The declared table of a name; ``declared`` has the names by their lower case."""
    left = parts
    while left:
        if (found := declared.get(".".join(left).lower())) is not None:
            return found
        if left[0] not in (_CATALOG, _DATABASE) or len(left) == 1:
            return None
        left = left[1:]
    return None


def _parts(found: Any) -> tuple[str, ...]:
    """Spark writes a TableIdentifier, or an AliasIdentifier, whose qualifier is a list in a text."""
    if not isinstance(found, Mapping):
        return ()
    if "table" in found:
        named = (found.get("catalog"), found.get("database"), found["table"])
        return tuple(str(one) for one in named if one)
    qualifier = found.get("qualifier")
    above = qualifier.strip("[]").split(", ") if isinstance(qualifier, str) and qualifier != "[]" else ()
    return (*above, str(found.get("name", "")))
