"""Who asked for what, with which plan, and how it went.  Entries are added and never changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from anabranch.store.database import Database
from anabranch.store.tables import AUDIT

LONGEST = 2000


class Outcome(StrEnum):
    """How it went; ``STARTED`` is followed by another entry of the same operation.

    ``LOST``: the instance that carried it out is gone, and how it ended is not known.
    """

    STARTED = "started"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry; ``subject`` is what it was about, as ``link old-new``."""

    at: int
    account: str
    role: str
    address: str
    verb: str
    subject: str
    outcome: Outcome
    detail: str = ""
    plan: str | None = None
    hash: str | None = None
    operation: str | None = None
    id: int = 0


def write(connection: Connection, entry: AuditEntry) -> None:
    """Note what happens in the transaction in which it does."""
    values = {name: getattr(entry, name) for name in AuditEntry.__slots__ if name != "id"}
    values["outcome"] = entry.outcome.value
    for name, longest in (("detail", LONGEST), ("subject", 300), ("address", 100), ("account", 200)):
        values[name] = values[name][:longest]
    connection.execute(insert(AUDIT).values(**values))


def write_lost(connection: Connection, operation: str, detail: str, now_ms: int) -> None:
    """Note that an operation was lost, beside the entry of its beginning; nothing where that is not there."""
    began = (AUDIT.c.operation == operation) & (AUDIT.c.outcome == Outcome.STARTED.value)
    row = connection.execute(select(AUDIT).where(began)).first()
    if row is not None:
        write(connection, replace(_entry(row), at=now_ms, outcome=Outcome.LOST, detail=detail))


class Audit:
    """The audit of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, entry: AuditEntry) -> None:
        """Note what happened."""
        with self._database.begin() as connection:
            write(connection, entry)

    def entries(
        self, most: int, *, before: int | None = None, account: str | None = None, verb: str | None = None
    ) -> Sequence[AuditEntry]:
        """Entries, the newest first, below the id ``before``."""
        asked = select(AUDIT).order_by(AUDIT.c.id.desc()).limit(most)
        if before is not None:
            asked = asked.where(AUDIT.c.id < before)
        if account is not None:
            asked = asked.where(AUDIT.c.account == account)
        if verb is not None:
            asked = asked.where(AUDIT.c.verb == verb)
        with self._database.begin() as connection:
            return [_entry(row) for row in connection.execute(asked)]


def _entry(row: Row[Any]) -> AuditEntry:
    fields = dict(row._mapping)
    return AuditEntry(**{**fields, "outcome": Outcome(fields["outcome"])})
