"""Switches of live clients from one cluster to another: the journal of each, and what clients handed over.

Invariants
    S9   at most one switch is open.
    S10  a journal is written over the one that its writer has read (``revision``): of two instances one is refused.
    S11  the table of a switch is published in the transaction that has its journal say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from anabranch.errors import RefusedError
from anabranch.model.clock import DAY_MS
from anabranch.store.database import Database
from anabranch.store.routes import check_newest, check_none_open, insert_version
from anabranch.store.tables import ROUTE_HANDOVERS, ROUTE_SWITCHES

KEPT_MS = 90 * DAY_MS
"""How long a switch that has ended is kept."""


@dataclass(frozen=True, slots=True)
class StoredSwitch:
    """A switch as it is kept; ``table`` is the routes file that it publishes, ``journal`` its journal, as values."""

    id: str
    is_open: bool
    state: str
    revision: int
    began: int
    author: str
    reason: str
    table: Mapping[str, Any]
    journal: Mapping[str, Any]


@dataclass(eq=False)
class NoSuchSwitchError(RefusedError):
    """There is no such switch, or it ended long ago."""

    switch: str

    _message = "there is no switch {switch}"
    _hint = "list them: `anabranch route switches`"


@dataclass(eq=False)
class SwitchTakenError(RefusedError):
    """Another instance has gone on with a switch since."""

    switch: str

    _message = "another instance goes on with switch {switch}"
    _hint = "look at it: `anabranch route switches`"


class Switches:
    """The switches of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, made: StoredSwitch, base: int) -> None:
        """Keep one that begins over the version ``base``.

        Raises SwitchUnderWayError (S9), PublishedMeanwhileError, SwitchTakenError where it began already.
        """
        try:
            with self._database.begin() as connection:
                check_none_open(connection)
                check_newest(connection, base)
                values = {name: getattr(made, name) for name in StoredSwitch.__slots__ if name != "is_open"}
                connection.execute(insert(ROUTE_SWITCHES).values(**values, open=1))
        except IntegrityError:  # two began at once, or it has begun before, and ended
            with self._database.begin() as connection:
                check_none_open(connection)
                if connection.execute(select(ROUTE_SWITCHES.c.id).where(ROUTE_SWITCHES.c.id == made.id)).first():
                    raise SwitchTakenError(made.id) from None
            raise

    def keep(self, switch: str, revision: int, state: str, journal: Mapping[str, Any], *, is_open: bool) -> None:
        """Write a journal over the one of that revision; raises SwitchTakenError (S10)."""
        with self._database.begin() as connection:
            _keep(connection, switch, revision, state, journal, 1 if is_open else None)

    def publish(
        self, switch: str, revision: int, state: str, journal: Mapping[str, Any], base: int, now_ms: int
    ) -> None:
        """Publish its table over the version ``base`` (S11); raises SwitchTakenError, PublishedMeanwhileError."""
        with self._database.begin() as connection:
            _keep(connection, switch, revision, state, journal, 1)
            row = connection.execute(select(ROUTE_SWITCHES).where(ROUTE_SWITCHES.c.id == switch)).one()
            insert_version(connection, row.table, base, row.author, row.reason, now_ms)

    def newest(self) -> tuple[str, int] | None:
        """The switch that is open, or else the one that began last, with its revision."""
        asked = select(ROUTE_SWITCHES.c.id, ROUTE_SWITCHES.c.revision).order_by(*_NEWEST)
        with self._database.read() as connection:
            row = connection.execute(asked.limit(1)).first()
        return None if row is None else (row.id, row.revision)

    def get(self, switch: str) -> StoredSwitch:
        """A switch; raises NoSuchSwitchError."""
        with self._database.read() as connection:
            row = connection.execute(select(ROUTE_SWITCHES).where(ROUTE_SWITCHES.c.id == switch)).first()
        if row is None:
            raise NoSuchSwitchError(switch)
        return _switch(row)

    def last(self, most: int) -> Sequence[StoredSwitch]:
        """Switches, the newest first."""
        with self._database.begin() as connection:
            return [_switch(row) for row in connection.execute(select(ROUTE_SWITCHES).order_by(*_NEWEST).limit(most))]

    def hand_over(self, switch: str, client: str, document: Mapping[str, Any]) -> None:
        """Keep what a client handed over; what it said first counts."""
        try:
            with self._database.begin() as connection:
                connection.execute(insert(ROUTE_HANDOVERS).values(switch=switch, client=client, document=document))
        except IntegrityError:  # it said so before, and has not heard that it was heard
            pass

    def count_handed_over(self, switch: str) -> int:
        """How many have handed over."""
        asked = select(func.count()).select_from(ROUTE_HANDOVERS).where(ROUTE_HANDOVERS.c.switch == switch)
        with self._database.read() as connection:
            return connection.execute(asked).scalar_one()

    def handed_over(self, switch: str) -> Mapping[str, Mapping[str, Any]]:
        """What clients handed over, by client."""
        asked = select(ROUTE_HANDOVERS).where(ROUTE_HANDOVERS.c.switch == switch)
        with self._database.read() as connection:
            return {row.client: row.document for row in connection.execute(asked)}

    def forget(self, before_ms: int) -> None:
        """Forget switches that ended, and began before that."""
        gone = select(ROUTE_SWITCHES.c.id).where(ROUTE_SWITCHES.c.began < before_ms, ROUTE_SWITCHES.c.open.is_(None))
        with self._database.begin() as connection:
            connection.execute(delete(ROUTE_HANDOVERS).where(ROUTE_HANDOVERS.c.switch.in_(gone)))
            connection.execute(delete(ROUTE_SWITCHES).where(ROUTE_SWITCHES.c.id.in_(gone)))


_NEWEST = (ROUTE_SWITCHES.c.open.is_(None), ROUTE_SWITCHES.c.began.desc(), ROUTE_SWITCHES.c.id)


def _keep(
    connection: Connection, switch: str, revision: int, state: str, journal: Mapping[str, Any], opened: int | None
) -> None:
    written = connection.execute(
        update(ROUTE_SWITCHES)
        .where(ROUTE_SWITCHES.c.id == switch, ROUTE_SWITCHES.c.revision == revision, ROUTE_SWITCHES.c.open == 1)
        .values(revision=revision + 1, state=state, journal=journal, open=opened)
    )
    if written.rowcount != 1:
        raise SwitchTakenError(switch)


def _switch(row: Row[Any]) -> StoredSwitch:
    fields = {name: getattr(row, name) for name in StoredSwitch.__slots__ if name != "is_open"}
    return StoredSwitch(**fields, is_open=row.open == 1)
