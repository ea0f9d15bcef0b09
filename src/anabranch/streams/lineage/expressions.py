"""Expressions of an analysed plan as values.

An expression of Spark depends on its children alone, but for those that hold a plan (subqueries) or name a column
(attributes).  So a function that is not known by name still has all its sources; where its class is not one of Spark's
own expressions it is noted as not understood beside that (L4).

Invariants
    L4  an expression that is not understood is noted, and counts as made of all its children.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.streams.lineage.plans import Node
from anabranch.streams.lineage.values import NOTHING, LineageKind, SourceColumn, Use, Value, joined, through

_OWN = "org.apache.spark.sql.catalyst.expressions."
_KNOWN = frozenset(
    {
        "org.apache.spark.sql.execution.aggregate.ScalaAggregator",
        "org.apache.spark.sql.execution.aggregate.ScalaUDAF",
        "org.apache.spark.sql.avro.AvroDataToCatalyst",
        "org.apache.spark.sql.avro.CatalystDataToAvro",
        "org.apache.spark.sql.protobuf.ProtobufDataToCatalyst",
        "org.apache.spark.sql.protobuf.CatalystDataToProtobuf",
    }
)
_LEAVES = frozenset(
    {
        *("Literal", "NamedLambdaVariable", "UnresolvedNamedLambdaVariable", "Uuid", "Rand", "Randn", "RandStr"),
        *("CurrentTimestamp", "CurrentDate", "Now", "LocalTimestamp", "CurrentTime", "CurrentTimeZone", "CurrentUser"),
        *("CurrentDatabase", "CurrentCatalog", "CurrentBatchTimestamp", "CurrentTimestampLike", "UnixTimestamp"),
        *("MonotonicallyIncreasingID", "SparkPartitionID", "SparkVersion", "Pi", "EulerNumber"),
        *("InputFileName", "InputFileBlockStart", "InputFileBlockLength", "VariableReference"),
        *("RowNumber", "CumeDist", "UnboundedPreceding", "UnboundedFollowing", "CurrentRow", "UnspecifiedFrame"),
        *("CreateArray", "CreateMap", "CreateNamedStruct", "Concat", "Rank", "DenseRank", "PercentRank"),
    }
)
"""Expressions without children of which no column is hidden; the last have none where they are given no arguments."""
_SAME = frozenset(
    {
        *("Alias", "KnownNullable", "KnownNotNull", "KnownFloatingPointNormalized", "TempResolvedColumn"),
        *("PipeExpression", "SQLScalarFunction", "CommonExpressionDef"),
    }
)
_RANKS = frozenset({"Rank", "DenseRank", "PercentRank"})
_SUBQUERIES = frozenset({"ScalarSubquery", "ListQuery", "Exists", "LateralSubquery"})
_MEANT = frozenset(
    {
        *("AttributeReference", "OuterReference", "OuterScopeReference", "Cast", "GetStructField", "CreateNamedStruct"),
        *("CaseWhen", "If", "With", "CommonExpressionRef", "TypedNullLiteral", "AggregateExpression"),
        *("WindowExpression", "PreciseTimestampConversion", *_SAME, *_SUBQUERIES),
    }
)
"""Expressions that are more than a function of their children."""


@dataclass(frozen=True, slots=True, order=True)
class NotUnderstood:
    """What lineage does not know the meaning of; ``what``: expression, plan, relation or column."""

    what: str
    name: str


@dataclass(slots=True)
class Findings:
    """What was met on the way: what no edge tells."""

    not_understood: set[NotUnderstood] = field(default_factory=set)
    reads: set[SourceColumn] = field(default_factory=set)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The tables that are read, each with all its columns."""

    def note(self, what: str, name: str) -> None:
        """That something is not understood."""
        self.not_understood.add(NotUnderstood(what, name))

    def read(self, uses: frozenset[Use]) -> None:
        """That the query names columns."""
        self.reads |= {one.source for one in uses}


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns that an expression may name, by id; ``rest`` is any that a node not understood may have made.

    ``common`` are the parts that an expression of Spark's has once and uses several times, as BETWEEN does.
    """

    values: Mapping[int, Value]
    rest: Value | None = None
    outer: Scope | None = None
    common: tuple[Value, ...] = ()

    def find(self, key: int) -> Value | None:
        """The value of a column here, or in a query around this one."""
        scope: Scope | None = self
        while scope is not None:
            if key in scope.values:
                return scope.values[key]
            scope = scope.outer
        return self.rest


@dataclass(frozen=True, slots=True)
class SubqueryValue:
    """A subquery as an expression has it: its columns, and what its rows depend on."""

    columns: tuple[Value, ...]
    rows: frozenset[Use]


@dataclass(frozen=True, slots=True)
class ExpressionReader:
    """Expressions as values; ``subquery`` reads a plan inside one, in the scope around it."""

    findings: Findings
    subquery: Callable[[Node, Scope], SubqueryValue]

    def value(self, node: Node, scope: Scope) -> Value:
        """What an expression depends on."""
        value = self._value(node, scope)
        self.findings.read(value.flat())
        return value

    def _value(self, node: Node, scope: Scope) -> Value:
        name = node.name
        if name == "AttributeReference":
            return self._column(node, scope)
        if name in ("OuterReference", "OuterScopeReference"):
            inner = node.expression("e")
            return NOTHING if inner is None else self._value(inner, scope)
        if name in _SUBQUERIES:
            return self._subquery(node, scope)
        if name in _SAME or (name == "Cast" and _is_same_type(node)):
            return self._value(node.child, scope)
        if name == "GetStructField":
            return self._value(node.child, scope).field(int(node.fields["ordinal"]), _field_name(node))
        if name == "CreateNamedStruct":
            return Value(parts=tuple(self._value(one, scope) for one in node.children[1::2]))
        if name in ("CaseWhen", "If"):
            return self._choice(node, scope)
        if name == "With":
            asked, *parts = node.children
            common = tuple(self._value(one, scope) for one in parts)
            return self._value(asked, replace(scope, common=(*scope.common, *common)))
        if name == "CommonExpressionRef":  # Spark's JSON does not tell which one
            return joined(scope.common)
        if name == "TypedNullLiteral":
            return NOTHING
        if name == "AggregateExpression":
            return self._aggregate(node, scope)
        if name == "WindowExpression":
            return self._window(node, scope)
        value = Value(through(self._arguments(node, scope), LineageKind.TRANSFORMATION))
        return _without_conditions(value) if name == "PreciseTimestampConversion" else value

    def _arguments(self, function: Node, scope: Scope) -> frozenset[Use]:
        """The uses of a function's arguments; functions in it need no call each, as chains of AND are deep."""
        found, waiting = frozenset[Use](), [function]
        while waiting:
            node = waiting.pop()
            self._check(node)
            for one in node.children:
                if one.name in _MEANT:
                    found |= self._value(one, scope).flat()
                else:
                    waiting.append(one)
        return found

    def _all(self, nodes: tuple[Node, ...], scope: Scope) -> frozenset[Use]:
        return frozenset[Use]().union(*(self._value(one, scope).flat() for one in nodes))

    def _column(self, node: Node, scope: Scope) -> Value:
        found = scope.find(node.id)
        if found is None:
            self.findings.note("column", node.label)
            return NOTHING
        return found

    def _choice(self, node: Node, scope: Scope) -> Value:
        """CASE and IF: a condition chooses, a branch is the value."""
        count = len(node.children)
        asked = node.children[0 : count - 1 : 2] if node.name == "CaseWhen" else node.children[:1]
        given = (*node.children[1::2], *(node.children[-1:] if count % 2 else ()))
        branches = given if node.name == "CaseWhen" else node.children[1:]
        return Value(
            through(self._all(asked, scope), LineageKind.CONDITIONAL)
            | through(self._all(branches, scope), LineageKind.TRANSFORMATION)
        )

    def _aggregate(self, node: Node, scope: Scope) -> Value:
        function, *conditions = node.children
        self._check(function)
        shaping = through(self._all(function.children, scope), LineageKind.AGGREGATION)
        if function.name == "PivotFirst":  # its first column chooses the column that a row counts for
            asked, given = function.children
            shaping = self._value(asked, scope).then(LineageKind.CONDITIONAL).uses
            shaping |= self._value(given, scope).then(LineageKind.AGGREGATION).uses
        return Value(shaping | through(self._all(tuple(conditions), scope), LineageKind.FILTER))

    def _window(self, node: Node, scope: Scope) -> Value:
        """A function OVER a window: a rank is made of the window's columns alone."""
        function, window = node.children
        over = through(self._all(window.children, scope), LineageKind.WINDOW)
        if function.name in _RANKS:
            return Value(over)
        return Value(self._value(function, scope).then(LineageKind.TRANSFORMATION).uses | over)

    def _subquery(self, node: Node, scope: Scope) -> Value:
        plan = node.expression("plan")
        if plan is None:
            self.findings.note("expression", node.name)
            return NOTHING
        found = self.subquery(plan, scope)
        if node.name == "Exists":
            return Value(found.rows)
        value = joined(found.columns) if len(found.columns) == 1 else Value(_flat(found.columns))
        return Value(value.uses | found.rows, value.parts)

    def _check(self, node: Node) -> None:
        is_own = node.type.startswith(_OWN) or node.type in _KNOWN
        if not is_own or (not node.children and node.name not in _LEAVES and not _is_call(node)):
            self.findings.note("expression", node.type)


def _flat(values: tuple[Value, ...]) -> frozenset[Use]:
    return frozenset[Use]().union(*(one.flat() for one in values))


def _is_call(node: Node) -> bool:
    """Whether this is a function of a user, which may take no argument."""
    return node.name in ("PythonUDF", "ScalaUDF", "PythonUDAF", "PythonUDTF", "PythonUDTFAnalyzeResult")


def _without_conditions(value: Value) -> Value:
    """Spark works out windows of time with conditions on the time itself, of which the query says nothing."""
    direct = {one.source for one in value.uses if one.kind.is_direct}
    hidden = {one for one in value.uses if one.kind is LineageKind.CONDITIONAL and one.source in direct}
    return Value(value.uses - hidden)


def _is_same_type(cast: Node) -> bool:
    kind = type_of(cast.child)
    return kind is not None and _bare(kind) == _bare(cast.fields.get("dataType"))


def _bare(kind: Any) -> Any:
    """A type without what says nothing of the values: whether they may be null, and notes."""
    if isinstance(kind, Mapping):
        notes = ("nullable", "metadata", "containsNull", "valueContainsNull")
        return {name: _bare(one) for name, one in kind.items() if name not in notes}
    return [_bare(one) for one in kind] if isinstance(kind, list) else kind


def _field_name(node: Node) -> str | None:
    if node.fields.get("name"):
        return node.label
    found = _field_of(type_of(node.child), int(node.fields["ordinal"]))
    return None if found is None else str(found["name"])


def type_of(node: Node) -> Any:
    """The type of an expression in Spark's JSON, where that is told; None elsewhere."""
    if node.name in _SAME:
        return type_of(node.child)
    if node.name == "GetStructField":
        found = _field_of(type_of(node.child), int(node.fields["ordinal"]))
        return None if found is None else found["type"]
    if node.name == "JsonToStructs":
        return node.fields.get("schema")
    return node.fields.get("dataType")


def _field_of(kind: Any, ordinal: int) -> Any:
    if not isinstance(kind, Mapping) or kind.get("type") != "struct" or ordinal >= len(kind.get("fields", ())):
        return None
    return kind["fields"][ordinal]
