"""Registered clients as they were last written: what an instance knows again after a restart, and others list.

An instance writes in batches what changed, so a row may be some seconds old; the instance's memory is what counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, Select, delete, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from anabranch.model.routing import Client, ClientFacts, ClientReport, ClientRole, RouteQuery
from anabranch.store.database import Database
from anabranch.store.tables import ROUTE_CLIENTS

_COLUMNS = tuple(column.name for column in ROUTE_CLIENTS.columns)
_AT_ONCE = 500
"""Rows that one statement removes."""


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    """A client, the name of the account that registered it, and the instance that hears of it."""

    client: Client
    account: str
    instance: str


NOBODY = ""
"""The instance of a client that has ended."""


class RouteClients:
    """The clients of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, clients: Iterable[RegisteredClient]) -> None:
        """Write clients, also such as are there already, in one transaction; of two instances the later word counts."""
        rows = [_values(one) for one in clients]
        if not rows:
            return
        made = (postgresql if self._database.is_shared else sqlite).insert(ROUTE_CLIENTS)
        written = made.on_conflict_do_update(
            index_elements=["id"],
            set_={name: made.excluded[name] for name in _COLUMNS if name != "id"},
            where=made.excluded.seen >= ROUTE_CLIENTS.c.seen,  # another instance may hear of it by now
        )
        with self._database.begin() as connection:
            connection.execute(written, rows)

    def of_instance(self, instance: str, after_ms: int) -> Sequence[RegisteredClient]:
        """An instance's clients whose leases end later than that."""
        return self._all(_CLIENTS.where(ROUTE_CLIENTS.c.instance == instance, ROUTE_CLIENTS.c.until > after_ms))

    def of_others(self, instance: str, after_ms: int) -> Sequence[RegisteredClient]:
        """All other instances' clients whose leases end later than that."""
        return self._all(_CLIENTS.where(ROUTE_CLIENTS.c.instance != instance, ROUTE_CLIENTS.c.until > after_ms))

    def live(self, now_ms: int) -> Sequence[RegisteredClient]:
        """All clients whose leases run."""
        return self._all(_CLIENTS.where(ROUTE_CLIENTS.c.until > now_ms))

    def beside(
        self, ids: Collection[str], groups: Collection[str], instance: str, now_ms: int
    ) -> Sequence[RegisteredClient]:
        """The clients of these ids that are there, and the live members of groups; none that ``instance`` has."""
        members = ROUTE_CLIENTS.c.group.in_(groups) & (ROUTE_CLIENTS.c.until > now_ms)
        wanted = or_(ROUTE_CLIENTS.c.id.in_(ids), members) if groups else ROUTE_CLIENTS.c.id.in_(ids)
        return self._all(_CLIENTS.where(wanted, ROUTE_CLIENTS.c.instance != instance))

    def get(self, client_id: str) -> RegisteredClient | None:
        """A client, None where it is not there."""
        found = self._all(_CLIENTS.where(ROUTE_CLIENTS.c.id == client_id))
        return found[0] if found else None

    def remove(self, ids: Iterable[str], instance: str, now_ms: int) -> None:
        """Clients have ended, of which no other instance hears by now.

        Those of groups are kept as stale ones that nobody hears of: their groups' positions stay where they are.
        """
        every = list(ids)
        with self._database.begin() as connection:
            for at in range(0, len(every), _AT_ONCE):
                some = ROUTE_CLIENTS.c.id.in_(every[at : at + _AT_ONCE]) & (ROUTE_CLIENTS.c.instance == instance)
                ended = update(ROUTE_CLIENTS).where(some, ROUTE_CLIENTS.c.group != "")
                connection.execute(ended.values(instance=NOBODY, until=now_ms))
                connection.execute(delete(ROUTE_CLIENTS).where(some))

    def forget(self, before_ms: int) -> int:
        """Forget all clients whose leases ended before that; returns how many."""
        with self._database.begin() as connection:
            return connection.execute(delete(ROUTE_CLIENTS).where(ROUTE_CLIENTS.c.until < before_ms)).rowcount

    def _all(self, asked: Select[Any]) -> Sequence[RegisteredClient]:
        with self._database.read() as connection:
            rows = connection.execute(asked).all()
        return [_registered(row) for row in rows]


_CLIENTS = select(ROUTE_CLIENTS).order_by(ROUTE_CLIENTS.c.id)


def _values(registered: RegisteredClient) -> dict[str, Any]:
    client = registered.client
    return {
        "id": client.id,
        "account": registered.account,
        "instance": registered.instance,
        "group": client.query.group,
        "cluster": client.cluster,
        "seen": client.seen_ms,
        "until": client.until_ms,
        "document": {
            "facts": _fields(client.facts),
            "query": _fields(client.query),
            "registered_ms": client.registered_ms,
            "since": client.since,
            "report": _fields(client.report),
        },
    }


def _fields(value: ClientFacts | RouteQuery | ClientReport) -> dict[str, Any]:
    """A value's fields; nothing in it is copied, which of ten thousand clients would be felt."""
    return {name: getattr(value, name) for name in value.__slots__}


def _registered(row: Row[Any]) -> RegisteredClient:
    document = row.document
    client = Client(
        row.id,
        ClientFacts(**document["facts"]),
        _query(document["query"]),
        document["registered_ms"],
        row.seen,
        row.until,
        row.cluster,
        document["since"],
        ClientReport(**document["report"]),
    )
    return RegisteredClient(client, row.account, row.instance)


def _query(fields: Mapping[str, Any]) -> RouteQuery:
    return RouteQuery(**{**fields, "role": ClientRole(fields["role"]), "topics": tuple(fields["topics"])})
