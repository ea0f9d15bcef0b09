"""The catalog as it is kept: its entries, the schema versions of tables, grants, and groups of accounts.

Invariants
    S15  who changes an entry names the revision that was read: of two who read the same one, one is refused.
    S16  what one plan changes is kept whole or not at all, and schema versions with it.
    S17  a grant and a membership are there once, however often they are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from anabranch.store.database import Database
from anabranch.store.tables import ACCOUNT_GROUPS, CATALOG_ENTRIES, CATALOG_GRANTS, CATALOG_VERSIONS
from anabranch.streams.catalog.kept import (
    EntryChange,
    EntryChangedError,
    NoEntryError,
    StoredEntry,
    StoredGrant,
    StoredSchema,
)

__all__ = [
    "EntryChange",
    "EntryChangedError",
    "NoEntryError",
    "StoredCatalog",
    "StoredEntry",
    "StoredGrant",
    "StoredSchema",
]


class StoredCatalog:
    """The catalog of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- entries ---------------------------------------------------------------------------------------

    def all(self) -> Sequence[StoredEntry]:
        """Every entry, by name."""
        with self._database.read() as connection:
            return [_entry(row) for row in connection.execute(select(CATALOG_ENTRIES).order_by(CATALOG_ENTRIES.c.name))]

    def get(self, name: str) -> StoredEntry:
        """One entry; raises NoEntryError."""
        with self._database.read() as connection:
            row = connection.execute(select(CATALOG_ENTRIES).where(CATALOG_ENTRIES.c.name == name)).first()
        if row is None:
            raise NoEntryError(name)
        return _entry(row)

    def change(self, changes: Sequence[EntryChange]) -> None:
        """Make all of them; raises EntryChangedError where one was read before another change (S15, S16)."""
        name = ""
        try:
            with self._database.begin() as connection:
                for one in changes:
                    name = one.name
                    _change(connection, one)
        except IntegrityError as error:  # another made it first
            raise EntryChangedError(name) from error

    def schemas(self, name: str) -> Sequence[StoredSchema]:
        """The schema versions of a table, the newest first."""
        asked = select(CATALOG_VERSIONS).where(CATALOG_VERSIONS.c.name == name)
        with self._database.read() as connection:
            rows = connection.execute(asked.order_by(CATALOG_VERSIONS.c.number.desc()))
            return [StoredSchema(**row._mapping) for row in rows]

    # -- grants ----------------------------------------------------------------------------------------

    def grants(self, securable: str | None = None) -> Sequence[StoredGrant]:
        """The grants, of one securable or of all, in their order."""
        asked = select(CATALOG_GRANTS)
        if securable is not None:
            asked = asked.where(CATALOG_GRANTS.c.securable == securable)
        columns = (CATALOG_GRANTS.c[name] for name in ("securable", "principal", "privilege"))
        with self._database.read() as connection:
            return [StoredGrant(**row._mapping) for row in connection.execute(asked.order_by(*columns))]

    def grant(self, made: StoredGrant) -> bool:
        """Keep a grant; False where it is there already (S17)."""
        try:
            with self._database.begin() as connection:
                if connection.execute(select(CATALOG_GRANTS.c.at).where(*_same(made))).first() is not None:
                    return False
                connection.execute(insert(CATALOG_GRANTS).values(**_values(made)))
        except IntegrityError:  # another gave it meanwhile
            return False
        return True

    def revoke(self, gone: StoredGrant) -> bool:
        """Take a grant back; False where it is not there."""
        with self._database.begin() as connection:
            return bool(connection.execute(delete(CATALOG_GRANTS).where(*_same(gone))).rowcount)

    # -- groups ----------------------------------------------------------------------------------------

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The accounts of each group, by name, by whoever's word."""
        return self._groups(select(ACCOUNT_GROUPS))

    def assigned(self) -> Mapping[str, tuple[str, ...]]:
        """The accounts that admins have put into each group."""
        return self._groups(select(ACCOUNT_GROUPS).where(ACCOUNT_GROUPS.c.is_claimed.is_(False)))

    def _groups(self, asked: Select[Any]) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, dict[str, None]] = {}
        with self._database.read() as connection:
            for row in connection.execute(asked.order_by(ACCOUNT_GROUPS.c.group, ACCOUNT_GROUPS.c.account)):
                found.setdefault(row.group, {})[row.account] = None
        return {group: tuple(accounts) for group, accounts in found.items()}

    def groups_of(self, account: str) -> frozenset[str]:
        """The groups that an account is in."""
        asked = select(ACCOUNT_GROUPS.c.group).where(ACCOUNT_GROUPS.c.account == account)
        with self._database.read() as connection:
            return frozenset(connection.execute(asked).scalars())

    def set_members(self, group: str, add: Sequence[str], remove: Sequence[str]) -> None:
        """Have accounts in a group by an admin's word, and others not; a group without accounts is none (S17, S19)."""
        try:
            with self._database.begin() as connection:
                mine = ACCOUNT_GROUPS.c.group == group, ACCOUNT_GROUPS.c.is_claimed.is_(False)
                connection.execute(delete(ACCOUNT_GROUPS).where(*mine, ACCOUNT_GROUPS.c.account.in_((*add, *remove))))
                for account in add:
                    connection.execute(insert(ACCOUNT_GROUPS).values(group=group, account=account, is_claimed=False))
        except IntegrityError as error:  # another changes the same ones
            raise EntryChangedError(f"group {group}") from error


def _change(connection: Connection, one: EntryChange) -> None:
    after, same = one.after, (CATALOG_ENTRIES.c.name == one.name, CATALOG_ENTRIES.c.revision == one.seen)
    if after is None:
        done = connection.execute(delete(CATALOG_ENTRIES).where(*same)).rowcount
        connection.execute(delete(CATALOG_VERSIONS).where(CATALOG_VERSIONS.c.name == one.name))
        connection.execute(delete(CATALOG_GRANTS).where(CATALOG_GRANTS.c.securable == one.name))
    elif one.seen:
        values = {**_values(after), "revision": one.seen + 1}
        done = connection.execute(update(CATALOG_ENTRIES).where(*same).values(**values)).rowcount
    else:
        connection.execute(insert(CATALOG_ENTRIES).values(**{**_values(after), "revision": 1}))
        done = 1
    if not done:
        raise EntryChangedError(one.name)
    if one.columns is not None and after is not None:
        _add_schema(connection, after, one.columns)


def _add_schema(connection: Connection, after: StoredEntry, columns: Sequence[Mapping[str, str]]) -> None:
    numbers = select(CATALOG_VERSIONS.c.number).where(CATALOG_VERSIONS.c.name == after.name)
    newest = connection.execute(numbers.order_by(CATALOG_VERSIONS.c.number.desc()).limit(1)).scalar() or 0
    made = StoredSchema(after.name, newest + 1, after.changed, after.author, columns)
    connection.execute(insert(CATALOG_VERSIONS).values(**_values(made)))


def _same(one: StoredGrant) -> tuple[Any, ...]:
    return tuple(CATALOG_GRANTS.c[name] == getattr(one, name) for name in ("securable", "principal", "privilege"))


def _values(one: StoredEntry | StoredSchema | StoredGrant) -> dict[str, Any]:
    return {name: getattr(one, name) for name in type(one).__slots__}


def _entry(row: Row[Any]) -> StoredEntry:
    return StoredEntry(**row._mapping)
