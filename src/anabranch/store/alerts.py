"""Alerts of streams: what their owners have changed of the rules, and how each alert stands.

Invariant
    S18  rules are written over those that their writer has read (``revision``); of two who change them one is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from anabranch.store.database import Database
from anabranch.store.tables import STREAM_ALERT_RULES, STREAM_ALERTS
from anabranch.streams.alerts.rules import AlertKind, AlertRules
from anabranch.streams.alerts.standing import Alert, AlertState
from anabranch.streams.kept import StreamChangedError

MOST_WORDS = 2000


class StoredAlerts:
    """The alerts of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rules(self, stream: str) -> tuple[AlertRules, int]:
        """The rules of a stream and their revision; those of the beginning, and 0, where nobody has changed them."""
        chosen = select(STREAM_ALERT_RULES).where(STREAM_ALERT_RULES.c.stream == stream)
        with self._database.read() as connection:
            row = connection.execute(chosen).first()
        return (AlertRules(), 0) if row is None else (AlertRules.of(row.rules), row.revision)

    def all_rules(self) -> Mapping[str, AlertRules]:
        """What was changed, by stream."""
        with self._database.read() as connection:
            return {row.stream: AlertRules.of(row.rules) for row in connection.execute(select(STREAM_ALERT_RULES))}

    def change(self, stream: str, revision: int, rules: AlertRules, author: str) -> None:
        """Keep other rules (S18); raises StreamChangedError."""
        values = {"revision": revision + 1, "rules": rules.fields(), "author": author}
        try:
            with self._database.begin() as connection:
                if not revision:
                    connection.execute(insert(STREAM_ALERT_RULES).values(stream=stream, **values))
                    return
                chosen = STREAM_ALERT_RULES.c.stream == stream, STREAM_ALERT_RULES.c.revision == revision
                if connection.execute(update(STREAM_ALERT_RULES).where(*chosen).values(**values)).rowcount != 1:
                    raise StreamChangedError(stream)
        except IntegrityError as error:
            raise StreamChangedError(stream) from error

    def all(self) -> Mapping[str, Sequence[Alert]]:
        """How the alerts stand, by stream."""
        found: dict[str, list[Alert]] = {}
        asked = select(STREAM_ALERTS).order_by(STREAM_ALERTS.c.stream, STREAM_ALERTS.c.kind, STREAM_ALERTS.c.query)
        with self._database.read() as connection:
            for row in connection.execute(asked):
                found.setdefault(row.stream, []).append(_alert(row))
        return found

    def of(self, stream: str) -> Sequence[Alert]:
        """How those of one stream stand."""
        asked = select(STREAM_ALERTS).where(STREAM_ALERTS.c.stream == stream)
        with self._database.read() as connection:
            rows = connection.execute(asked.order_by(STREAM_ALERTS.c.kind, STREAM_ALERTS.c.query))
            return [_alert(row) for row in rows]

    def keep(self, stream: str, alert: Alert) -> None:
        """Write how an alert stands."""
        chosen = (
            STREAM_ALERTS.c.stream == stream,
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
                key = {"stream": stream, "kind": alert.kind.value, "query": alert.query}
                connection.execute(insert(STREAM_ALERTS).values(**key, **values))

    def forget(self, stream: str) -> None:
        """Forget the alerts of a stream that is gone."""
        with self._database.begin() as connection:
            connection.execute(delete(STREAM_ALERTS).where(STREAM_ALERTS.c.stream == stream))
            connection.execute(delete(STREAM_ALERT_RULES).where(STREAM_ALERT_RULES.c.stream == stream))


def _alert(row: Row[Any]) -> Alert:
    told = {name: AlertState(state) for name, state in row.told.items()}
    return Alert(AlertKind(row.kind), row.query, AlertState(row.state), row.since, row.words, told)
