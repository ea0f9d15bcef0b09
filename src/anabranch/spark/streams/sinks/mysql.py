"""Rows into MySQL or MariaDB: by key, or added, each batch in one transaction with its number."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pyspark.sql.types import StructType

from anabranch.model.secrets import SecretRef
from anabranch.spark.streams.sinks import mysql_table as sql
from anabranch.spark.streams.sinks.errors import (
    DuplicateKeysError,
    NoSinkClientError,
    RowRefusedError,
    SinkAnswerError,
    SinkDeniedError,
    SinkMissingError,
    SinkOptionError,
    SinkSchemaError,
)
from anabranch.spark.streams.sinks.mysql_literals import Literals
from anabranch.spark.streams.sinks.options import COMMON, SECRET, SinkOptions
from anabranch.spark.streams.sinks.port import QueryIdentity, SinkKind
from anabranch.spark.streams.sinks.retrying import PassingError
from anabranch.spark.streams.sinks.rowplan import OPTIONS, KeyedRows
from anabranch.spark.streams.sinks.server_sink import ServerSink
from anabranch.spark.streams.sinks.sql_table import differences, table_name
from anabranch.spark.streams.sinks.state import BatchState, QueryWriter
from anabranch.streams.tables import TableDeclaration

if TYPE_CHECKING:
    import pymysql

_REQUIRED = {"url": "mysql://HOST:PORT/DATABASE, without a user or a password"}
_OPTIONAL = {
    "user": "who connects",
    "password": f"their password: {SECRET}",
    "tls_ca": "a file of certificates, of which one has signed the server's; without it nothing is encrypted",
    "table": "TABLE or DATABASE.TABLE; the declared name",
    **OPTIONS,
    **COMMON,
}
_PORT = 3306
_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 600
_LOCK_SECONDS = 30
_SESSION = (
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO', "
    f"time_zone = '+00:00', innodb_lock_wait_timeout = {_LOCK_SECONDS}"
)
# Without locks between rows, which two queries that write into one table would wait for.
_ISOLATION = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
_DUPLICATE = 1062
_RIGHTS = "SELECT, INSERT, UPDATE and CREATE TEMPORARY TABLES"
# Of connections, locks and deadlocks, disks and memory that are full, and servers that end or are read-only now.
_PASSING = frozenset(
    {1020, 1021, 1030, 1037, 1038, 1040, 1041, 1053, 1114, 1129, 1180, 1203, 1205, 1213, 1290, 1792, 1836, 1927, 3100}
)
_DENIED = frozenset({1044, 1045, 1142, 1143, 1227, 1370, 1698})
_MISSING = frozenset({1049, 1146})


@dataclass(frozen=True, slots=True)
class MySqlTarget:
    """Where rows go."""

    sink: str
    host: str
    port: int
    tls_ca: str
    user: str
    password: SecretRef | None
    database: str
    table: str
    keys: tuple[str, ...]

    @property
    def name(self) -> str:
        return sql.qualified(self.database, self.table)


class MySqlDatabase:
    """A connection; ``server_sink.SinkServer``."""

    def __init__(self, target: MySqlTarget) -> None:
        import pymysql

        self._target = target
        secret = target.password.resolve().reveal() if target.password else ""
        with self._told():
            self._connection: pymysql.Connection[Any] = pymysql.connect(
                host=target.host,
                port=target.port,
                user=target.user or None,
                password=secret,
                charset="utf8mb4",
                connect_timeout=_CONNECT_SECONDS,
                read_timeout=_ANSWER_SECONDS,
                write_timeout=_ANSWER_SECONDS,
                autocommit=False,
                ssl=ssl.create_default_context(cafile=target.tls_ca) if target.tls_ca else None,
            )
            self._run(_SESSION)
            self._run(_ISOLATION)
        self._state = sql.qualified(target.database, sql.STATE)
        self._staged = False

    def check(self, schema: StructType) -> None:
        target = self._target
        place = (target.database, target.table)
        with self._told():
            kinds = self._run(sql.TABLE, place)
            if not kinds or kinds[0][1] != "BASE TABLE":
                fix = "CREATE TABLE it, let the user see it, or correct options url and table"
                raise SinkMissingError(target.sink, f"table {target.name}", fix)
            table = sql.table_of(kinds[0][0], self._run(sql.COLUMNS, place), self._run(sql.INDEXES, place))
        problems = (*table.problems(target.keys), *differences(table.table, schema, target.keys, sql.fits))
        if problems:
            raise SinkSchemaError(target.sink, problems, f"change the query, or ALTER TABLE {target.name}")
        with self._told():
            self._run(sql.state_table(target.database))
            if target.keys:
                self._stage(schema.fieldNames())
            self._connection.rollback()

    def begin(self, query: str, writing: BatchState) -> BatchState:  # noqa: ARG002 a lock says who writes
        with self._told():
            self._connection.rollback()
            self._staged = False
            self._run(
                f"INSERT INTO {self._state} (query, checkpoint, batch_id, fence) VALUES (%s, '', -1, 0) "
                "ON DUPLICATE KEY UPDATE query = query",
                (query,),
            )
            rows = self._run(
                f"SELECT fence, checkpoint, batch_id FROM {self._state} WHERE query = %s FOR UPDATE", (query,)
            )
        fence, checkpoint, batch = rows[0]
        return BatchState(fence, checkpoint, batch)

    def load(self, columns: Sequence[str], chunk: bytes) -> None:
        import pymysql

        target = self._target
        with self._told():
            if not target.keys:
                self._send(sql.insert(target.name, columns) + chunk)
                return
            if not self._staged:
                self._stage(columns)
            try:
                self._send(sql.insert(sql.qualified(target.database, sql.STAGE), columns) + chunk)
            except pymysql.err.IntegrityError as error:
                if error.args[0] != _DUPLICATE:
                    raise
                raise DuplicateKeysError(target.sink, target.keys, str(error.args[1])[:200], False) from None

    def merge(self, columns: Sequence[str]) -> None:
        target = self._target
        if target.keys:
            with self._told():
                self._run(sql.merge(target.database, target.name, columns, target.keys))

    def commit(self, query: str, state: BatchState) -> None:
        with self._told():
            self._run(
                f"UPDATE {self._state} SET checkpoint = %s, batch_id = %s, fence = %s WHERE query = %s",
                (state.checkpoint, state.batch, state.fence, query),
            )
            self._connection.commit()

    def close(self) -> None:
        self._connection.close()

    def _stage(self, columns: Sequence[str]) -> None:
        """An empty table for the rows of a batch; of a transaction neither statement is an end."""
        target = self._target
        self._run(f"DROP TEMPORARY TABLE IF EXISTS {sql.qualified(target.database, sql.STAGE)}")
        self._run(sql.stage(target.database, target.name, columns, target.keys))
        self._staged = True

    def _run(self, statement: str, values: tuple[Any, ...] = ()) -> Sequence[Any]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall())

    def _send(self, statement: bytes) -> None:
        self._connection.query(statement)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the server says, as this package says it."""
        import pymysql

        try:
            yield
        except pymysql.err.MySQLError as error:
            raise _as_told(self._target, error) from error


def _as_told(target: MySqlTarget, error: pymysql.err.MySQLError) -> Exception:
    import pymysql

    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    said = " ".join(str(error.args[-1] if error.args else error).split())[:300]
    # Below 1000 and from 2000 to 2999 it is the client that speaks: of a connection that is not there, or no more.
    if code < 1000 or code in _PASSING or 2000 <= code < 3000:
        return PassingError(f"{said} ({code})")
    if code in _DENIED:
        fix = f"check options user and password, and their rights: {_RIGHTS}; {sql.state_table(target.database)}"
        return SinkDeniedError(target.sink, said, fix)
    if code in _MISSING:
        return SinkMissingError(target.sink, f"such thing: {said}", "correct options url and table, or CREATE it")
    if isinstance(error, pymysql.err.DataError | pymysql.err.IntegrityError | pymysql.err.OperationalError):
        return RowRefusedError(target.sink, f"{said} ({code})")
    return SinkAnswerError(target.sink, f"{said} ({code})")


def _open(table: TableDeclaration, identity: QueryIdentity) -> ServerSink:
    options = SinkOptions.of(table, _REQUIRED, _OPTIONAL)
    try:
        import pymysql  # noqa: F401 so that its absence is told before a query runs
    except ImportError:
        raise NoSinkClientError(table.name, "PyMySQL") from None
    url = options.url("url", "mysql", "mariadb")
    database, name = table_name(table.name, "table", options.text("table", table.name))
    database = database or unquote(url.path.strip("/"))
    if not database:
        raise SinkOptionError(table.name, "url", "names no database", "write mysql://HOST:PORT/DATABASE")
    rows = KeyedRows.of(options)
    sink = f"MySQL table {sql.qualified(database, name)}"
    target = MySqlTarget(
        sink,
        url.hostname or "",
        url.port or _PORT,
        options.text("tls_ca"),
        options.text("user"),
        options.secret("password"),
        database,
        name,
        rows.keys,
    )
    return ServerSink(
        QueryWriter.of(sink, identity), rows, Literals.of, lambda _: MySqlDatabase(target), options.retry_seconds
    )


KIND = SinkKind("mysql", _open, _REQUIRED, _OPTIONAL, exact=True)
