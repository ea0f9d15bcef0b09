"""Where the value of an expression comes from: columns of tables, and how each shapes it.

Invariants
    L2  a use is direct until an indirect one lies between it and the target; then the indirect one nearest to the
        target tells its kind.
    L3  of direct uses in a row the strongest tells the kind: identity, transformation, aggregation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class LineageKind(StrEnum):
    """How a column shapes another one (direct), or which rows there are, or their order (indirect)."""

    IDENTITY = "identity"
    TRANSFORMATION = "transformation"
    AGGREGATION = "aggregation"
    CONDITIONAL = "conditional"
    FILTER = "filter"
    JOIN = "join"
    GROUP_BY = "group_by"
    WINDOW = "window"
    SORT = "sort"
    WATERMARK = "watermark"

    @property
    def is_direct(self) -> bool:
        """Whether the column shapes the value itself."""
        return self in _DIRECT

    def then(self, outer: LineageKind) -> LineageKind:
        """The kind of a use of a use (L2, L3)."""
        if not outer.is_direct:
            return outer
        if not self.is_direct:
            return self
        return max(self, outer, key=_DIRECT.index)


_DIRECT = (LineageKind.IDENTITY, LineageKind.TRANSFORMATION, LineageKind.AGGREGATION)


@dataclass(frozen=True, slots=True, order=True)
class SourceColumn:
    """A column of a table; ``path`` leads to a field inside it, where that is exact."""

    table: str
    column: str
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """That a value depends on a column, and how."""

    source: SourceColumn
    kind: LineageKind


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression's value depends on; ``parts`` are the fields of a struct that the query itself makes."""

    uses: frozenset[Use] = frozenset()
    parts: tuple[Value, ...] | None = None

    def flat(self) -> frozenset[Use]:
        """All uses; those of a struct's fields are transformed at least."""
        found = self.uses
        for part in self.parts or ():
            found |= through(part.flat(), LineageKind.TRANSFORMATION)
        return found

    def then(self, kind: LineageKind) -> Value:
        """The value of something that is made of this one."""
        return Value(through(self.flat(), kind))

    def field(self, ordinal: int, name: str | None) -> Value:
        """One field; where its name is not known the path to it is not, either."""
        if self.parts is not None and ordinal < len(self.parts):
            return Value(self.parts[ordinal].uses | self.uses, self.parts[ordinal].parts)
        if name is None:
            return self.then(LineageKind.TRANSFORMATION)
        return Value(frozenset(_entered(one, name) for one in self.uses))


NOTHING = Value()


def through(uses: Iterable[Use], kind: LineageKind) -> frozenset[Use]:
    """Uses of uses."""
    return frozenset(Use(one.source, one.kind.then(kind)) for one in uses)


def joined(values: Iterable[Value]) -> Value:
    """A value that is one or the other of some, as a column of a union is."""
    found = [one for one in values if one != NOTHING]
    if len(found) == 1:
        return found[0]
    shapes = {len(one.parts) for one in found if one.parts is not None}
    if len(shapes) == 1 and all(one.parts is not None for one in found):
        parts = zip(*(one.parts or () for one in found), strict=True)
        return Value(frozenset().union(*(one.uses for one in found)), tuple(joined(each) for each in parts))
    return Value(frozenset().union(*(one.flat() for one in found)))


def _entered(use: Use, name: str) -> Use:
    if use.kind is not LineageKind.IDENTITY:
        return use
    source = use.source
    return Use(SourceColumn(source.table, source.column, (*source.path, name)), use.kind)
