"""Rows into Redis: a hash or a JSON string for each key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import SplitResult

from pyspark.sql.types import StructType

from anabranch.model.secrets import SecretRef
from anabranch.spark.streams.sinks import redis_commands as commands
from anabranch.spark.streams.sinks.errors import (
    NoSinkClientError,
    RowRefusedError,
    SinkAnswerError,
    SinkDeniedError,
    SinkOptionError,
    SinkSchemaError,
)
from anabranch.spark.streams.sinks.keys import KEY_TYPES
from anabranch.spark.streams.sinks.options import COMMON, SECRET, SinkOptions
from anabranch.spark.streams.sinks.port import QueryIdentity, SinkKind
from anabranch.spark.streams.sinks.retrying import PassingError
from anabranch.spark.streams.sinks.rowplan import OPTIONS, KeyedRows
from anabranch.spark.streams.sinks.server_sink import ServerSink
from anabranch.spark.streams.sinks.state import NONE_YET, BatchState, QueryWriter
from anabranch.streams.tables import TableDeclaration

_REQUIRED = {
    "url": "redis://HOST:PORT/NUMBER, or rediss:// with TLS, without a user or a password",
    "key": OPTIONS["key"],
}
_OPTIONAL = {
    "user": "who connects",
    "password": f"their password: {SECRET}",
    "tls_ca": "a file of certificates, of which one has signed the server's; those of the machine",
    "prefix": "what stands before each key; the declared name and a colon",
    "format": "hash: a field for each column that is not null, or json: a string; hash",
    "ttl": "seconds after which a key goes, counted from when it was written last; keys stay",
    "order": OPTIONS["order"],
    **COMMON,
}
_PORT = 6379
_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 60
_STATE = "anabranch:batches:"
# A server that is full, loads, follows another, or waits for its replicas; and a script that it has forgotten.
_PASSING = frozenset(
    {
        "OOM",
        "LOADING",
        "READONLY",
        "MASTERDOWN",
        "NOREPLICAS",
        "MISCONF",
        "BUSY",
        "TRYAGAIN",
        "NOSCRIPT",
        commands.FENCED,
    }
)
_DENIED = frozenset({"NOAUTH", "WRONGPASS", "NOPERM"})


@dataclass(frozen=True, slots=True)
class RedisTarget:
    """Where rows go."""

    sink: str
    url: SplitResult
    number: int
    tls_ca: str
    user: str
    password: SecretRef | None


class RedisServer:
    """A connection; ``server_sink.SinkServer``."""

    def __init__(self, target: RedisTarget) -> None:
        import redis

        self._target = target
        secret = target.password.resolve().reveal() if target.password else None
        with_tls = target.url.scheme == "rediss"
        kind: Any = redis.SSLConnection if with_tls else redis.Connection
        self._connection = kind(
            host=target.url.hostname,
            port=target.url.port or _PORT,
            db=target.number,
            username=target.user or None,
            password=secret,
            socket_connect_timeout=_CONNECT_SECONDS,
            socket_timeout=_ANSWER_SECONDS,
            protocol=2,
            **({"ssl_ca_certs": target.tls_ca or None} if with_tls else {}),
        )
        self._writer = ""
        with self._told():
            self._connection.connect()
            for script in (commands.BEGIN, commands.WRITE, commands.COMMIT):
                self._ask(b"SCRIPT", b"LOAD", script.encode())

    def check(self, schema: StructType) -> None:
        if len(schema) > commands.MOST_COLUMNS:
            problem = f"the query writes {len(schema)} columns, and {commands.MOST_COLUMNS} can be written"
            raise SinkSchemaError(self._target.sink, (problem,), "set option format to json")
        with self._told():
            if b"cluster_enabled:1" in self._ask(b"INFO", b"cluster"):
                problem = "it is a cluster, which has no step that checks the writer and writes"
                raise SinkSchemaError(self._target.sink, (problem,), "name a server that is no cluster")
            info = self._ask(b"INFO", b"replication")
            if b"role:slave" in info:
                raise PassingError("READONLY it is a replica")

    def begin(self, query: str, writing: BatchState) -> BatchState | None:
        self._writer = commands.tag(writing)
        with self._told():
            told = self._run(commands.BEGIN, query, str(writing.fence), self._writer)
        fence, checkpoint, batch = (None if one is None else one.decode() for one in told)
        return None if fence is None else BatchState(int(fence), checkpoint or "", int(batch or NONE_YET))

    def load(self, columns: Sequence[str], chunk: bytes) -> None:  # noqa: ARG002 each chunk names them
        with self._told():
            self._connection.send_packed_command([chunk])
            self._connection.read_response()

    def merge(self, columns: Sequence[str]) -> None:
        """Rows are where they belong."""

    def commit(self, query: str, state: BatchState) -> None:
        with self._told():
            self._run(commands.COMMIT, query, self._writer, state.checkpoint, str(state.batch))

    def close(self) -> None:
        self._connection.disconnect()

    def _run(self, script: str, query: str, *words: str) -> Any:
        state = (_STATE + query).encode()
        return self._ask(b"EVALSHA", commands.sha(script).encode(), b"1", state, *(one.encode() for one in words))

    def _ask(self, *words: bytes) -> Any:
        self._connection.send_packed_command([commands.command(words)])
        return self._connection.read_response()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the server says, as this package says it."""
        import redis

        try:
            yield
        except redis.exceptions.AuthenticationError as error:
            raise _denied(self._target.sink, str(error)) from error
        except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, OSError) as error:
            raise PassingError(str(error)) from error
        except redis.exceptions.RedisError as error:
            raise _as_told(self._target.sink, error) from error


def _denied(sink: str, said: str) -> SinkDeniedError:
    return SinkDeniedError(sink, said[:300], "check options user and password, and what the user may do")


def _as_told(sink: str, error: Exception) -> Exception:
    import redis

    passing = (redis.exceptions.BusyLoadingError, redis.exceptions.ReadOnlyError, redis.exceptions.NoScriptError)
    said = " ".join(str(error).split())[:300]
    words = set(said.replace(":", " ").replace("-", " ").split())
    if (
        isinstance(error, (*passing, redis.exceptions.OutOfMemoryError))
        or words & _PASSING
        or "not allowed when used memory" in said
    ):
        return PassingError(said)
    if isinstance(error, redis.exceptions.NoPermissionError) or words & _DENIED:
        return _denied(sink, said)
    if "wrong kind of value" in said:
        return RowRefusedError(sink, said)
    return SinkAnswerError(sink, said)


def _open(table: TableDeclaration, identity: QueryIdentity) -> ServerSink:
    options = SinkOptions.of(table, _REQUIRED, _OPTIONAL)
    try:
        import redis  # noqa: F401 so that its absence is told before a query runs
    except ImportError:
        raise NoSinkClientError(table.name, "redis") from None
    url = options.url("url", "redis", "rediss")
    number = url.path.strip("/") or "0"
    if not (number.isascii() and number.isdigit()):
        raise SinkOptionError(table.name, "url", "ends with no number of a database", "write redis://HOST:PORT/0")
    document = options.choice("format", "hash", "json") == "json"
    seconds, prefix = options.number("ttl", 0), options.text("prefix", f"{table.name}:")
    sink = f"Redis keys {prefix}*"
    target = RedisTarget(
        sink, url, int(number), options.text("tls_ca"), options.text("user"), options.secret("password")
    )
    rows = replace(KeyedRows.of(options), distinct=True, document=document, key_types=KEY_TYPES)
    writer = QueryWriter.of(sink, identity)

    def encoder(schema: StructType, writing: BatchState) -> commands.RedisRows:
        names = rows.plan(schema).columns
        keys = tuple(names.index(one) for one in rows.keys)
        state = _STATE + writer.query
        return commands.RedisRows(names, keys, prefix, seconds, state, commands.tag(writing), document)

    return ServerSink(writer, rows, encoder, lambda _: RedisServer(target), options.retry_seconds)


KIND = SinkKind("redis", _open, _REQUIRED, _OPTIONAL)
