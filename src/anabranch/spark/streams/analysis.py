"""A script as what a stream runs: its tables, and a plan of Spark's for each INSERT and SELECT.

Nothing is read or written, and of the sinks nothing is opened.

Invariants
    A1  a script that is analysed has no statement that was passed over: each is one of the known kinds.
    A2  each insert has a name of its own, which depends on the order of inserts into its table alone.
    A3  tables and views are of the session that is given, and outlive it nowhere.
    A7  a script that is judged by a catalog is refused before a cluster is asked for a table that its names deny.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # comes with pyspark
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from anabranch.config.catalogspec import CatalogSpec
from anabranch.errors import AnabranchError
from anabranch.spark.streams import kafka_tables, native_tables
from anabranch.spark.streams.artifacts.functions import ScriptFunctions
from anabranch.spark.streams.closing import closed_session
from anabranch.spark.streams.fitting import fitted
from anabranch.spark.streams.granted import GrantedCatalog, Parts, put, relations, rows_of
from anabranch.spark.streams.judging import check_names
from anabranch.spark.streams.kafka_tables import KafkaReading
from anabranch.spark.streams.modes import mode_of
from anabranch.spark.streams.parsing import ParsedStatement, StatementKind, declaration, parse
from anabranch.spark.streams.refusals import ScriptText
from anabranch.spark.streams.sinks.port import SinkKind
from anabranch.storage.stream_checkpoints import is_reserved
from anabranch.streams.connectors import Connector, nearest
from anabranch.streams.inline import check_plans
from anabranch.streams.needed import Registered
from anabranch.streams.script import Statement, split
from anabranch.streams.tables import TableDeclaration


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
    """All that a script says; ``selects`` are the rows of each SELECT by its statement, those of inserts, too.

    ``tables`` are the script's own, and those of the catalog that it uses; ``registered`` is how its plans name them.
    """

    statements: tuple[ParsedStatement, ...]
    tables: Mapping[str, TableDeclaration]
    inserts: tuple[InsertPlan, ...]
    selects: Mapping[int, DataFrame]
    registered: Registered = field(default_factory=Registered)


def analyse(
    text: str,
    spark: SparkSession,
    kinds: Mapping[str, SinkKind],
    kafka: KafkaReading,
    known: Iterable[TableDeclaration] = (),
    catalog: CatalogSpec | None = None,
    functions: ScriptFunctions | None = None,
) -> AnalysedScript:
    """Look at a script in a session of its own; ``known`` are tables that the script need not declare.

    With a ``catalog`` the script may use that, is judged by it, and runs in a session without ways out.  ``functions``
    has those of artifacts, where a script may use any.  Raises ScriptError for the first statement that cannot be run,
    and DeniedError for all that is not allowed.
    """
    script = ScriptText(text)
    session, source = (spark, spark) if catalog is None else (closed_session(spark), spark.newSession())
    parsed = tuple(parse(session, script, statement) for statement in split(text))
    functions = functions or ScriptFunctions()
    functions.prepare(script, parsed)
    found = _Analysis(script, session, source, kinds, kafka, _reads(parsed), functions)
    for table in known:
        found.tables[table.name.lower()] = table
    if catalog is not None:
        found.granted = GrantedCatalog(catalog, session, spark, found.catalog_rows, functions)
        check_names(script, parsed, found.granted)
        found.reading = parsed[0].statement if parsed else None
        found.granted.make_functions(text)
    for one in parsed:
        found.take(one)
    registered = Registered(frozenset(found.tables))
    if found.granted is not None:
        registered = found.granted.registered(found.own)
        plans = [(one.plan, one.target.name) for one in found.inserts]
        plans += [(_analysed(rows), "") for rows in (*found.selects.values(), *found.view_rows)]
        check_plans(plans, registered, {name: found.tables[name] for name in found.own}, found.granted.spec.access)
    tables = {table.name: table for table in found.tables.values()}
    used = () if found.granted is None else found.granted.used
    tables |= {one.name: one for one in used if one.name not in tables}
    return AnalysedScript(parsed, tables, tuple(found.inserts), found.selects, registered)


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
    source: SparkSession
    """In which tables are read: the same one, or one beside it where that is closed."""
    kinds: Mapping[str, SinkKind]
    kafka: KafkaReading
    reads: Mapping[str, frozenset[bool]]
    """Tables that the script reads, by their names in lower case: whether as streams, or also as they are."""
    functions: ScriptFunctions
    granted: GrantedCatalog | None = None
    own: set[str] = field(default_factory=set)
    """Tables that the script declares, in lower case."""
    view_rows: list[DataFrame] = field(default_factory=list)
    reading: Statement | None = None
    """The statement that is looked at."""
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
        elif not self.functions.take(self.spark, self.script, parsed):
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
        self.own.add(table.name.lower())

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
        self.view_rows.append(rows)

    def _insert(self, parsed: ParsedStatement) -> None:
        statement = parsed.statement
        target = self._target(parsed)
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
        if is_reserved(query):
            problem = f"query {query} would have the directory of something else beside its checkpoints"
            raise self.script.refuse(statement, problem, "call the table otherwise")
        self.inserts.append(InsertPlan(statement.number, statement.line, target, query, fit, _analysed(fit), mode))

    def _target(self, parsed: ParsedStatement) -> TableDeclaration | None:
        """The table that an INSERT writes: the script's own, or one of the catalog."""
        target = self.tables.get(parsed.name.lower())
        if target is None and self.granted is not None:
            target = self.granted.target(tuple(parsed.name.split(".")))
        return target

    def _execute(self, parsed: ParsedStatement) -> None:
        statement = parsed.statement
        if parsed.kind is StatementKind.SET and (self.selects or self.views):
            fix = "write it before the first VIEW, SELECT or INSERT: settings are those of the whole script"
            raise self.script.refuse(statement, "SET stands after what reads a table", fix)
        sessions = [self.spark]
        if self.granted is not None and parsed.kind is StatementKind.SET:
            sessions += [self.source, self.granted.views]
        try:
            for session in sessions:
                session.sql(statement.padded()).collect()
        except Exception as error:
            raise self._told(error, statement) from error

    def _rows(self, parsed: ParsedStatement) -> DataFrame:
        statement, plan = parsed.statement, parsed.query
        self.reading = statement
        try:
            for parts, _ in relations(plan):
                self._show(parts, statement)
            if self.granted is not None:
                plan = self.granted.query(plan, {*self.tables, *self.views})
            rows = rows_of(self.spark, plan)
        except Exception as error:
            raise self._told(error, statement) from error
        if self.functions.made:
            self.functions.check_calls(self.script, statement, _analysed(rows))
        return rows

    def _told(self, error: Exception, statement: Statement) -> AnabranchError:
        refused = None if self.granted is None else self.granted.refusal(error)
        return refused or self.script.told(error, statement, self._names())

    def _show(self, parts: Parts, statement: Statement) -> None:
        """Have a table that is read in the session, if it is one that was declared."""
        name = ".".join(parts).lower()
        table = self.tables.get(name)
        if table is None or name in self.shown:
            return
        try:
            put(self.spark, table.name, self._table_rows(table, self.reads.get(name, frozenset()), statement))
        except Exception as error:
            raise self.script.told(error, _at(self.script, table, statement)) from error
        self.shown.add(name)

    def catalog_rows(self, table: TableDeclaration) -> DataFrame:
        """The rows of a table of the catalog, for the statement that is looked at."""
        assert self.reading is not None and self.granted is not None
        ways = {way for name, found in self.reads.items() for way in found if self._is(table, name)}
        return self._table_rows(table, frozenset(ways), self.reading)

    def _is(self, table: TableDeclaration, name: str) -> bool:
        assert self.granted is not None
        return name not in self.tables and self.granted.table(tuple(name.split("."))) is table

    def _table_rows(self, table: TableDeclaration, ways: frozenset[bool], statement: Statement) -> DataFrame:
        """The rows of a table where it is; ``ways`` are whether it is read as a stream, or also as it is."""
        is_kafka = table.provider == kafka_tables.PROVIDER
        if len(ways) > 1 and not is_kafka and table.provider not in native_tables.RATE:
            problem = f"table {table.name} is read as a stream, and elsewhere as it is"
            raise self.script.refuse(statement, problem, "declare it twice, by two names", "TWO_WAYS", table.name)
        if not is_kafka and table.provider not in native_tables.READING and table.provider in self.kinds:
            problem = f"table {table.name} is only written: connector {table.provider} reads nothing"
            raise self.script.refuse(statement, problem, "read from another table", "NO_SOURCE", table.name)
        if is_kafka:
            return self.kafka.rows(self.source, table)
        return native_tables.rows(self.source, table, True in ways)

    def _check_new(self, parsed: ParsedStatement) -> None:
        name = parsed.name.lower()
        if "." in name:
            problem = f"{parsed.name!r}: what a script declares has a name without a dot"
            raise self.script.refuse(parsed.statement, problem, "tables with a database are those of the catalog")
        if name in self.tables or name in self.views:
            problem = f"there is a table or view {parsed.name!r} already"
            raise self.script.refuse(parsed.statement, problem, "choose another name", "ALREADY_DECLARED", parsed.name)

    def _names(self) -> tuple[str, ...]:
        known = () if self.granted is None else self.granted.names
        return (*(table.name for table in self.tables.values()), *self.views.values(), *known)

    def _is_source(self, provider: str) -> bool:
        """Whether Spark has a data source of that name: one of its own, or of a jar."""
        source = self.spark._jvm.org.apache.spark.sql.execution.datasources.DataSource
        try:
            source.lookupDataSource(provider, self.spark._jsparkSession.sessionState().conf())
        except (PySparkException, Py4JJavaError):  # of a class that is not there
            return False
        return True


def _at(script: ScriptText, table: TableDeclaration, statement: Statement) -> Statement:
    """Where a table is declared, for an error that it has as it is read."""
    return next((one for one in split(script.text) if one.line == table.line), statement) if table.line else statement


def _reads(statements: Iterable[ParsedStatement]) -> dict[str, frozenset[bool]]:
    found: dict[str, frozenset[bool]] = {}
    for parsed in statements:
        for parts, streams in relations(parsed.query) if parsed.query is not None else ():
            name = ".".join(parts).lower()
            found[name] = found.get(name, frozenset()) | {streams}
    return found


def _analysed(rows: DataFrame) -> str:
    """The analysed plan of rows, as Spark's JSON."""
    return str(rows._jdf.queryExecution().analyzed().toJSON())
