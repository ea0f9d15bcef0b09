"""A script as what a stream runs: its tables, and a plan of Spark's for each INSERT and SELECT.

Nothing is read or written, and of the sinks nothing is opened.

Invariants
    A1  a script that is analysed has no statement that was passed over: each is one of the known kinds.
    A2  each insert has a name of its own, which depends on the order of inserts into its table alone.
    A3  tables and views are of the session that is given, and outlive it nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from anabranch.spark.streams import kafka_tables, native_tables
from anabranch.spark.streams.fitting import fitted
from anabranch.spark.streams.kafka_tables import KafkaReading
from anabranch.spark.streams.modes import mode_of
from anabranch.spark.streams.parsing import ParsedStatement, StatementKind, declaration, parse
from anabranch.spark.streams.refusals import ScriptText
from anabranch.spark.streams.sinks.port import SinkKind
from anabranch.streams.connectors import Connector, nearest
from anabranch.streams.script import Statement, split
from anabranch.streams.tables import TableDeclaration

_READ = re.compile(r"'UnresolvedRelation \[(?P<name>[^\]]*)\], \[[^\]]*\], (?P<streams>true|false)")


@dataclass(frozen=True, slots=True)
class InsertPlan:
    """One INSERT: the rows as the sink takes them, and the name of its query.

    ``number`` and ``line`` are the statement's.  ``plan`` is the analysed plan as Spark's JSON, ``mode`` the output
    mode: ``append``, ``update`` or ``complete``.
    """

    number: int
    line: int
    target: TableDeclaration
    query: str
    rows: DataFrame
    plan: str
    mode: str


@dataclass(frozen=True, slots=True)
class AnalysedScript:
    """All that a script says; ``selects`` are the rows of each SELECT by its statement, those of inserts, too."""

    statements: tuple[ParsedStatement, ...]
    tables: Mapping[str, TableDeclaration]
    inserts: tuple[InsertPlan, ...]
    selects: Mapping[int, DataFrame]


def analyse(
    text: str,
    spark: SparkSession,
    kinds: Mapping[str, SinkKind],
    kafka: KafkaReading,
    known: Iterable[TableDeclaration] = (),
) -> AnalysedScript:
    """Look at a script in a session of its own; ``known`` are tables that the script need not declare.

    Raises ScriptError for the first statement that cannot be run.
    """
    script = ScriptText(text)
    parsed = tuple(parse(spark, script, statement) for statement in split(text))
    found = _Analysis(script, spark, kinds, kafka, _reads(parsed))
    for table in known:
        found.tables[table.name.lower()] = table
    for one in parsed:
        found.take(one)
    return AnalysedScript(
        parsed,
        {table.name: table for table in found.tables.values()},
        tuple(found.inserts),
        found.selects,
    )


def connector_of(provider: str, kinds: Mapping[str, SinkKind]) -> Connector | None:
    """A connector with its options, read and written; None where nobody knows it."""
    reading = kafka_tables.READING if provider == kafka_tables.PROVIDER else native_tables.READING.get(provider)
    kind = kinds.get(provider)
    writing = None if kind is None else Connector(provider, kind.required, {**kind.optional, **_OURS})
    if provider == kafka_tables.PROVIDER and writing is not None:
        writing = Connector(provider, writing.required, writing.optional, kafka_tables.WRITING.prefixes)
    if reading is None or writing is None:
        return reading or writing
    return reading.joined(writing)


_OURS = {"output.mode": "append, update or complete"}


@dataclass(slots=True)
class _Analysis:
    """What is known after some statements."""

    script: ScriptText
    spark: SparkSession
    kinds: Mapping[str, SinkKind]
    kafka: KafkaReading
    reads: Mapping[str, frozenset[bool]]
    """Tables that the script reads, by their names in lower case: whether as streams, or also as they are."""
    tables: dict[str, TableDeclaration] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)
    shown: set[str] = field(default_factory=set)
    inserts: list[InsertPlan] = field(default_factory=list)
    selects: dict[int, DataFrame] = field(default_factory=dict)

    def take(self, parsed: ParsedStatement) -> None:
        """The next statement; raises ScriptError."""
        if parsed.kind is StatementKind.TABLE:
            self._declare(parsed)
        elif parsed.kind is StatementKind.VIEW:
            self._view(parsed)
        elif parsed.kind is StatementKind.INSERT:
            self._insert(parsed)
        elif parsed.kind is StatementKind.SELECT:
            self.selects[parsed.statement.number] = self._rows(parsed)
        else:
            self._execute(parsed)

    def _declare(self, parsed: ParsedStatement) -> None:
        statement, table = parsed.statement, declaration(self.script, parsed)
        self._check_new(parsed)
        connector = connector_of(table.provider, self.kinds)
        if connector is None and self._is_source(table.provider):
            connector = Connector(table.provider, is_open=True)
        if connector is None:
            known = sorted({kafka_tables.PROVIDER, *native_tables.READING, *self.kinds})
            fix = nearest(table.provider, known) or f"there is {', '.join(known)}"
            problem = f"no connector {table.provider!r}"
            raise self.script.refuse(statement, problem, fix, "UNKNOWN_CONNECTOR", table.provider)
        try:
            connector.check(table)
            if table.provider == kafka_tables.PROVIDER:
                kafka_tables.check(table)
            native_tables.references(table)
        except Exception as error:
            raise self.script.told(error, statement) from error
        self.tables[table.name.lower()] = table

    def _view(self, parsed: ParsedStatement) -> None:
        self._check_new(parsed)
        rows = self._rows(parsed)
        names = parsed.columns
        if names and len(names) != len(rows.columns):
            problem = f"view {parsed.name} names {len(names)} columns, and its query has {len(rows.columns)}"
            raise self.script.refuse(parsed.statement, problem, "name each column of the query, or none")
        try:
            (rows.toDF(*names) if names else rows).createOrReplaceTempView(f"`{parsed.name.replace('`', '``')}`")
        except Exception as error:
            raise self.script.told(error, parsed.statement) from error
        self.views[parsed.name.lower()] = parsed.name

    def _insert(self, parsed: ParsedStatement) -> None:
        statement = parsed.statement
        target = self.tables.get(parsed.name.lower())
        if target is None:
            fix = nearest(parsed.name, self._names()) or "declare it: CREATE TABLE ..."
            problem = f"no table {parsed.name!r}"
            raise self.script.refuse(statement, problem, fix, "TABLE_OR_VIEW_NOT_FOUND", parsed.name)
        kind = self.kinds.get(target.provider)
        if kind is None:
            problem = f"table {target.name} cannot be written: connector {target.provider} has no sink"
            fix = f"sinks are {', '.join(sorted(self.kinds))}"
            raise self.script.refuse(statement, problem, fix, "NO_SINK", parsed.name)
        rows = self._rows(parsed)
        self.selects[statement.number] = rows
        if not rows.isStreaming:
            fix = "read a Kafka table, or files as a stream: FROM STREAM t"
            raise self.script.refuse(statement, "the INSERT reads no stream", fix, "NO_STREAM")
        try:
            fit = fitted(rows, target, parsed.columns, parsed.by_name)
            mode = mode_of(fit, target)
            if target.provider == kafka_tables.PROVIDER:
                kafka_tables.encoded(fit, target)
        except Exception as error:
            raise self.script.told(error, statement) from error
        before = sum(one.target.name == target.name for one in self.inserts)
        query = target.name if not before else f"{target.name}-{before + 1}"
        plan = fit._jdf.queryExecution().analyzed().toJSON()
        self.inserts.append(InsertPlan(statement.number, statement.line, target, query, fit, plan, mode))

    def _execute(self, parsed: ParsedStatement) -> None:
        statement = parsed.statement
        if parsed.kind is StatementKind.SET and (self.selects or self.views):
            fix = "write it before the first VIEW, SELECT or INSERT: settings are those of the whole script"
            raise self.script.refuse(statement, "SET stands after what reads a table", fix)
        try:
            self.spark.sql(statement.padded()).collect()
        except Exception as error:
            raise self.script.told(error, statement, self._names()) from error

    def _rows(self, parsed: ParsedStatement) -> DataFrame:
        statement = parsed.statement
        for name in _names_read(parsed):
            self._show(name, statement)
        try:
            classic = self.spark._jvm.org.apache.spark.sql.classic.Dataset
            return DataFrame(classic.ofRows(self.spark._jsparkSession, parsed.query), self.spark)
        except Exception as error:
            raise self.script.told(error, statement, self._names()) from error

    def _show(self, name: str, statement: Statement) -> None:
        """Have a table that is read in the session, if it is one that was declared."""
        table = self.tables.get(name)
        if table is None or name in self.shown:
            return
        is_kafka = table.provider == kafka_tables.PROVIDER
        ways = self.reads.get(name, frozenset())
        if len(ways) > 1 and not is_kafka and table.provider not in native_tables.RATE:
            problem = f"table {table.name} is read as a stream, and elsewhere as it is"
            raise self.script.refuse(statement, problem, "declare it twice, by two names", "TWO_WAYS", table.name)
        if not is_kafka and table.provider not in native_tables.READING and table.provider in self.kinds:
            problem = f"table {table.name} is only written: connector {table.provider} reads nothing"
            raise self.script.refuse(statement, problem, "read from another table", "NO_SOURCE", table.name)
        try:
            if is_kafka:
                rows = self.kafka.rows(self.spark, table)
            else:
                rows = native_tables.rows(self.spark, table, True in ways)
            rows.createOrReplaceTempView(f"`{table.name.replace('`', '``')}`")
        except Exception as error:
            raise self.script.told(error, _at(self.script, table, statement)) from error
        self.shown.add(name)

    def _check_new(self, parsed: ParsedStatement) -> None:
        name = parsed.name.lower()
        if "." in name:
            problem = f"{parsed.name!r}: what a script declares has a name without a dot"
            raise self.script.refuse(parsed.statement, problem, "tables with a database are those of the catalog")
        if name in self.tables or name in self.views:
            problem = f"there is a table or view {parsed.name!r} already"
            raise self.script.refuse(parsed.statement, problem, "choose another name", "ALREADY_DECLARED", parsed.name)

    def _names(self) -> tuple[str, ...]:
        return (*(table.name for table in self.tables.values()), *self.views.values())

    def _is_source(self, provider: str) -> bool:
        """Whether Spark has a data source of that name: one of its own, or of a jar."""
        source = self.spark._jvm.org.apache.spark.sql.execution.datasources.DataSource
        try:
            source.lookupDataSource(provider, self.spark._jsparkSession.sessionState().conf())
        except Exception:  # Java's of a class that is not there
            return False
        return True


def _at(script: ScriptText, table: TableDeclaration, statement: Statement) -> Statement:
    """Where a table is declared, for an error that it has as it is read."""
    return next((one for one in split(script.text) if one.line == table.line), statement) if table.line else statement


def _names_read(parsed: ParsedStatement) -> list[str]:
    return [name for name, _ in _relations(parsed.query)]


def _reads(statements: Iterable[ParsedStatement]) -> dict[str, frozenset[bool]]:
    found: dict[str, frozenset[bool]] = {}
    for parsed in statements:
        for name, streams in _relations(parsed.query) if parsed.query is not None else ():
            found[name] = found.get(name, frozenset()) | {streams}
    return found


def _relations(plan: Any) -> list[tuple[str, bool]]:
    """(table in lower case, whether as a stream) for each that a parsed plan reads, subqueries and CTEs with it."""
    return [
        (one["name"].replace(", ", ".").lower(), one["streams"] == "true") for one in _READ.finditer(plan.toString())
    ]
