"""Plans as relations: the columns that a plan's rows have, and what decides which rows there are.

A declared table is told by a ``View`` whose name is that of the table: Spark wraps each temporary view in one, under
all aliases that a query gives it, and a CTE of the same name has none.  Below it nothing is read; its columns are those
of the view.  A table of a catalog is a relation with a name of its own, or one right below the qualified name.

Invariants
    L5  every column that a node gives has a value; one that cannot be told is noted, and counts as made of all columns
        below the node.
    L6  a node that is not understood is noted, and each column that it names decides which rows there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from anabranch.streams.lineage.expressions import ExpressionReader, Findings, Scope, SubqueryValue
from anabranch.streams.lineage.naming import declared_name, relation_name, view_name
from anabranch.streams.lineage.plans import Node, PlanFormatError
from anabranch.streams.lineage.values import NOTHING, LineageKind, SourceColumn, Use, Value, joined, through

_SAME = frozenset(
    {
        *("SubqueryAlias", "View", "CTERelationDef", "PipeOperator", "ResolvedHint", "UpdateEventTimeWatermarkColumn"),
        *("GlobalLimit", "LocalLimit", "Limit", "Offset", "Tail", "Sample", "SQLFunctionNode", "Repartition"),
    }
)
"""Nodes that hand on the columns of their child, and of which no column decides anything."""
_SPREADS = frozenset({"RepartitionByExpression", "RebalancePartitions", "CollectMetrics"})
"""Such nodes that name columns all the same."""
_RELATIONS = frozenset(
    {
        *("LogicalRelation", "StreamingRelation", "StreamingRelationV2", "StreamingDataSourceV2Relation"),
        *("DataSourceV2Relation", "HiveTableRelation", "LogicalRDD", "StreamingExecutionRelation"),
    }
)
_CONSTANTS = frozenset({"LocalRelation", "Range", "OneRowRelation"})
_FUNCTIONS = frozenset(
    {
        *("MapInPandas", "PythonMapInArrow", "MapInArrow", "FlatMapGroupsInPandas", "FlatMapGroupsInArrow"),
        *("FlatMapGroupsInPandasWithState", "TransformWithStateInPySpark", "TransformWithStateInPandas"),
        *("FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow"),
    }
)
"""Nodes that give rows to a function of Python: each column it gives may be made of any that it gets."""
_HALF = ("LeftSemi", "LeftAnti")


@dataclass(frozen=True, slots=True)
class Relation:
    """Columns of a plan in order by id, each with its value, and the uses that decide on its rows.

    ``rest`` is the value of a column that the plan gives and of which nothing is known.
    """

    columns: tuple[tuple[int, str], ...]
    values: Mapping[int, Value]
    rows: frozenset[Use] = frozenset()
    rest: Value | None = None

    def given(self) -> tuple[Value, ...]:
        """The values of its columns."""
        return tuple(self.values.get(key, self.rest or NOTHING) for key, _ in self.columns)

    def all_uses(self) -> frozenset[Use]:
        """The uses of all columns."""
        return frozenset[Use]().union(*(one.flat() for one in (*self.given(), *((self.rest,) if self.rest else ()))))


@dataclass(slots=True)
class PlanReader:
    """Plans as relations; ``declared`` are the names of tables at which a plan is not read further."""

    declared: Mapping[str, str]
    findings: Findings = field(default_factory=Findings)
    _expressions: ExpressionReader = field(init=False)
    _definitions: dict[int, Node] = field(default_factory=dict)
    _defined: dict[int, Relation] = field(default_factory=dict)
    _loops: dict[int, Relation] = field(default_factory=dict)
    _named: str | None = None

    def __post_init__(self) -> None:
        self._expressions = ExpressionReader(self.findings, self._subquery)

    def read(self, node: Node, outer: Scope | None = None) -> Relation:
        """The relation of a plan; ``outer`` has the columns of the query around it."""
        name = node.name
        if name == "SubqueryAlias" and node.child.name in _RELATIONS:
            self._named = relation_name(node.fields.get("identifier"), self.declared)
        if name == "View" and (table := declared_name(view_name(node), self.declared)) is not None:
            return self._table(table, node, self._inside(node.child))
        if name in _RELATIONS:
            return self._relation(node)
        if name in ("CTERelationRef", "UnionLoopRef"):
            return self._reference(node) if name == "CTERelationRef" else self._again(node)
        if name in _CONSTANTS:
            return self._made(node, {})
        if name in _SAME:
            return self.read(node.child, outer)
        reading = _READING.get(name)
        return self._unknown(node, outer) if reading is None else reading(self, node, outer)

    # -- leaves ------------------------------------------------------------------------------------------

    def _inside(self, node: Node) -> Relation:
        """The columns of a declared table's own plan; what is in that plan is nobody's business."""
        return PlanReader({}, Findings()).read(node)

    def _table(self, name: str, view: Node, inside: Relation) -> Relation:
        names = tuple(str(one["name"]) for one in view.fields["desc"]["schema"]["fields"])
        if len(names) != len(inside.columns):
            raise PlanFormatError(f"table {name} has {len(names)} columns, and its plan has {len(inside.columns)}")
        return self._columns(name, tuple(zip((key for key, _ in inside.columns), names, strict=True)))

    def _relation(self, node: Node) -> Relation:
        name = relation_name(node.fields.get("catalogTable") or node.fields.get("tableMeta"), self.declared)
        name = name or self._named
        self._named = None
        if name is None:
            self.findings.note("relation", str(node.fields.get("sourceName") or node.name))
            return self._made(node, {})
        return self._columns(name, _attributes(node, "output") or _hive_columns(node))

    def _columns(self, table: str, columns: tuple[tuple[int, str], ...]) -> Relation:
        self.findings.tables[table] = tuple(name for _, name in columns)
        values = {
            key: Value(frozenset({Use(SourceColumn(table, name), LineageKind.IDENTITY)})) for key, name in columns
        }
        return Relation(columns, values)

    def _made(self, node: Node, values: Mapping[int, Value], field: str = "output") -> Relation:
        columns = _attributes(node, field)
        return Relation(columns, {key: values.get(key, NOTHING) for key, _ in columns})

    # -- one child ---------------------------------------------------------------------------------------

    def _project(self, node: Node, outer: Scope | None) -> Relation:
        return self._selected(node.expressions("projectList"), self.read(node.child, outer), outer)

    def _selected(self, items: tuple[Node, ...], below: Relation, outer: Scope | None) -> Relation:
        scope = _scope(below, outer)
        hands_on = any(_is_window_of_time(one) for one in items)
        values = {}
        for one in items:
            found = scope.find(one.id) if one.name == "AttributeReference" and hands_on else None
            values[one.id] = self._value(one, scope) if found is None else found
        return Relation(tuple((one.id, one.label) for one in items), values, below.rows)

    def _aggregate(self, node: Node, outer: Scope | None) -> Relation:
        below = self.read(node.child, outer)
        made, scope = self._selected(node.expressions("aggregateExpressions"), below, outer), _scope(below, outer)
        keys = self._uses(node.expressions("groupingExpressions"), scope, LineageKind.GROUP_BY)
        return replace(made, rows=made.rows | keys)

    def _filter(self, node: Node, outer: Scope | None) -> Relation:
        return self._deciding(node, outer, "condition", LineageKind.FILTER)

    def _sort(self, node: Node, outer: Scope | None) -> Relation:
        return self._deciding(node, outer, "order", LineageKind.SORT)

    def _watermark(self, node: Node, outer: Scope | None) -> Relation:
        return self._deciding(node, outer, "eventTime", LineageKind.WATERMARK)

    def _deduplicate(self, node: Node, outer: Scope | None) -> Relation:
        return self._deciding(node, outer, "keys", LineageKind.GROUP_BY)

    def _deciding(self, node: Node, outer: Scope | None, name: str, kind: LineageKind) -> Relation:
        below = self.read(node.child, outer)
        found = node.fields.get(name) or []
        is_one = bool(found) and isinstance(found[0], Mapping)
        asked = (node.expression(name),) if is_one else node.expressions(name)
        uses = self._uses((one for one in asked if one is not None), _scope(below, outer), kind)
        return replace(below, rows=below.rows | uses)

    def _spread(self, node: Node, outer: Scope | None) -> Relation:
        below = self.read(node.child, outer)
        for one in node.all_expressions():
            self._value(one, _scope(below, outer))
        return below

    def _distinct(self, node: Node, outer: Scope | None) -> Relation:
        below = self.read(node.child, outer)
        return replace(below, rows=below.rows | through(below.all_uses(), LineageKind.GROUP_BY))

    def _window(self, node: Node, outer: Scope | None) -> Relation:
        below = self.read(node.child, outer)
        made = node.expressions("windowExpressions")
        values = {one.id: self._value(one, _scope(below, outer)) for one in made}
        return _wider(below, tuple((one.id, one.label) for one in made), values)

    def _generate(self, node: Node, outer: Scope | None) -> Relation:
        """Rows made of an array, a map or a function: what they are made of also decides how many there are."""
        below, made = self.read(node.child, outer), _attributes(node, "generatorOutput")
        generator = node.expression("generator")
        uses = self._uses(
            () if generator is None else generator.children, _scope(below, outer), LineageKind.TRANSFORMATION
        )
        found = _wider(below, made, {key: Value(uses) for key, _ in made})
        return replace(found, rows=found.rows | through(uses, LineageKind.FILTER))

    def _expand(self, node: Node, outer: Scope | None) -> Relation:
        """Each row several times, as grouping sets and sliding windows need it."""
        below = self.read(node.child, outer)
        scope, made = _scope(below, outer), _attributes(node, "output")
        given: list[list[Value]] = [[] for _ in made]
        for projection in node.fields.get("projections") or ():
            for at, one in enumerate(replace(node, fields={"of": projection}).expressions("of")[: len(made)]):
                is_column = one.name == "AttributeReference"
                given[at].append((scope.find(one.id) or NOTHING) if is_column else self._value(one, scope))
        return Relation(made, {key: joined(each) for (key, _), each in zip(made, given, strict=True)}, below.rows)

    def _function(self, node: Node, outer: Scope | None) -> Relation:
        below = [self.read(one, outer) for one in node.children]
        uses = frozenset[Use]().union(*(one.all_uses() for one in below))
        self.findings.read(uses)
        rows = frozenset[Use]().union(*(one.rows for one in below))
        scope = Scope({key: value for one in below for key, value in one.values.items()}, None, outer)
        keys = [*node.expressions("groupingAttributes"), *node.expressions("leftAttributes")]
        first = below[0].given()[: int(node.fields.get("groupingAttributesLen", 0))]
        grouped = frozenset[Use]().union(*(one.flat() for one in first))
        rows |= self._uses(keys, scope, LineageKind.GROUP_BY) | through(grouped, LineageKind.GROUP_BY)
        rows |= through(uses, LineageKind.FILTER)
        made = _attributes(node, "output") or _attributes(node, "outputAttrs") or _attributes(node, "outputAttributes")
        value = Value(through(uses, LineageKind.TRANSFORMATION))
        return Relation(made, {key: value for key, _ in made}, rows, value)

    # -- several children --------------------------------------------------------------------------------

    def _join(self, node: Node, outer: Scope | None) -> Relation:
        left, right = (self.read(one, outer) for one in node.children)
        both = Relation((*left.columns, *right.columns), {**left.values, **right.values}, left.rows | right.rows)
        both = replace(both, rest=left.rest or right.rest)
        return self._matched(node, left, both, outer)

    def _lateral(self, node: Node, outer: Scope | None) -> Relation:
        left, query = self.read(node.child, outer), node.expression("right")
        plan = None if query is None else query.expression("plan")
        if plan is None:
            return self._unknown(node, outer)
        right = self.read(plan, _scope(left, outer))
        both = _wider(left, right.columns, right.values)
        return self._matched(node, left, replace(both, rows=left.rows | right.rows), outer)

    def _matched(self, node: Node, left: Relation, both: Relation, outer: Scope | None) -> Relation:
        condition = node.expression("condition")
        asked = () if condition is None else (condition,)
        uses = self._uses(asked, _scope(both, outer), LineageKind.JOIN)
        kind = str(node.fields.get("joinType"))
        kept = left if any(one in kind for one in _HALF) else both
        return replace(kept, rows=both.rows | uses)

    def _union(self, node: Node, outer: Scope | None) -> Relation:
        return _stacked([self.read(one, outer) for one in node.children])

    def _compared(self, node: Node, outer: Scope | None) -> Relation:
        """INTERSECT and EXCEPT: rows of the left that are, or are not, on the right."""
        left, right = (self.read(one, outer) for one in node.children)
        uses = through(left.all_uses() | right.all_uses(), LineageKind.JOIN)
        return replace(left, rows=left.rows | right.rows | uses)

    # -- common table expressions ------------------------------------------------------------------------

    def _with(self, node: Node, outer: Scope | None) -> Relation:
        *definitions, plan = node.children
        for one in definitions:
            self._definitions[int(one.fields["id"])] = one
        found = self.read(plan, outer)
        tables = dict(self.findings.tables)
        for one in definitions:  # one that nobody refers to is read for its columns: it breaks with them
            self._definition(int(one.fields["id"]))
        self.findings.tables = tables
        return found

    def _definition(self, key: int) -> Relation:
        if key not in self._defined:
            if key not in self._definitions:
                raise PlanFormatError(f"a query refers to the common table expression {key}, which is not there")
            self._defined[key] = self.read(self._definitions[key])
        return self._defined[key]

    def _reference(self, node: Node) -> Relation:
        return _renamed(self._definition(int(node.fields["cteId"])), _attributes(node, "output"))

    def _loop(self, node: Node, outer: Scope | None) -> Relation:
        """A recursive query: read again until the recursion adds nothing."""
        key, (anchor, recursion) = int(node.fields["id"]), node.children
        found = self.read(anchor, outer)
        while True:
            self._loops[key] = found
            wider = _stacked([found, self.read(recursion, outer)])
            if wider == found:
                break
            found = wider
        names = zip(node.fields["outputAttrIds"], found.columns, strict=True)
        return _renamed(found, tuple((int(one["id"]), name) for one, (_, name) in names))

    def _again(self, node: Node) -> Relation:
        return _renamed(self._loops[int(node.fields["loopId"])], _attributes(node, "output"))

    # -- the rest ----------------------------------------------------------------------------------------

    def _unknown(self, node: Node, outer: Scope | None) -> Relation:
        """A node that is not understood (L5, L6)."""
        self.findings.note("plan", node.type)
        below = [self.read(one, outer) for one in node.children]
        values = {key: value for one in below for key, value in one.values.items()}
        rest = Value(through(frozenset().union(*(one.all_uses() for one in below)), LineageKind.TRANSFORMATION))
        self.findings.read(rest.uses)
        rows = frozenset[Use]().union(*(one.rows for one in below))
        rows |= self._uses(node.all_expressions(), Scope(values, rest, outer), LineageKind.FILTER)
        made = _attributes(node, "output")
        columns = made or tuple(column for one in below for column in one.columns)
        return Relation(columns, values, rows, rest)

    def _subquery(self, plan: Node, scope: Scope) -> SubqueryValue:
        found = self.read(plan, scope)
        return SubqueryValue(found.given(), found.rows)

    def _value(self, node: Node, scope: Scope) -> Value:
        return self._expressions.value(node, scope)

    def _uses(self, nodes: Iterable[Node], scope: Scope, kind: LineageKind) -> frozenset[Use]:
        return frozenset[Use]().union(*(through(self._value(one, scope).flat(), kind) for one in nodes))


_READING: Mapping[str, Callable[[PlanReader, Node, Scope | None], Relation]] = {
    "Project": PlanReader._project,
    "Aggregate": PlanReader._aggregate,
    "Filter": PlanReader._filter,
    "Sort": PlanReader._sort,
    "EventTimeWatermark": PlanReader._watermark,
    "Deduplicate": PlanReader._deduplicate,
    "DeduplicateWithinWatermark": PlanReader._deduplicate,
    "Distinct": PlanReader._distinct,
    "Window": PlanReader._window,
    "Generate": PlanReader._generate,
    "Expand": PlanReader._expand,
    "Join": PlanReader._join,
    "LateralJoin": PlanReader._lateral,
    "Union": PlanReader._union,
    "Intersect": PlanReader._compared,
    "Except": PlanReader._compared,
    "WithCTE": PlanReader._with,
    "UnionLoop": PlanReader._loop,
    **dict.fromkeys(_SPREADS, PlanReader._spread),
    **dict.fromkeys(_FUNCTIONS, PlanReader._function),
}


def _scope(below: Relation, outer: Scope | None) -> Scope:
    return Scope(below.values, below.rest, outer)


def _attributes(node: Node, name: str) -> tuple[tuple[int, str], ...]:
    return tuple((one.id, one.label) for one in node.expressions(name))


def _hive_columns(node: Node) -> tuple[tuple[int, str], ...]:
    return (*_attributes(node, "dataCols"), *_attributes(node, "partitionCols"))


def _wider(below: Relation, columns: tuple[tuple[int, str], ...], values: Mapping[int, Value]) -> Relation:
    return replace(below, columns=(*below.columns, *columns), values={**below.values, **values})


def _renamed(found: Relation, columns: tuple[tuple[int, str], ...]) -> Relation:
    """The same rows by other ids, position by position."""
    if len(columns) != len(found.columns):
        raise PlanFormatError(f"a reference has {len(columns)} columns, and what it refers to {len(found.columns)}")
    return Relation(columns, dict(zip((key for key, _ in columns), found.given(), strict=True)), found.rows)


def _stacked(parts: list[Relation]) -> Relation:
    """A union: its columns have the ids of the first part's."""
    first = parts[0]
    if any(len(one.columns) != len(first.columns) for one in parts):
        raise PlanFormatError("the parts of a union have different numbers of columns")
    given = zip(*(one.given() for one in parts), strict=True)
    values = {key: joined(each) for (key, _), each in zip(first.columns, given, strict=True)}
    return Relation(first.columns, values, frozenset[Use]().union(*(one.rows for one in parts)))


def _is_window_of_time(item: Node) -> bool:
    """Whether Spark itself made this column, for a window of time; it hands on all columns beside it."""
    if item.name != "Alias" or item.child.name != "CreateNamedStruct":
        return False
    value = item.child.children[1]
    while value.name in ("KnownNullable", "KnownNotNull"):
        value = value.child
    return value.name == "PreciseTimestampConversion"
