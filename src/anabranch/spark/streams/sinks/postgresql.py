"""Rows into PostgreSQL: by key, or added, each batch in one transaction with its number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from anabranch.errors import AnabranchError
from anabranch.model.secrets import SecretRef
from anabranch.spark.streams.sinks import postgresql_table as sql
from anabranch.spark.streams.sinks.copy_text import CopyText
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
from anabranch.spark.streams.sinks.options import COMMON, SECRET, SinkOptions
from anabranch.spark.streams.sinks.port import QueryIdentity, SinkKind
from anabranch.spark.streams.sinks.retrying import PassingError
from anabranch.spark.streams.sinks.rowplan import OPTIONS, KeyedRows
from anabranch.spark.streams.sinks.server_sink import ServerSink
from anabranch.spark.streams.sinks.sql_table import differences, table_name
from anabranch.spark.streams.sinks.state import BatchState, QueryWriter
from anabranch.streams.tables import TableDeclaration

if TYPE_CHECKING:
    import psycopg

_REQUIRED = {"url": "postgresql://HOST:PORT/DATABASE, with libpq's parameters after a ?, without a user or a password"}
_OPTIONAL = {
    "user": "who connects",
    "password": f"their password: {SECRET}",
    "table": "TABLE or SCHEMA.TABLE; the declared name",
    **OPTIONS,
    **COMMON,
}
_CONNECT_SECONDS = 10
_LOCK_SECONDS = 30
# Of connections, resources, locks that were not had, operators who intervene, and servers that are read-only now.
_PASSING = ("08", "53", "40", "57", "58")
_PASSING_STATES = frozenset({"55P03", "25006"})
_NOT_KNOWN = ("authentication failed", "no password supplied", "no pg_hba.conf entry", "not permitted to log in")
_NO_DATABASE = re.compile(r'database ".*" does not exist')
_COPIED_COLUMN = re.compile(r"line \d+, column ([^:]+)")
_STATE_COLUMNS = "SELECT fence, checkpoint, batch_id FROM {} WHERE query = %s FOR UPDATE"


@dataclass(frozen=True, slots=True)
class PostgresTarget:
    """Where rows go; ``url`` holds no password."""

    sink: str
    url: str
    user: str
    password: SecretRef | None
    schema: str
    table: str
    keys: tuple[str, ...]

    @property
    def name(self) -> str:
        return sql.qualified(self.schema, self.table)


class PostgresDatabase:
    """A connection; ``server_sink.SinkServer``."""

    def __init__(self, target: PostgresTarget) -> None:
        import psycopg

        self._target = target
        # Resolved before a connection is opened, so that a missing secret is no passing failure.
        secret = target.password.resolve().reveal() if target.password else None
        with self._told():
            self._connection: psycopg.Connection[Any] = psycopg.connect(
                target.url,
                user=target.user or None,
                password=secret,
                connect_timeout=_CONNECT_SECONDS,
                application_name="anabranch",
                tcp_user_timeout=1000 * _LOCK_SECONDS,
                options=f"-c timezone=UTC -c datestyle=ISO -c lock_timeout={_LOCK_SECONDS}s",
                client_encoding="utf8",
            )
        self._schema = target.schema

    def check(self, schema: StructType) -> None:
        with self._told():
            oid, self._schema = self._resolved()
            table = sql.table_of(self._all(sql.COLUMNS, (oid,)), self._all(sql.UNIQUE, (oid,)))
            rights = self._all(sql.RIGHTS, {"oid": oid})[0]
        target = self._target
        if problems := differences(table, schema, target.keys, sql.fits):
            raise SinkSchemaError(target.sink, problems, f"change the query, or ALTER TABLE {target.name}")
        names = ("INSERT", "UPDATE", "SELECT", "TEMPORARY")
        wanted = [
            name for name, has in zip(names, rights, strict=True) if not has and (target.keys or name == "INSERT")
        ]
        if wanted:
            fix = f"GRANT INSERT, UPDATE, SELECT ON {target.name}, and TEMPORARY on the database, to the user"
            raise SinkDeniedError(target.sink, f"the user may not {', '.join(wanted)}", fix)
        self._make_state()

    def begin(self, query: str, writing: BatchState) -> BatchState:  # noqa: ARG002 a lock says who writes
        with self._told():
            self._connection.rollback()
            state = self._state()
            self._connection.execute(
                f"INSERT INTO {state} (query, checkpoint, batch_id, fence) VALUES (%s, '', -1, 0) "
                "ON CONFLICT (query) DO NOTHING",
                (query,),
            )
            fence, checkpoint, batch = self._all(_STATE_COLUMNS.format(state), (query,))[0]
        return BatchState(fence, checkpoint, batch)

    def load(self, columns: Sequence[str], chunk: bytes) -> None:
        with self._told():
            target = self._target.name
            if self._target.keys:
                self._connection.execute(sql.stage(target, columns))
                target = f"pg_temp.{sql.STAGE}"
            with self._connection.cursor().copy(sql.copy(target, columns)) as copy:
                copy.write(chunk)

    def merge(self, columns: Sequence[str]) -> None:
        import psycopg

        keys = self._target.keys
        if not keys:
            return
        with self._told():
            try:
                with self._connection.transaction():
                    self._connection.execute(sql.merge(self._target.name, columns, keys))
            except psycopg.errors.CardinalityViolation:
                example = str(self._all(sql.repeated(keys))[0][0])[:200]
                raise DuplicateKeysError(self._target.sink, keys, example, False) from None

    def commit(self, query: str, state: BatchState) -> None:
        with self._told():
            self._connection.execute(
                f"UPDATE {self._state()} SET checkpoint = %s, batch_id = %s, fence = %s WHERE query = %s",
                (state.checkpoint, state.batch, state.fence, query),
            )
            self._connection.commit()

    def close(self) -> None:
        self._connection.close()

    def _resolved(self) -> tuple[int, str]:
        """The table's number and schema; raises ``SinkMissingError``."""
        rows = self._all(
            "SELECT c.oid::int8, n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.oid = to_regclass(%s) AND c.relkind IN ('r', 'p')",
            (self._target.name,),
        )
        if not rows:
            raise SinkMissingError(
                self._target.sink, f"table {self._target.name}", "CREATE TABLE it, or correct option table"
            )
        return rows[0][0], rows[0][1]

    def _state(self) -> str:
        """The table of the batches, which stands beside the one that is written."""
        self._schema = self._schema or self._resolved()[1]
        return sql.qualified(self._schema, sql.STATE)

    def _make_state(self) -> None:
        import psycopg

        with self._told():
            try:
                self._connection.execute(sql.state_table(self._state()))
                self._connection.commit()
            except (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateTable) as error:
                raise PassingError(str(error)) from error  # two writers make it at one time

    def _all(self, statement: str, values: Any = None) -> list[Any]:
        return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the server says, as this package says it."""
        import psycopg

        try:
            yield
        except AnabranchError:
            raise
        except psycopg.Error as error:
            raise _as_told(self._target, error) from error


def _as_told(target: PostgresTarget, error: psycopg.Error) -> Exception:
    state, said = error.sqlstate or "", _said(error)
    if state in _PASSING_STATES or state[:2] in _PASSING:
        return PassingError(said)
    if state[:2] == "28" or state == "42501" or any(one in said for one in _NOT_KNOWN):
        state_table = sql.state_table(sql.qualified(target.schema, sql.STATE))
        fix = f"check options user and password, and their rights; the sink keeps its batches in: {state_table}"
        return SinkDeniedError(target.sink, said, fix)
    if state in ("3D000", "3F000", "42P01") or (not state and _NO_DATABASE.search(said)):
        return SinkMissingError(target.sink, f"such thing: {said}", "correct options url and table, or CREATE it")
    if state[:2] in ("22", "23", "42"):
        return RowRefusedError(target.sink, said)
    # Without a state it is the client that speaks: of a connection that is not there, or no more.
    return SinkAnswerError(target.sink, said) if state else PassingError(said)


def _said(error: psycopg.Error) -> str:
    """The server's sentence and, of a row that is read, its column, but not its values."""
    primary = error.diag.message_primary
    if primary is None:
        return " ".join(str(error).split())[:500]
    column = error.diag.column_name or next(iter(_COPIED_COLUMN.findall(error.diag.context or "")), "")
    return f"{f'column {column}: ' if column else ''}{primary}"[:500]


def _open(table: TableDeclaration, identity: QueryIdentity) -> ServerSink:
    options = SinkOptions.of(table, _REQUIRED, _OPTIONAL)
    try:
        from psycopg import conninfo
    except ImportError:
        raise NoSinkClientError(table.name, "psycopg") from None
    url = options.text("url")
    try:
        parts = conninfo.conninfo_to_dict(url) if url.startswith(("postgresql://", "postgres://")) else None
    except Exception:  # whatever it is, its text could repeat the address
        parts = None
    if parts is None:
        raise SinkOptionError(table.name, "url", "is no address of PostgreSQL", "write postgresql://HOST:PORT/DATABASE")
    if "password" in parts or "user" in parts:
        raise SinkOptionError(table.name, "url", "has a user or a password in it", "use the options user, password")
    rows = KeyedRows.of(options)
    schema, name = table_name(table.name, "table", options.text("table", table.name))
    sink = f"PostgreSQL table {sql.qualified(schema, name)}"
    target = PostgresTarget(sink, url, options.text("user"), options.secret("password"), schema, name, rows.keys)
    return ServerSink(
        QueryWriter.of(sink, identity), rows, CopyText.of, lambda _: PostgresDatabase(target), options.retry_seconds
    )


KIND = SinkKind("postgresql", _open, _REQUIRED, _OPTIONAL, exact=True)
