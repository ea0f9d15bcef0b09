"""What a query needs, from Spark's analysed plan as JSON: no view, subquery, CTE or function hides a table there.

Spark writes a tree as the list of its nodes, each before its children; a subquery is such a list inside the field of
an expression.  Every list is walked, whatever field it is in.  A table is known by what Spark itself put into the
plan: the catalog's entry of a relation, or the qualified alias right above it, which no alias of a script is.

Invariants
    D1  every relation of a plan is in the answer: as a table, as a table of the script, or as a source without a name.
    D2  what is not known to read nothing counts as a source without a name, which nothing allows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.errors import ProtocolError
from anabranch.streams.catalog.names import CatalogNameError, ObjectName, object_name
from anabranch.streams.grants import Need, Privilege

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_READ_NOTHING = frozenset({"LocalRelation", "OneRowRelation", "Range", "CTERelationRef", "UnionLoopRef"})
_KEEP_NAME = frozenset({"SubqueryAlias", "Project"})
_REACH_OUT = {
    "CallMethodViaReflection": "call methods of Java classes (reflect, java_method)",
    "VariableReference": "use session variables",
    "ScriptTransformation": "run a program (TRANSFORM)",
}


@dataclass(eq=False)
class PlanTextError(ProtocolError):
    """A text that is no plan as Spark writes it."""

    why: str

    _message = "this is no analysed plan of Spark: {why}"
    _hint = "the versions of Spark that are supported are in docs/reference/catalog.md"


@dataclass(frozen=True, slots=True)
class PlanNeeds:
    """``tables`` are of the catalog; ``inline`` are the script's own, by name.

    ``sources`` are relations that have no name, such as a path; ``calls`` is what expressions do outside of the plan.
    """

    tables: tuple[Need, ...] = ()
    inline: tuple[tuple[str, Privilege], ...] = ()
    sources: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()

    def __add__(self, other: PlanNeeds) -> PlanNeeds:
        """What both need."""
        return PlanNeeds(
            tuple(sorted({*self.tables, *other.tables})),
            tuple(sorted({*self.inline, *other.inline})),
            tuple(sorted({*self.sources, *other.sources})),
            tuple(sorted({*self.calls, *other.calls})),
        )


@dataclass(frozen=True, slots=True)
class Registered:
    """What a runner has put into a session as temporary views, by name.

    ``own`` are tables that the script declares; ``tables`` and ``views`` are of the catalog, as ``shop.orders``.  No
    statement of a script may take one of these names.
    """

    own: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()
    views: frozenset[str] = frozenset()


def needed(plan_json: str, target: str = "", registered: Registered | None = None) -> PlanNeeds:
    """What a query needs, and the table that it is written to; raises PlanTextError, CatalogNameError."""
    try:
        plan = json.loads(plan_json)
    except ValueError as error:
        raise PlanTextError(str(error)) from error
    if not _is_tree(plan):
        raise PlanTextError("it is no list of nodes")
    walk = _Walk(registered or Registered())
    try:
        walk.tree(plan)
    except RecursionError as error:
        raise PlanTextError("it is nested too deeply") from error
    if target:
        walk.name(target.lower(), Privilege.WRITE)
    return walk.found + PlanNeeds()


class _Walk:
    def __init__(self, registered: Registered) -> None:
        self._own = {one.lower() for one in registered.own}
        self._tables = {one.lower() for one in registered.tables}
        self._views = {one.lower() for one in registered.views}
        self.found = PlanNeeds()

    def tree(self, nodes: Sequence[Mapping[str, Any]], table: str = "") -> None:
        """A tree with everything inside it; ``table`` is the registered table whose part it is, or empty.

        What is inside of one was made by the runner, such as the older source that Spark keeps beside that of Kafka.
        """
        at = 0
        while at < len(nodes):
            at = self._node(nodes, at, None, table)

    def name(self, name: str, privilege: Privilege) -> None:
        """A relation by its name in the session; raises CatalogNameError."""
        if name in self._own:
            self.found += PlanNeeds(inline=((name, privilege),))
        else:
            self.found += PlanNeeds(tables=(Need(object_name(name), privilege),))

    def _node(self, nodes: Sequence[Mapping[str, Any]], at: int, above: ObjectName | None, table: str) -> int:
        """A node with its children; returns where the next one begins.

        ``above`` is what Spark calls the relation here; ``table`` the registered table around it, or empty.
        """
        if at >= len(nodes):
            raise PlanTextError("a node has fewer children than it says")
        node = nodes[at]
        kind = _kind(node)
        for field in node.values():
            self._field(field, table)
        if kind in _REACH_OUT:
            self.found += PlanNeeds(calls=(_REACH_OUT[kind],))
        if kind == "SubqueryAlias":
            above = _alias(node) or above
        elif kind == "View":
            above, table = None, self._view(node)
        elif kind not in _KEEP_NAME:
            own = above if not _children(node) else None
            above = None
            if not _children(node) and not str(node["class"]).startswith(_EXPRESSIONS) and kind not in _READ_NOTHING:
                self._relation(node, kind, own, table)
        at += 1
        for _ in range(_children(node)):
            at = self._node(nodes, at, above, table)
        return at

    def _view(self, node: Mapping[str, Any]) -> str:
        """A view; returns the registered table that it is, or empty."""
        if node.get("isTempView") is not True:
            entry = _entry(node.get("desc"))
            if entry is None:
                self.found += PlanNeeds(sources=("a view without a name",))
            else:
                self.found += PlanNeeds(tables=(Need(entry, Privilege.READ),))
            return ""
        name = _temporary(node.get("desc"))
        if name in self._own or name in self._tables or name in self._views:
            self.name(name, Privilege.READ)
        return name if name in self._own or name in self._tables else ""

    def _relation(self, node: Mapping[str, Any], kind: str, above: ObjectName | None, table: str) -> None:
        name = _entry(node.get("catalogTable")) or _entry(node.get("tableMeta")) or above
        if name is not None:
            self.found += PlanNeeds(tables=(Need(name, Privilege.READ),))
        elif not table:
            self.found += PlanNeeds(sources=(kind,))

    def _field(self, field: Any, table: str) -> None:
        """The trees inside a field."""
        if _is_tree(field):
            self.tree(field, table)
        else:
            for inner in _inside(field):
                self._field(inner, table)


def _inside(field: Any) -> Iterator[Any]:
    if isinstance(field, Mapping):
        yield from field.values()
    elif isinstance(field, list):
        yield from field


def _is_tree(field: Any) -> bool:
    return isinstance(field, list) and bool(field) and all(isinstance(one, Mapping) and "class" in one for one in field)


def _kind(node: Mapping[str, Any]) -> str:
    return str(node["class"]).rpartition(".")[2]


def _children(node: Mapping[str, Any]) -> int:
    found = node.get("num-children")
    if not isinstance(found, int):
        raise PlanTextError(f"{_kind(node)} does not say how many children it has")
    return found


def _alias(node: Mapping[str, Any]) -> ObjectName | None:
    """What Spark calls the relation below; None for an alias of the script."""
    identifier = node.get("identifier")
    if not isinstance(identifier, Mapping):
        return None
    qualifier = identifier.get("qualifier")
    parts = qualifier.strip("[]").split(", ") if isinstance(qualifier, str) else list(qualifier or ())
    return _object(*(part for part in parts if part), str(identifier.get("name", ""))) if any(parts) else None


def _entry(entry: Any) -> ObjectName | None:
    """The name of an entry of Spark's catalog."""
    identifier = entry.get("identifier") if isinstance(entry, Mapping) else None
    if not isinstance(identifier, Mapping):
        return None
    parts = (identifier.get("catalog"), identifier.get("database"), identifier.get("table"))
    return _object(*(str(one) for one in parts if one))


def _temporary(entry: Any) -> str:
    """The name of a temporary view."""
    identifier = entry.get("identifier") if isinstance(entry, Mapping) else None
    return str(identifier.get("table", "")).lower() if isinstance(identifier, Mapping) else ""


def _object(*parts: str) -> ObjectName | None:
    try:
        return object_name(".".join(f"`{part}`" for part in parts))
    except CatalogNameError:
        return None  # no name that a grant could be for
