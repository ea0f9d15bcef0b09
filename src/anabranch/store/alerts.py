"""Alerts of streams and links: what their owners have changed of the rules, and how each alert stands.

Invariant
    S18  rules are written over those that their writer has read (``revision``); of two who change them one is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, Table, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from anabranch.store.database import Database
from anabranch.store.tables import STREAM_ALERT_RULES, STREAM_ALERTS
from anabranch.streams.alerts.jobs import AlertedJob
from anabranch.streams.alerts.rules import AlertKind, AlertRules
from anabranch.streams.alerts.standing import Alert, AlertState
from anabranch.streams.kept import StreamChangedError

MOST_WORDS = 2000


class StoredAlerts:
    """The alerts of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rules(self, job: AlertedJob) -> tuple[AlertRules, int]:
        """The rules of a job and their revision; those of the beginning, and 0, where nobody has changed them."""
        with self._database.read() as connection:
            row = connection.execute(select(STREAM_ALERT_RULES).where(*_of(STREAM_ALERT_RULES, job))).first()
        return (AlertRules(), 0) if row is None else (AlertRules.of(row.rules), row.revision)

    def all_rules(self) -> Mapping[AlertedJob, AlertRules]:
        """What was changed, by job."""
        with self._database.read() as connection:
            rows = connection.execute(select(STREAM_ALERT_RULES))
            return {AlertedJob(row.stream, row.target): AlertRules.of(row.rules) for row in rows}

    def change(self, job: AlertedJob, revision: int, rules: AlertRules, author: str) -> None:
        """Keep other rules (S18); raises StreamChangedError."""
        values = {"revision": revision + 1, "rules": rules.fields(), "author": author}
        try:
            with self._database.begin() as connection:
                if not revision:
                    key = {"stream": job.name, "target": job.target}
                    connection.execute(insert(STREAM_ALERT_RULES).values(**key, **values))
                    return
                chosen = *_of(STREAM_ALERT_RULES, job), STREAM_ALERT_RULES.c.revision == revision
                if connection.execute(update(STREAM_ALERT_RULES).where(*chosen).values(**values)).rowcount != 1:
                    raise StreamChangedError(job.name)
        except IntegrityError as error:
            raise StreamChangedError(job.name) from error

    def all(self) -> Mapping[AlertedJob, Sequence[Alert]]:
        """How the alerts stand, by job."""
        found: dict[AlertedJob, list[Alert]] = {}
        with self._database.read() as connection:
            for row in connection.execute(select(STREAM_ALERTS).order_by(*STREAM_ALERTS.primary_key)):
                found.setdefault(AlertedJob(row.stream, row.target), []).append(_alert(row))
        return found

    def of(self, job: AlertedJob) -> Sequence[Alert]:
        """How those of one job stand."""
        asked = select(STREAM_ALERTS).where(*_of(STREAM_ALERTS, job))
        with self._database.read() as connection:
            rows = connection.execute(asked.order_by(STREAM_ALERTS.c.kind, STREAM_ALERTS.c.query))
            return [_alert(row) for row in rows]

    def keep(self, job: AlertedJob, alert: Alert) -> None:
        """Write how an alert stands."""
        chosen = (
            *_of(STREAM_ALERTS, job),
            STREAM_ALERTS.c.kind == alert.kind.value,
            STREAM_ALERTS.c.query == alert.query,
        )
        values = {
            "state": alert.state.value,
            "since": alert.since,
            "words": alert.words[:MOST_WORDS],
            "told": {name: state.value for name, state in alert.told.items()},
        }
        with self._database.begin() as connection:
            if connection.execute(update(STREAM_ALERTS).where(*chosen).values(**values)).rowcount != 1:
                key = {"stream": job.name, "target": job.target, "kind": alert.kind.value, "query": alert.query}
                connection.execute(insert(STREAM_ALERTS).values(**key, **values))

    def forget(self, job: AlertedJob) -> None:
        """Forget the alerts of a job that is gone."""
        with self._database.begin() as connection:
            for table in (STREAM_ALERTS, STREAM_ALERT_RULES):
                connection.execute(delete(table).where(*_of(table, job)))


def _of(table: Table, job: AlertedJob) -> tuple[ColumnElement[bool], ...]:
    return table.c.stream == job.name, table.c.target == job.target


def _alert(row: Row[Any]) -> Alert:
    told = {name: AlertState(state) for name, state in row.told.items()}
    return Alert(AlertKind(row.kind), row.query, AlertState(row.state), row.since, row.words, told)
