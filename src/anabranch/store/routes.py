"""The versions of the route table: each is published once, over the one that its author saw.

Invariants
    S7  versions count from 1 without a gap; a version that is there never changes.
    S8  a version is published only over the one before it: of two who publish over the same one, one is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select
from sqlalchemy.exc import IntegrityError

from anabranch.errors import RefusedError
from anabranch.store.database import Database
from anabranch.store.tables import ROUTE_SWITCHES, ROUTE_VERSIONS


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A version as it is kept; ``table`` is the mapping of a routes file, ``at`` in ms."""

    version: int
    at: int
    author: str
    reason: str
    table: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class VersionNote:
    """A version without its table."""

    version: int
    at: int
    author: str
    reason: str


@dataclass(eq=False)
class NoVersionError(RefusedError):
    """There is no such version of the route table; 0 is asked where there is none at all."""

    version: int

    @property
    def message(self) -> str:
        if self.version == 0:
            return "no route table has been published yet"
        return f"there is no version {self.version} of the route table"

    @property
    def hint(self) -> str:
        if self.version == 0:
            return "publish one: `anabranch route apply -f FILE --reason WHY --execute`"
        return "list them: `anabranch route versions`"


@dataclass(eq=False)
class PublishedMeanwhileError(RefusedError):
    """Somebody has published since: ``newest`` is the version that is there now, ``base`` the one that was seen."""

    base: int
    newest: int
    author: str

    _message = "{author} has published version {newest} of the route table since version {base}"
    _hint = "look at it, and plan again: `anabranch route show`"


@dataclass(eq=False)
class SwitchUnderWayError(RefusedError):
    """Clients are being moved, and until that has ended nothing else is published."""

    switch: str

    _message = "switch {switch} is under way"
    _hint = "wait until it has ended, or give it up: `anabranch route cancel {switch} --reason WHY --execute`"


class RouteVersions:
    """The route tables of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def publish(self, table: Mapping[str, Any], base: int, author: str, reason: str, now_ms: int) -> StoredVersion:
        """Publish a table over the version ``base``, 0 for the first; raises PublishedMeanwhileError (S8).

        While a switch is open only that publishes: raises SwitchUnderWayError.
        """
        try:
            with self._database.begin() as connection:
                check_none_open(connection)
                made = insert_version(connection, table, base, author, reason, now_ms)
        except IntegrityError:  # both saw the same one, and the other was first
            with self._database.begin() as connection:
                check_newest(connection, base)
            raise
        return made

    def newest_number(self) -> int:
        """The newest version; 0 where there is none."""
        with self._database.read() as connection:
            return connection.execute(select(func.max(ROUTE_VERSIONS.c.version))).scalar_one() or 0

    def get(self, version: int) -> StoredVersion:
        """A version; raises NoVersionError."""
        with self._database.begin() as connection:
            row = connection.execute(select(ROUTE_VERSIONS).where(ROUTE_VERSIONS.c.version == version)).first()
        if row is None:
            raise NoVersionError(version)
        return _version(row)

    def after(self, version: int, most: int) -> Sequence[StoredVersion]:
        """Versions above one, the newest first, at most so many of the newest."""
        asked = select(ROUTE_VERSIONS).where(ROUTE_VERSIONS.c.version > version)
        with self._database.read() as connection:
            rows = connection.execute(asked.order_by(ROUTE_VERSIONS.c.version.desc()).limit(most))
            return [_version(row) for row in rows]

    def notes(self, most: int, before: int | None = None) -> Sequence[VersionNote]:
        """Versions without their tables, the newest first, below ``before``."""
        columns = (ROUTE_VERSIONS.c[name] for name in VersionNote.__slots__)
        asked = select(*columns).order_by(ROUTE_VERSIONS.c.version.desc()).limit(most)
        if before is not None:
            asked = asked.where(ROUTE_VERSIONS.c.version < before)
        with self._database.begin() as connection:
            return [VersionNote(*row) for row in connection.execute(asked)]


def insert_version(
    connection: Connection, table: Mapping[str, Any], base: int, author: str, reason: str, now_ms: int
) -> StoredVersion:
    """Publish a table in a transaction; raises PublishedMeanwhileError."""
    check_newest(connection, base)
    made = StoredVersion(base + 1, now_ms, author, reason, table)
    values = {name: getattr(made, name) for name in StoredVersion.__slots__}
    connection.execute(insert(ROUTE_VERSIONS).values(**values))
    return made


def check_none_open(connection: Connection) -> None:
    """Raise SwitchUnderWayError where a switch has still to end."""
    found = connection.execute(select(ROUTE_SWITCHES.c.id).where(ROUTE_SWITCHES.c.open == 1)).scalar()
    if found is not None:
        raise SwitchUnderWayError(found)


def check_newest(connection: Connection, base: int) -> None:
    """Raise PublishedMeanwhileError where another version than that is the newest."""
    columns = ROUTE_VERSIONS.c.version, ROUTE_VERSIONS.c.author
    row = connection.execute(select(*columns).order_by(ROUTE_VERSIONS.c.version.desc()).limit(1)).first()
    newest, author = (0, "") if row is None else row
    if newest != base:
        raise PublishedMeanwhileError(base, newest, author)


def _version(row: Row[Any]) -> StoredVersion:
    return StoredVersion(**row._mapping)
