"""Expressions of an analysed plan as values that are equal where they mean the same, and as words for a person.

An attribute stands for what it was made of, down to the columns of tables; the names that a query gives on the way make
no difference.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from anabranch.streams.lineage.plans import Node

_CONSTANTS = ("value", "dataType", "ordinal", "isDistinct", "ignoreNulls", "fromType", "toType", "udfName", "negative")
"""The fields of an expression that say what it computes, beside its class and its children."""
_NO_MATTER = frozenset({"Alias", "KnownNullable", "KnownNotNull", "KnownFloatingPointNormalized", "TempResolvedColumn"})
_OPERATORS = {
    "Add": "+",
    "Subtract": "-",
    "Multiply": "*",
    "Divide": "/",
    "Remainder": "%",
    "And": "AND",
    "Or": "OR",
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
_UNITS = ((86_400_000_000, "day"), (3_600_000_000, "hour"), (60_000_000, "minute"), (1_000_000, "second"))
_MOST_WORDS = 120


@dataclass(frozen=True, slots=True)
class Expression:
    """What an expression computes; ``name`` is its class, ``constants`` its own fields as text.

    ``label`` is what the query calls it, and no part of its meaning.
    """

    name: str
    constants: tuple[tuple[str, str], ...] = ()
    children: tuple[Expression, ...] = ()
    label: str = field(default="", compare=False)

    def __str__(self) -> str:
        text = _words(self)
        return text if len(text) <= _MOST_WORDS else f"{text[: _MOST_WORDS - 3]}..."


@dataclass(slots=True)
class Meanings:
    """What the columns of a plan are made of, by id."""

    _columns: dict[int, Expression] = field(default_factory=dict)
    _nodes: dict[int, Node] = field(default_factory=dict)
    _made: dict[int, tuple[str, tuple[Node, ...], int]] = field(default_factory=dict)
    _known: dict[int, Expression] = field(default_factory=dict)
    _open: set[int] = field(default_factory=set)

    def column(self, key: int, table: str, name: str) -> None:
        """Note a column of a table."""
        self._columns[key] = Expression("column", (("name", f"{table}.{name}"),), label=name)

    def define(self, node: Node) -> None:
        """Note an alias; an attribute says nothing new."""
        if node.name == "Alias":
            self._nodes.setdefault(node.id, node.child)

    def made(self, key: int, how: str, of: tuple[Node, ...], place: int) -> None:
        """Note a column that is made of several expressions."""
        self._made.setdefault(key, (how, of, place))

    def of(self, node: Node) -> Expression:
        """What an expression computes."""
        if node.name in _NO_MATTER and len(node.children) == 1:
            inner = self.of(node.child)
            label = node.label if node.name == "Alias" else inner.label
            return Expression(inner.name, inner.constants, inner.children, label)
        if node.name == "AttributeReference":
            return self.of_id(node.id, node.label)
        constants = tuple((key, str(node.fields[key])) for key in _CONSTANTS if key in node.fields)
        return Expression(node.name, constants, tuple(self.of(one) for one in node.children))

    def of_id(self, key: int, label: str) -> Expression:
        """What a column computes; one of which nothing is known is its name."""
        if key in self._columns:
            return self._columns[key]
        if key not in self._known:
            if key in self._open or (key not in self._nodes and key not in self._made):
                return Expression("column", (("name", label),), label=label)
            self._open.add(key)  # a recursive query names itself
            self._known[key] = self._of_id(key)
            self._open.discard(key)
        found = self._known[key]
        return Expression(found.name, found.constants, found.children, label)

    def _of_id(self, key: int) -> Expression:
        if key in self._nodes:
            return self.of(self._nodes[key])
        how, of, place = self._made[key]
        return Expression(how, (("place", str(place)),), tuple(self.of(one) for one in of))


def _words(one: Expression) -> str:
    constants = dict(one.constants)
    if one.name == "column":
        return constants["name"].rpartition(".")[2]
    if one.name == "Literal":
        return f"'{constants.get('value')}'" if constants.get("dataType") == "string" else str(constants.get("value"))
    if one.name in ("CreateNamedStruct", "expanded") and (spans := _spans(one)):
        # Spark has made arithmetic of a window; its lengths are constants in it, in microseconds or as intervals.
        length = spans[-1] if len(spans) == 1 else f"{spans[-1]} every {spans[0]}"
        return f"{one.label or 'window'} of {length}"
    inner = [_words(child) for child in one.children]
    if one.name in _OPERATORS and len(inner) == 2:
        sides = [dict(child.constants)["name"] if child.name == "column" else _words(child) for child in one.children]
        return f"{sides[0]} {_OPERATORS[one.name]} {sides[1]}"
    if one.name == "AggregateExpression" and len(inner) == 1:
        return inner[0].replace("(", "(DISTINCT ", 1) if constants.get("isDistinct") == "True" else inner[0]
    if one.name == "Cast" and len(inner) == 1:
        return f"CAST({inner[0]} AS {constants.get('dataType')})"
    return f"{(one.name or one.label).lower()}({', '.join(inner)})"


def _spans(one: Expression) -> list[str]:
    """The lengths inside a window of time, the shortest first; none where it is no window."""
    found: set[int] = set()
    texts: set[str] = set()
    is_window = _collect(one, found, texts)
    if not is_window:
        return []
    return [_span(span) for span in sorted(found)] or sorted(texts)


def _collect(one: Expression, found: set[int], texts: set[str]) -> bool:
    constants = dict(one.constants)
    value, kind = constants.get("value", ""), constants.get("dataType", "")
    if one.name == "Literal" and kind == "long" and value.isdigit() and int(value):
        found.add(int(value))
    if one.name == "Cast" and kind == "interval" and one.children and one.children[0].name == "Literal":
        texts.add(dict(one.children[0].constants).get("value", ""))
    parts = [_collect(child, found, texts) for child in one.children]
    return one.name == "PreciseTimestampConversion" or any(parts)


def _span(micros: int) -> str:
    for size, unit in _UNITS:
        if micros % size == 0:
            count = micros // size
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return f"{micros} microseconds"
