"""A database: SQLite or PostgreSQL, brought to the newest revision when it is opened."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError

from anabranch.model.home import expanded
from anabranch.store import migrations
from anabranch.store.errors import NoStoreError, StoreVersionError, told

BUSY_S = 5.0
_READS = "reads"
_UPGRADING = 0x616E6162  # one lock of a database's own numbers: two instances that start at once upgrade in turn


class Database:
    """The store's connections; each ``begin`` is a transaction, kept whole or not at all."""

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self._reading = engine.execution_options(**{_READS: True})
        self._writers = threading.Lock()
        self.name = name

    @property
    def is_shared(self) -> bool:
        """Whether several machines can use it."""
        return self._engine.dialect.name == "postgresql"

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction; raises StoreError, and IntegrityError where another made the same row first."""
        with self._turn(), self._transaction(self._engine) as connection:
            yield connection

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Among this process' threads that write to SQLite: it has whoever waits for its lock sleep up to 100 ms.

        After ``BUSY_S`` it is left to SQLite, which refuses.
        """
        if self.is_shared:
            yield
            return
        is_mine = self._writers.acquire(timeout=BUSY_S)
        try:
            yield
        finally:
            if is_mine:
                self._writers.release()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads, which waits for no writer and holds none up; raises StoreError."""
        with self._transaction(self._reading) as connection:
            yield connection

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        try:
            with engine.begin() as connection:
                yield connection
        except IntegrityError:
            raise
        except DBAPIError as error:
            raise told(self.name, error) from error

    def close(self) -> None:
        """Close its connections."""
        self._engine.dispose()


def open_database(address: str, environ: Mapping[str, str] | None = None) -> Database:
    """Open a store and bring it to the newest revision; raises NoStoreError, StoreVersionError, StoreError.

    ``address`` is the path of a SQLite file or a URL of PostgreSQL; its password may be in PGPASSWORD alone, so that no
    command line holds it.
    """
    url = _url(address)
    name = url.database or address if url.drivername == "sqlite" else url.render_as_string(hide_password=True)
    if url.password:
        raise NoStoreError(name, "it holds a password, which other processes of this machine could read")
    if url.drivername == "sqlite":
        engine = _sqlite(Path(url.database or ""))
    else:
        password = (os.environ if environ is None else environ).get("PGPASSWORD")
        engine = create_engine(
            url.set(password=password),
            pool_pre_ping=True,
            pool_size=5,
            connect_args={"connect_timeout": 10},
            hide_parameters=True,  # what an error tells goes to the log
        )
    made = Database(engine, name)
    try:
        _upgrade(made)
    except BaseException:
        made.close()
        raise
    return made


def _url(address: str) -> URL:
    if "://" not in address:
        return URL.create("sqlite", database=str(expanded(address).absolute()))
    try:
        url = make_url(address)
    except (ArgumentError, ValueError) as error:  # the latter for a port that is no number
        raise NoStoreError(address.partition("://")[0], "it is no address of a database") from error
    backend = url.get_backend_name()
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if backend == "sqlite" and url.database:
        return url.set(drivername="sqlite")
    raise NoStoreError(backend, "only SQLite and PostgreSQL can be used")


def _sqlite(path: Path) -> Engine:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # it holds the digests of tokens
    except OSError as error:
        raise NoStoreError(str(path), error.strerror or str(error)) from error
    address = URL.create("sqlite", database=str(path))
    engine = create_engine(address, connect_args={"timeout": BUSY_S}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _settle(connection: Any, _: object) -> None:
        # The driver begins no transaction by itself: else a read would not be part of one (SQLAlchemy's manual,
        # "Enabling Non-Legacy SQLite Transactional Modes").
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # What reads and then writes must not find at its write that another did so in between.  What only reads takes
        # no lock: SQLite has whoever waits for one sleep up to 100 ms, and each request of a client reads three times.
        connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get(_READS) else "BEGIN IMMEDIATE")

    return engine


def _scripts() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    return config


@cache
def _revisions() -> tuple[str, frozenset[str]]:
    """The newest revision and all: to read the scripts takes longer than to open a database that is at the newest."""
    scripts = ScriptDirectory.from_config(_scripts())
    return scripts.get_current_head() or "", frozenset(script.revision for script in scripts.walk_revisions())


def _upgrade(database: Database) -> None:
    newest, known = _revisions()
    with database.begin() as connection:
        if database.is_shared:
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _UPGRADING})
        found = migrations.revision_of(connection)
        if found == newest:
            return
        if found is not None and found not in known:
            raise StoreVersionError(database.name, found)
        config = _scripts()
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise NoStoreError(database.name, str(error)) from error
