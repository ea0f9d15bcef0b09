"""The operators of a query that keep state, each with what its state means: by which keys, and what is kept of each.

Spark looks at the types of a state alone: a window of five minutes goes on with the state of one that had one minute,
and a key by city with that of a key by country.  So the expressions behind each key are compared, read down to the
columns of the tables.

Invariants
    O1  two plans of the same script have equal operators, whatever ids Spark gave them.
    O2  an expression is equal to another only if it has the same class, the same constants and equal children.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.streams.lineage.naming import by_lower, declared_name, view_name
from anabranch.streams.lineage.plans import Node, read_plan
from anabranch.streams.state.expressions import Expression, Meanings

_RELATIONS = ("StreamingRelation", "StreamingRelationV2", "StreamingDataSourceV2Relation", "StreamingExecutionRelation")
_HANDS_ON = frozenset(
    {
        *("SubqueryAlias", "View", "Filter", "EventTimeWatermark", "UpdateEventTimeWatermarkColumn", "Distinct"),
        *("GlobalLimit", "LocalLimit", "ResolvedHint", "Repartition", "Deduplicate", "DeduplicateWithinWatermark"),
    }
)


@dataclass(frozen=True, slots=True)
class StatefulOperator:
    """An operator with state; ``kind`` is the field's word for it, such as ``aggregation``.

    ``keys`` and ``values`` are what the state is kept by, and what is kept; those of a join are its condition alone.
    """

    kind: str
    keys: tuple[Expression, ...]
    values: tuple[Expression, ...] = ()


def stateful_operators(plan: str, tables: Iterable[str]) -> tuple[StatefulOperator, ...]:
    """Those of an analysed plan (Spark's JSON), from its result down to its sources.

    ``tables`` are the names at which a plan is read no further.  Raises PlanFormatError.
    """
    root = read_plan(plan)
    reader = _Reader(by_lower(tables))
    reader.learn(root)
    return tuple(reader.operators(root))


def tables_read(plan: str, tables: Iterable[str]) -> tuple[str, ...]:
    """The tables of an analysed plan in its order, each as often as it is read; raises PlanFormatError."""
    return tuple(_tables(read_plan(plan), by_lower(tables)))


def _tables(node: Node, declared: Mapping[str, str]) -> Iterable[str]:
    if node.name == "View" and (table := declared_name(view_name(node), declared)) is not None:
        yield table
        return
    for child in node.children:
        yield from _tables(child, declared)


@dataclass(slots=True)
class _Reader:
    declared: Mapping[str, str]
    meanings: Meanings = field(default_factory=Meanings)

    def learn(self, node: Node) -> None:
        """Note what each column is made of."""
        if node.name == "View" and (table := declared_name(view_name(node), self.declared)) is not None:
            columns = [str(one["name"]) for one in node.fields["desc"]["schema"]["fields"]]
            for key, column in zip(_output(node.child), columns, strict=False):
                self.meanings.column(key, table, column)
            return
        for name in ("projectList", "aggregateExpressions", "windowExpressions"):
            for one in node.expressions(name):
                self.meanings.define(one)
        if node.name == "Expand":
            self._expand(node)
        if node.name == "Generate" and (generator := node.expression("generator")) is not None:
            for place, made in enumerate(node.expressions("generatorOutput")):
                self.meanings.made(made.id, "generated", (generator,), place)
        for child in node.children:
            self.learn(child)

    def operators(self, node: Node) -> Iterable[StatefulOperator]:
        """Those at and below a node."""
        if node.name == "View" and declared_name(view_name(node), self.declared) is not None:
            return
        if _is_streaming(node):
            yield from self._here(node)
        for child in node.children:
            yield from self.operators(child)

    def _here(self, node: Node) -> Iterable[StatefulOperator]:
        name = node.name
        if name == "Aggregate":
            asked = node.expressions("aggregateExpressions")
            kept = dict.fromkeys(self.meanings.of(one) for tree in asked for one in _aggregates(tree))
            yield StatefulOperator("aggregation", self._all(node.expressions("groupingExpressions")), tuple(kept))
        elif name in ("Deduplicate", "DeduplicateWithinWatermark"):
            yield StatefulOperator("deduplication", self._all(node.expressions("keys")))
        elif name == "Distinct":
            keys = (self.meanings.of_id(key, label) for key, label in _columns(node.child))
            yield StatefulOperator("deduplication", tuple(keys))
        elif name == "Join" and all(_is_streaming(child) for child in node.children):
            condition = node.expression("condition")
            kind = f"{_join_type(node.fields.get('joinType'))} join".strip()
            yield StatefulOperator(kind, () if condition is None else (self.meanings.of(condition),))
        elif name == "GlobalLimit":
            limit = node.expression("limitExpr")
            yield StatefulOperator("limit", () if limit is None else (self.meanings.of(limit),))

    def _expand(self, node: Node) -> None:
        """Each column of an Expand is one of several expressions: those of a sliding window, one for each slide."""
        rows = [list(_lists(row)) for row in node.fields.get("projections") or ()]
        for place, made in enumerate(node.expressions("output")):
            if all(len(row) > place for row in rows):
                self.meanings.made(made.id, "expanded", tuple(row[place] for row in rows), 0)

    def _all(self, found: Iterable[Node]) -> tuple[Expression, ...]:
        return tuple(self.meanings.of(one) for one in found)


def _lists(row: Any) -> Iterable[Node]:
    return Node("", {"row": row}, ()).expressions("row")


def _aggregates(node: Node) -> Iterable[Node]:
    if node.name == "AggregateExpression":
        yield node
        return
    for child in node.children:
        yield from _aggregates(child)


def _is_streaming(node: Node) -> bool:
    if node.name in _RELATIONS or node.fields.get("isStreaming") is True:
        return True
    return any(_is_streaming(child) for child in node.children)


def _output(node: Node) -> list[int]:
    return [key for key, _ in _columns(node)]


def _columns(node: Node) -> list[tuple[int, str]]:
    """The columns that a node gives, by id and name; none where that is not known."""
    for name in ("projectList", "aggregateExpressions", "output"):
        if node.fields.get(name):
            return [(one.id, one.label) for one in node.expressions(name)]
    return _columns(node.child) if node.name in _HANDS_ON else []


def _join_type(found: Any) -> str:
    text = found.get("object", "") if isinstance(found, Mapping) else str(found or "")
    word = str(text).rpartition(".")[2].rstrip("$")
    return {"Inner": "inner", "LeftOuter": "left", "RightOuter": "right", "FullOuter": "full"}.get(word, word.lower())
