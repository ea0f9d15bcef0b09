"""A server of each sink, the place that is written, and what is in it."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol
from unittest.mock import patch
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from anabranch.spark.streams.sinks import mysql, opensearch, postgresql, redis
from anabranch.spark.streams.sinks.port import BatchSink, QueryIdentity, SinkKind
from anabranch.streams.tables import TableDeclaration
from qa.mariadb import PASSWORD, MariaDb
from qa.opensearch import OpenSearch
from qa.redis_server import RedisServer

TABLE = "hits"
SECRET = "SINK_PASSWORD"


class Lab(Protocol):
    """A place to write into, new for each test."""

    kind: SinkKind
    exact: bool
    options: dict[str, str]

    def make(self) -> None:
        """The table, or the like of it."""

    def content(self) -> dict[int, dict[str, Any]]:
        """Its rows by their ids, as ``rows.seen`` tells them."""

    def stop(self) -> None:
        """The server is away."""

    def start(self) -> None:
        """It is back."""

    def full(self) -> Any:
        """A block in which the server takes no rows."""


def open_sink(lab: Lab, fence: int = 1, **options: str) -> BatchSink:
    """The sink of a query into the lab's table."""
    table = TableDeclaration(TABLE, lab.kind.provider, options={**lab.options, **options}, line=1)
    sink = lab.kind.open(table, QueryIdentity("job", f"into-{lab.options.get('index', TABLE)}", fence))
    assert isinstance(sink, BatchSink)
    return sink


@dataclass
class PostgresLab:
    """A database of its own; the server is away while it lets nobody in."""

    uri: str
    admin: str
    kind: SinkKind = postgresql.KIND
    exact: bool = True
    options: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        parts = conninfo_to_dict(self.uri)
        self.name = str(parts["dbname"])
        host = quote(str(parts["host"]), safe="")
        self.options |= {"url": f"postgresql:///{self.name}?host={host}", "user": str(parts["user"]), "key": "id"}

    def run(self, statement: str) -> list[Any]:
        """A statement, and its rows."""
        with psycopg.connect(self.uri, autocommit=True, row_factory=dict_row) as connection:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
            return cursor.fetchall() if cursor.description else []

    def make(self) -> None:
        self.run(
            f"CREATE TABLE {TABLE} (id bigint PRIMARY KEY, name text, amount numeric(18, 4), at timestamptz, "
            "local timestamp, day date, ok boolean, ratio double precision, raw bytea, tags jsonb, place json)"
        )

    def content(self) -> dict[int, dict[str, Any]]:
        rows = self.run(
            "SELECT id, name, amount::text, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS at, "
            "to_char(local, 'YYYY-MM-DD HH24:MI:SS.US') AS local, "
            f"day::text, ok, ratio, raw, tags, place FROM {TABLE}"
        )
        return {row["id"]: row for row in rows}

    def _admin(self, *statements: str) -> None:
        with psycopg.connect(self.admin, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[call-overload]

    def stop(self) -> None:
        end = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.name}'"
        self._admin(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS false", end)

    def start(self) -> None:
        self._admin(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS true")

    @contextmanager
    def full(self) -> Iterator[None]:
        end = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.name}'"
        self._admin(f"ALTER DATABASE {self.name} SET default_transaction_read_only = on", end)
        try:
            yield
        finally:
            self._admin(f"ALTER DATABASE {self.name} RESET default_transaction_read_only")


@dataclass
class MySqlLab:
    """A database of its own on MariaDB."""

    server: MariaDb
    kind: SinkKind = mysql.KIND
    exact: bool = True
    options: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name = self.server.database()
        url = f"mysql://127.0.0.1:{self.server.port}/{self.name}"
        self.options |= {"url": url, "user": self.server.writer, "password": f"env:{SECRET}", "key": "id"}

    def run(self, statement: str) -> list[Any]:
        """A statement, and its rows."""
        with self.server.connect(self.name) as connection, connection.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00'")
            cursor.execute(statement)
            names = [one[0] for one in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def make(self) -> None:
        self.run(
            f"CREATE TABLE {TABLE} (id BIGINT PRIMARY KEY, name TEXT, amount DECIMAL(18, 4), at TIMESTAMP(6) NULL, "
            "local DATETIME(6), day DATE, ok BOOLEAN, ratio DOUBLE, raw BLOB, tags JSON, place JSON) CHARSET utf8mb4"
        )

    def content(self) -> dict[int, dict[str, Any]]:
        rows = self.run(
            "SELECT id, name, CAST(amount AS CHAR) AS amount, CAST(at AS CHAR) AS at, CAST(local AS CHAR) AS local, "
            f"CAST(day AS CHAR) AS day, ok, ratio, raw, tags, place FROM {TABLE}"
        )
        for row in rows:
            row["ok"] = None if row["ok"] is None else bool(row["ok"])
            for name in ("tags", "place"):
                row[name] = None if row[name] is None else json.loads(row[name])
        return {row["id"]: row for row in rows}

    def stop(self) -> None:
        self.server.stop()

    def start(self) -> None:
        self.server.start()

    @contextmanager
    def full(self) -> Iterator[None]:
        # The user of the tests may write nevertheless; the sink's is another.
        self.run("SET GLOBAL read_only = 1")
        try:
            yield
        finally:
            self.run("SET GLOBAL read_only = 0")


@dataclass
class RedisLab:
    """A database of its own on Redis."""

    server: RedisServer
    number: int
    kind: SinkKind = redis.KIND
    exact: bool = False
    options: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.options |= {"url": f"redis://127.0.0.1:{self.server.port}/{self.number}", "key": "id"}
        self.server.client(self.number).flushdb()

    def make(self) -> None:
        """A key needs no table."""

    def content(self) -> dict[int, dict[str, Any]]:
        client = self.server.client(self.number)
        keys = client.keys(f"{TABLE}:*")
        pipe = client.pipeline(transaction=False)
        for key in keys:
            pipe.hgetall(key)
        return {int(key.split(b":")[1]): self._row(row) for key, row in zip(keys, pipe.execute(), strict=True)}

    @staticmethod
    def _row(row: dict[bytes, bytes]) -> dict[str, Any]:
        def text(name: str) -> str | None:
            found = row.get(name.encode())
            return None if found is None else found.decode()

        def time(name: str) -> str | None:
            found = text(name)
            return None if found is None else found.replace("T", " ").removesuffix("Z")

        ok, ratio, identity = text("ok"), text("ratio"), text("id")
        assert identity is not None
        return {
            "id": int(identity),
            "name": text("name"),
            "amount": text("amount"),
            "at": time("at"),
            "local": time("local"),
            "day": text("day"),
            "ok": None if ok is None else ok == "true",
            "ratio": None if ratio is None else float(ratio),
            "raw": row.get(b"raw"),
            "tags": json.loads(text("tags") or "null"),
            "place": json.loads(text("place") or "null"),
        }

    def stop(self) -> None:
        self.server.stop()

    def start(self) -> None:
        self.server.start()

    @contextmanager
    def full(self) -> Iterator[None]:
        client = self.server.client()
        client.config_set("maxmemory", "1")
        try:
            yield
        finally:
            client.config_set("maxmemory", "0")


@dataclass
class SearchLab:
    """An index of its own on OpenSearch."""

    server: OpenSearch
    index: str
    kind: SinkKind = opensearch.KIND
    exact: bool = False
    options: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.options |= {"url": self.server.url, "key": "id", "index": self.index}

    def make(self) -> None:
        fields = {
            "id": "long",
            "name": "keyword",
            "amount": "keyword",
            "at": "date_nanos",
            "local": "date_nanos",
            "day": "date",
            "ok": "boolean",
            "ratio": "double",
            "raw": "binary",
            "tags": "keyword",
            "place": "object",
        }
        properties = {name: {"type": kind} for name, kind in fields.items()}
        one = {"number_of_shards": 1, "number_of_replicas": 0, "max_result_window": 100_000}
        self.server.ask("PUT", f"/{self.index}", {"mappings": {"properties": properties}, "settings": one})

    def content(self) -> dict[int, dict[str, Any]]:
        self.server.ask("POST", f"/{self.index}/_refresh")
        found = self.server.ask("POST", f"/{self.index}/_search", {"size": 100_000})["hits"]["hits"]
        return {int(one["_id"]): self._row(one["_source"]) for one in found}

    @staticmethod
    def _row(row: dict[str, Any]) -> dict[str, Any]:
        def time(value: str | None) -> str | None:
            return None if value is None else value.replace("T", " ").removesuffix("Z")

        raw, amount, ratio, place = (row.get(name) for name in ("raw", "amount", "ratio", "place"))
        return {
            **row,
            "amount": None if amount is None else f"{amount}",
            "at": time(row.get("at")),
            "local": time(row.get("local")),
            "ratio": None if ratio is None else float(ratio),
            "place": None if place is None else {**place, "lat": float(place["lat"])},
            "raw": None if raw is None else base64.b64decode(raw),
        }

    def stop(self) -> None:
        self.server.stop()

    def start(self) -> None:
        self.server.start()

    @contextmanager
    def full(self) -> Iterator[None]:
        # As a disk that is nearly full has it.
        self.server.ask("PUT", f"/{self.index}/_settings", {"index.blocks.read_only_allow_delete": True})
        try:
            yield
        finally:
            self.server.ask("PUT", f"/{self.index}/_settings", {"index.blocks.read_only_allow_delete": None})


@contextmanager
def secret(value: str = PASSWORD) -> Iterator[None]:
    """The password of MariaDB's user where the sink looks for it."""
    with patch.dict(os.environ, {SECRET: value}):
        yield
