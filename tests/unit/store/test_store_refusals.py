"""What a store does where it cannot be opened, or where two change the same at once."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.util.exc import CommandError
from sqlalchemy.exc import DBAPIError, IntegrityError

from anabranch.model.accounts import Role
from anabranch.store import database as opening
from anabranch.store import routes as publishing
from anabranch.store.accounts import Accounts, LastAdminError, NoAccountError
from anabranch.store.database import Database, open_database
from anabranch.store.errors import (
    NoStoreError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
    StoreUnreachableError,
    told,
)
from anabranch.store.routes import NoVersionError, PublishedMeanwhileError, RouteVersions

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store of the newest revision."""
    path: Path = tmp_path_factory.mktemp("store") / "store.db"
    open_database(str(path)).close()
    return path


@pytest.fixture
def database(migrated: Path, tmp_path: Path) -> Iterator[Database]:
    """A copy of it."""
    made = open_database(str(shutil.copy(migrated, tmp_path)))
    yield made
    made.close()


def test_what_is_not_said_of_an_account_stays_as_it_is(database: Database) -> None:
    """Another role does not let somebody in again, and whoever is let in again has the role of before."""
    accounts = Accounts(database)
    for name, role in (("root", Role.ADMIN), ("ada", Role.VIEWER)):
        accounts.add(name, role, 1)
    accounts.set("ada", 5, disabled=True)
    changed = accounts.set("ada", 6, role=Role.OPERATOR)
    assert (changed.role, changed.disabled_at) == (Role.OPERATOR, 5)
    assert accounts.set("ada", 7) == changed
    again = accounts.set("ada", 8, disabled=False)
    assert (again.role, again.disabled_at) == (Role.OPERATOR, None)


@pytest.mark.parametrize("change", [{"disabled": True}, {"role": Role.OPERATOR}])
def test_the_last_admin_stays_one(database: Database, change: Any) -> None:
    """An admin who is not let in is none; whoever never was one may be changed all the same."""
    accounts = Accounts(database)
    for name in ("root", "other"):
        accounts.add(name, Role.ADMIN, 1)
    accounts.set("other", 2, disabled=True)
    with pytest.raises(LastAdminError):
        accounts.set("root", 3, **change)
    assert [(one.role, one.disabled_at) for one in accounts.all() if one.name == "root"] == [(Role.ADMIN, None)]
    accounts.add("ada", Role.VIEWER, 1)
    accounts.set("ada", 4, disabled=True)
    with pytest.raises(NoAccountError):
        accounts.set("nobody", 5, **change)


def lite(code: int) -> Exception:
    """What SQLite raises."""
    error = sqlite3.OperationalError("database  is\n locked")
    error.sqlite_errorcode = code
    return error


class PostgresError(Exception):
    """What the driver of PostgreSQL raises."""

    def __init__(self, sqlstate: str | None) -> None:
        super().__init__("no")
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (lite(sqlite3.SQLITE_BUSY), StoreLockedError),
        (lite(sqlite3.SQLITE_BUSY_SNAPSHOT), StoreLockedError),
        (lite(sqlite3.SQLITE_LOCKED), StoreLockedError),
        (lite(sqlite3.SQLITE_FULL), StoreFullError),
        (lite(sqlite3.SQLITE_READONLY_DIRECTORY), StoreReadOnlyError),
        (lite(sqlite3.SQLITE_PERM), StoreReadOnlyError),
        (lite(sqlite3.SQLITE_CANTOPEN_ISDIR), StoreUnreachableError),
        (lite(sqlite3.SQLITE_CORRUPT), StoreError),
        (sqlite3.OperationalError("without a code"), StoreError),
        (PostgresError(None), StoreUnreachableError),
        *((PostgresError(state), StoreUnreachableError) for state in ("08006", "28P01", "3D000", "57P01", "53300")),
        *((PostgresError(state), StoreLockedError) for state in ("55P03", "40001")),
        (PostgresError("53100"), StoreFullError),
        *((PostgresError(state), StoreReadOnlyError) for state in ("25006", "42501")),
        *((PostgresError(state), StoreError) for state in ("53200", "57014", "42P01")),
    ],
)
def test_what_a_driver_raises_is_told_by_its_code(cause: Exception, kind: type[StoreError]) -> None:
    """An extended code by the one that it extends, and a state by its beginning; others are no special error."""
    error = told("the store", DBAPIError("SELECT 1", {}, cause))
    assert type(error) is kind
    assert (error.store, error.detail) == ("the store", " ".join(str(cause).split()))


def test_an_error_of_a_transaction_is_told_and_a_row_of_another_is_left_to_the_caller(database: Database) -> None:
    """He knows what it means that the row is there."""
    for use in (database.begin, database.read):
        with pytest.raises(StoreFullError) as full, use():
            raise DBAPIError("INSERT", {}, lite(sqlite3.SQLITE_FULL))
        assert full.value.store == database.name
        with pytest.raises(IntegrityError), use():
            raise IntegrityError("INSERT", {}, lite(sqlite3.SQLITE_CONSTRAINT))


@pytest.mark.parametrize(
    ("address", "name", "problem"),
    [
        ("postgresql://me:secret@h/db", "h/db", "it holds a password"),
        ("mysql://me:secret@h/db", "mysql", "only SQLite and PostgreSQL"),
        ("sqlite://", "sqlite", "only SQLite and PostgreSQL"),
        ("postgresql://me:secret@h:port/db", "postgresql", "no address of a database"),
        ("post gres://me:secret@h/db", "post gres", "no address of a database"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(address: str, name: str, problem: str) -> None:
    """Before anything is opened; a password in it is not told."""
    with pytest.raises(NoStoreError) as refused:
        open_database(address, {})
    assert name in refused.value.store
    assert problem in refused.value.problem
    assert "secret" not in refused.value.message


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg"])
def test_the_password_of_a_store_comes_from_the_environment(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told of it does not have it."""
    monkeypatch.setattr(opening, "_upgrade", lambda _: None)
    made = open_database(f"{scheme}://me@h/db", {"PGPASSWORD": "secret"})
    assert made._engine.url.password == "secret"
    assert "secret" not in made.name
    assert made.is_shared
    made.close()


@pytest.mark.parametrize("error", [StoreFullError("it", "no"), KeyboardInterrupt()])
def test_a_store_that_cannot_be_brought_to_the_newest_revision_is_closed(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else would."""
    closed: list[str] = []

    def fail(_: Database) -> None:
        raise error

    monkeypatch.setattr(opening, "_upgrade", fail)
    monkeypatch.setattr(Database, "close", lambda one: closed.append(one.name))
    with pytest.raises(type(error)):
        open_database(str(tmp_path / "store.db"))
    assert closed == [str(tmp_path / "store.db")]


def test_a_revision_that_cannot_be_reached_is_told_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what the migrations say."""

    def fail(*_: Any) -> None:
        raise CommandError("there is no way")

    monkeypatch.setattr(opening.command, "upgrade", fail)
    with pytest.raises(NoStoreError, match="there is no way"):
        open_database(str(tmp_path / "store.db"))


def test_of_two_who_publish_over_the_same_version_the_later_is_told_of_the_other(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where both had looked before either wrote."""
    routes = RouteVersions(database)
    assert routes.publish({"n": 1}, 0, "ada", "why", 1).version == 1
    with pytest.raises(PublishedMeanwhileError):
        routes.publish({"n": 2}, 0, "bob", "why", 2)
    looks, look = [], publishing.check_newest

    def late(connection: Any, base: int) -> None:
        looks.append(base)
        if len(looks) > 1:
            look(connection, base)

    monkeypatch.setattr(publishing, "check_newest", late)
    with pytest.raises(PublishedMeanwhileError) as refused:
        routes.publish({"n": 2}, 0, "bob", "why", 2)
    assert (refused.value.base, refused.value.newest, refused.value.author) == (0, 1, "ada")
    assert [one.table for one in routes.after(0, 9)] == [{"n": 1}]


@pytest.mark.parametrize(
    ("version", "message", "hint"), [(0, "no route table", "apply"), (7, "no version 7", "versions")]
)
def test_a_version_that_is_not_there_is_told_from_there_being_none(
    database: Database, version: int, message: str, hint: str
) -> None:
    """What to do next is another thing for each."""
    with pytest.raises(NoVersionError) as refused:
        RouteVersions(database).get(version)
    assert message in refused.value.message
    assert f"anabranch route {hint}" in refused.value.hint
