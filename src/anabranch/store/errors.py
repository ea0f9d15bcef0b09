"""What can be wrong with the service's store."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy.exc import DBAPIError

from anabranch.errors import AnabranchError, ConfigError


@dataclass(eq=False)
class StoreError(AnabranchError):
    """The store did not do what was asked; nothing of it was kept."""

    store: str
    detail: str

    _message = "the store {store} failed: {detail}"
    _hint = "look at the database's own log"


class StoreUnreachableError(StoreError):
    """The database does not answer."""

    retryable: ClassVar[bool] = True
    _message = "the store {store} cannot be reached: {detail}"
    _hint = "see that the database runs and that its address and password are right"


class StoreLockedError(StoreError):
    """Somebody else holds the database for longer than is waited."""

    retryable: ClassVar[bool] = True
    _message = "the store {store} is locked: {detail}"
    _hint = "end what else has it open, for example a backup or a shell; then ask again"


class StoreFullError(StoreError):
    """There is no room on the database's disk."""

    _message = "the store {store} is full: {detail}"
    _hint = "free space on its disk; nothing was half written"


class StoreReadOnlyError(StoreError):
    """The database may not be written to."""

    _message = "the store {store} cannot be written to: {detail}"
    _hint = "give the service's user the right to write it"


@dataclass(eq=False)
class NoStoreError(ConfigError):
    """The address of the store is of no database that can be used."""

    store: str
    problem: str

    _message = "the store {store!r} cannot be used: {problem}"
    _hint = "give a path of a SQLite file, or postgresql://USER@HOST/DATABASE with the password in PGPASSWORD"


@dataclass(eq=False)
class StoreVersionError(ConfigError):
    """A newer version of the program has written the store."""

    store: str
    found: str

    _message = "the store {store} was written by a newer version: its revision {found} is not known"
    _hint = "run the version that wrote it, or give another --store"


_SQLITE = {
    sqlite3.SQLITE_BUSY: StoreLockedError,
    sqlite3.SQLITE_LOCKED: StoreLockedError,
    sqlite3.SQLITE_FULL: StoreFullError,
    sqlite3.SQLITE_READONLY: StoreReadOnlyError,
    sqlite3.SQLITE_PERM: StoreReadOnlyError,
    sqlite3.SQLITE_CANTOPEN: StoreUnreachableError,
}
_POSTGRESQL = {
    "08": StoreUnreachableError,
    "28": StoreUnreachableError,
    "3D": StoreUnreachableError,
    "57P": StoreUnreachableError,
    "55P": StoreLockedError,
    "40": StoreLockedError,
    "53100": StoreFullError,
    "53300": StoreUnreachableError,
    "25006": StoreReadOnlyError,
    "42501": StoreReadOnlyError,
}
"""By the beginning of the SQLSTATE, as in appendix A of PostgreSQL's manual."""


def told(store: str, error: DBAPIError) -> StoreError:
    """The error of a driver, in our words."""
    cause = error.orig
    detail = " ".join(str(cause).split()) or type(cause).__name__
    kind: type[StoreError] = StoreError
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        kind = _SQLITE.get(code, StoreError)
    else:
        state = getattr(cause, "sqlstate", None)
        if state is None:  # there was no answer that could have had one
            kind = StoreUnreachableError
        else:
            kind = next((one for begin, one in _POSTGRESQL.items() if state.startswith(begin)), StoreError)
    return kind(store, detail)
