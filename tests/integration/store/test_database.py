"""Opening a store, and what is told of one that cannot be used."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from anabranch.model.accounts import Role
from anabranch.store import database as module
from anabranch.store.accounts import Accounts
from anabranch.store.database import Database, open_database
from anabranch.store.errors import (
    NoStoreError,
    StoreFullError,
    StoreLockedError,
    StoreUnreachableError,
    StoreVersionError,
)
from anabranch.store.tables import METADATA
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.test


def test_the_migrations_make_the_tables_that_the_code_knows(database: Database) -> None:
    """Nothing is missing and nothing is more."""
    with database.begin() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []


def test_opening_again_changes_nothing(address: str, database: Database) -> None:
    """What is stored stays."""
    Accounts(database).add("ada", Role.VIEWER, 1)
    again = open_database(address)
    assert [one.name for one in Accounts(again).all()] == ["ada"]
    again.close()


def test_instances_that_start_at_once_make_the_tables_once(address: str) -> None:
    """One upgrades, the others wait for it."""
    gate = threading.Barrier(4)

    def begin(_: int) -> Sequence[object]:
        gate.wait(TIMEOUT_S)
        made = open_database(address)
        try:
            return Accounts(made).all()
        finally:
            made.close()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(begin, range(4))) == [[]] * 4


def test_a_store_of_a_newer_version_is_refused(address: str, database: Database) -> None:
    """Nothing is changed in it."""
    with database.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreVersionError, match="9999"):
        open_database(address)
    with database.begin() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == "9999"


def test_what_fails_in_a_transaction_leaves_nothing(database: Database) -> None:
    """All of it or none."""
    with pytest.raises(IntegrityError), database.begin() as connection:  # noqa: PT012  # the second one
        for _ in range(2):
            connection.execute(text("INSERT INTO leases VALUES ('a', 'b', 1, 2)"))
    with database.begin() as connection:
        assert connection.execute(text("SELECT count(*) FROM leases")).scalar_one() == 0


def test_what_only_reads_waits_for_no_writer(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sees what was there before, and does not hold the writer up."""
    monkeypatch.setattr(module, "BUSY_S", 0.2)
    with database.begin() as connection:
        connection.execute(text("INSERT INTO leases VALUES ('a', 'b', 1, 2)"))
        with database.read() as reading:
            assert reading.execute(text("SELECT count(*) FROM leases")).scalar_one() == 0
            connection.execute(text("INSERT INTO leases VALUES ('c', 'b', 1, 2)"))
    with database.read() as reading:
        assert reading.execute(text("SELECT count(*) FROM leases")).scalar_one() == 2


class Turn:
    """In place of the lock that threads take their turns by: tells who has come to it."""

    def __init__(self) -> None:
        self.came: list[int] = []
        self._lock = threading.Lock()
        self.release = self._lock.release

    def acquire(self, timeout: float) -> bool:
        """Come, and wait."""
        self.came.append(threading.get_ident())
        return self._lock.acquire(timeout=timeout)


def test_threads_that_write_wait_for_each_other_and_not_for_the_lock_of_sqlite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That one would refuse here at once, where it else sleeps for up to 0.1 s at a time."""
    monkeypatch.setattr(module, "BUSY_S", 0.0)
    made = open_database(str(tmp_path / "store.db"))
    monkeypatch.setattr(module, "BUSY_S", 60.0)
    accounts, turn = Accounts(made), Turn()
    monkeypatch.setattr(made, "_writers", turn)

    def write(number: int) -> str:
        return accounts.add(f"ada-{number}", Role.VIEWER, 1).name

    with ThreadPoolExecutor(4) as threads:
        with made.begin():
            writers = [threads.submit(write, number) for number in range(4)]
            deadline = time.monotonic() + TIMEOUT_S
            while len(turn.came) < 5:
                assert time.monotonic() < deadline, "a thread does not wait for its turn"
                time.sleep(0.001)
        assert [one.result(TIMEOUT_S) for one in writers] == [f"ada-{number}" for number in range(4)]
    made.close()


def test_a_locked_file_is_told_of_and_can_be_used_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for, but not for ever."""
    monkeypatch.setattr(module, "BUSY_S", 0.2)
    path = tmp_path / "store.db"
    made = open_database(str(path))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreLockedError) as told:
        Accounts(made).add("ada", Role.VIEWER, 1)
    assert told.value.retryable
    other.execute("ROLLBACK")
    other.close()
    Accounts(made).add("ada", Role.VIEWER, 1)
    made.close()


def test_a_full_store_is_told_of_and_keeps_what_it_had(tmp_path: Path) -> None:
    """SQLite's own limit of pages stands for the disk's end: the same error comes up."""
    made = open_database(str(tmp_path / "store.db"))
    accounts = Accounts(made)
    accounts.add("ada", Role.VIEWER, 1)
    with made.begin() as connection:
        pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        connection.execute(text(f"PRAGMA max_page_count = {pages}"))

    def fill() -> None:
        for at in range(1000):
            accounts.add(f"somebody {at} with a long name {'x' * 100}", Role.VIEWER, at)

    with pytest.raises(StoreFullError):
        fill()
    assert accounts.all()[0].name == "ada"
    made.close()


def test_a_file_is_nobody_elses_to_read(tmp_path: Path) -> None:
    """It holds the digests of tokens."""
    path = tmp_path / "deep" / "store.db"
    open_database(str(path)).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("mysql://there/db", "only SQLite and PostgreSQL"),
        ("postgresql://me:secret@there/db", "it holds a password"),
        ("nothing://", "only SQLite and PostgreSQL"),
        ("/proc/nothing/store.db", "No such file"),
    ],
)
def test_what_is_no_store_is_refused(address: str, told: str) -> None:
    """Before anything is made, and without the password in the words."""
    with pytest.raises(NoStoreError, match=told) as refused:
        open_database(address)
    assert "secret" not in refused.value.message


def test_a_server_that_does_not_answer_is_told_of() -> None:
    """With an address at which nothing listens."""
    with pytest.raises(StoreUnreachableError) as told:
        open_database("postgresql://me@127.0.0.1:1/db")
    assert told.value.retryable


def test_a_file_that_is_no_database_is_told_of(tmp_path: Path) -> None:
    """It is left as it is."""
    path = tmp_path / "store.db"
    path.write_bytes(b"these are words" * 1000)
    with pytest.raises(Exception, match="not a database"):
        open_database(str(path))
    assert path.read_bytes() == b"these are words" * 1000
    assert sorted(os.listdir(tmp_path)) == ["store.db"]
