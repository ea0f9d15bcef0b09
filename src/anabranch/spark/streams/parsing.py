"""What kind of statement it is, by the plan that Spark's own parser makes of it, and what a CREATE TABLE declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pyspark.sql import SparkSession

from anabranch.spark.streams.closing import plan_of
from anabranch.spark.streams.refusals import ScriptText
from anabranch.streams.script import Statement
from anabranch.streams.tables import Column, TableDeclaration


class StatementKind(StrEnum):
    """What a statement of a script may be."""

    TABLE = "table"
    VIEW = "view"
    FUNCTION = "function"
    SET = "set"
    INSERT = "insert"
    SELECT = "select"


_KINDS = {
    "CreateTable": StatementKind.TABLE,
    "CreateTempViewUsing": StatementKind.TABLE,
    "CreateView": StatementKind.VIEW,
    "CreateViewCommand": StatementKind.VIEW,
    "CreateFunction": StatementKind.FUNCTION,
    "CreateFunctionCommand": StatementKind.FUNCTION,
    "CreateUserDefinedFunction": StatementKind.FUNCTION,
    "CreateSQLFunctionCommand": StatementKind.FUNCTION,
    "SetCommand": StatementKind.SET,
}
_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_COMMANDS = tuple(f"{_LOGICAL}.{name}" for name in ("Command", "ParsedStatement", "CompoundPlanStatement"))
_RUN_AT_ONCE = frozenset({"UnresolvedExecuteImmediate", "ExecuteImmediateCommand"})
"""What Spark calls a query, and does while it analyses it: EXECUTE IMMEDIATE takes any statement in a text."""
_WAYS = {
    "ReplaceTable": "write CREATE TABLE: a script's tables are of this run alone",
    "CreateTableAsSelect": "write CREATE TABLE n (columns) USING ..., and INSERT INTO n SELECT ...",
    "CreateStreamingTableAsSelect": "write CREATE TABLE n (columns) USING ..., and INSERT INTO n SELECT ...",
    "AddJarsCommand": "give the jar to the job: --conf spark.jars=PATH",
    "ResetCommand": "leave it out: each run begins with the job's own settings",
}


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A statement and what Spark's parser made of it; ``target`` and ``query`` are plans of Spark where it has them.

    ``name`` is what it creates or writes to, in its own spelling and without quotes; ``columns`` are those that a
    view or an INSERT names.  A function has its ``handler`` and its ``resources``, where it names any.
    """

    statement: Statement
    kind: StatementKind
    plan: Any
    name: str = ""
    query: Any = None
    columns: tuple[str, ...] = ()
    by_name: bool = False
    handler: str = ""
    resources: tuple[str, ...] = ()
    replaces: bool = False


def parse(spark: SparkSession, script: ScriptText, statement: Statement) -> ParsedStatement:
    """Parse and classify; raises ScriptError."""
    try:
        plan = plan_of(spark, statement.padded())
    except Exception as error:
        raise script.told(error, statement) from error
    shape = _class_of(plan)
    if shape == "UnresolvedWith" and _class_of(plan.child()) == "InsertIntoStatement":
        insert = plan.child()
        return _insert(script, statement, insert, plan.copy(insert.query(), plan.cteRelations(), plan.allowRecursion()))
    if shape == "InsertIntoStatement":
        return _insert(script, statement, plan, plan.query())
    kind = _KINDS.get(shape)
    if kind is None:
        if _is_command(plan) or _inserts(plan) or shape in _RUN_AT_ONCE:
            raise script.refuse(statement, f"{_words(shape)} is no part of a stream's script", _WAYS.get(shape, _FIX))
        return ParsedStatement(statement, StatementKind.SELECT, plan, "", plan)
    if kind is StatementKind.VIEW:
        columns = tuple(pair._1() for pair in _each(plan.userSpecifiedColumns()))
        if shape == "CreateViewCommand":
            return ParsedStatement(statement, kind, plan, plan.name().identifier(), plan.plan(), columns)
        return ParsedStatement(statement, kind, plan, _name(plan.child().nameParts()), plan.query(), columns)
    if kind is StatementKind.TABLE:
        name = plan.tableIdent().identifier() if shape == "CreateTempViewUsing" else _name(plan.name().nameParts())
        return ParsedStatement(statement, kind, plan, name)
    if shape in ("CreateFunction", "CreateFunctionCommand"):
        return _function(statement, plan)
    return ParsedStatement(statement, kind, plan)


def _function(statement: Statement, plan: Any) -> ParsedStatement:
    is_command = _class_of(plan) == "CreateFunctionCommand"
    name = plan.identifier().funcName() if is_command else _name(plan.child().nameParts())
    resources = tuple(one.uri() for one in _each(plan.resources()))
    told = {"handler": plan.className(), "resources": resources, "replaces": bool(plan.replace())}
    return ParsedStatement(statement, StatementKind.FUNCTION, plan, name, **told)


def _insert(script: ScriptText, statement: Statement, insert: Any, query: Any) -> ParsedStatement:
    if _class_of(insert.table()) != "UnresolvedRelation":
        raise script.refuse(statement, "it writes to no table", "CREATE TABLE n (...) USING ..., and INSERT INTO n")
    if insert.overwrite():
        raise script.refuse(statement, "INSERT OVERWRITE is no part of a stream's script", "write INSERT INTO")
    name, columns = _name(insert.table().multipartIdentifier()), tuple(_each(insert.userSpecifiedCols()))
    return ParsedStatement(statement, StatementKind.INSERT, insert, name, query, columns, insert.byName())


_FIX = "a script has CREATE TABLE, CREATE VIEW, CREATE FUNCTION, SET, SELECT and INSERT INTO"


def declaration(script: ScriptText, parsed: ParsedStatement) -> TableDeclaration:
    """What a CREATE TABLE says; raises ScriptError where it says no connector."""
    plan, line = parsed.plan, parsed.statement.line
    if _class_of(plan) == "CreateTempViewUsing":
        schema = plan.userSpecifiedSchema()
        fields = () if schema.isEmpty() else _each(schema.get().toSeq())
        columns = [(one.name(), one.dataType().sql()) for one in fields]
        provider, options = plan.provider(), {pair._1(): pair._2() for pair in _each(plan.options())}
    else:
        spec = plan.tableSpec()
        if spec.provider().isEmpty():
            problem = f"table {parsed.name} says no connector"
            raise script.refuse(parsed.statement, problem, "add USING kafka OPTIONS (...)")
        if not plan.partitioning().isEmpty():
            fix = "write OPTIONS (partition.by 'a, b')"
            raise script.refuse(parsed.statement, f"table {parsed.name} has PARTITIONED BY", fix)
        columns = [(one.name(), one.dataType().sql()) for one in _each(plan.columns())]
        provider = spec.provider().get()
        options = {pair._1(): str(pair._2().eval(None)) for pair in _each(spec.optionExpression().options())}
        options = {name: text.lower() if text in ("True", "False") else text for name, text in options.items()}
        if spec.location().isDefined():  # also of an option path, which the parser moves there
            options["path"] = spec.location().get()
    return TableDeclaration(parsed.name, provider.lower(), tuple(Column(*one) for one in columns), options, line)


def _each(sequence: Any) -> Iterator[Any]:
    iterator = sequence.iterator()
    while iterator.hasNext():
        yield iterator.next()


def _name(parts: Any) -> str:
    return ".".join(_each(parts))


def _class_of(plan: Any) -> str:
    return str(plan.getClass().getSimpleName())


def _is_command(plan: Any) -> bool:
    loader = plan.getClass().getClassLoader()
    return any(loader.loadClass(name).isInstance(plan) for name in _COMMANDS)


def _inserts(plan: Any) -> bool:
    """``FROM t INSERT INTO a ... INSERT INTO b ...``, which Spark takes for a union."""
    return any(_class_of(child) == "InsertIntoStatement" for child in _each(plan.children()))


def _words(shape: str) -> str:
    """A class of Spark's as a person would say it: ``DropTable`` is DROP TABLE."""
    name = shape.removeprefix("Unresolved").removesuffix("Command").removesuffix("Statement")
    if name == "Union":
        return "an INSERT into several tables at once"
    return "".join(f" {char}" if char.isupper() else char for char in name).strip().upper()
