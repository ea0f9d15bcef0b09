"""Alerts that are kept: a stream's and a link's of one name apart, and those of an older store."""

from __future__ import annotations

from importlib import import_module

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations

from anabranch.store.alerts import StoredAlerts
from anabranch.store.database import Database
from anabranch.store.runs import Run, RunKind, StartedRuns
from anabranch.store.tables import STREAM_ALERT_RULES, STREAM_ALERTS
from anabranch.streams.alerts.jobs import AlertedJob
from anabranch.streams.alerts.rules import AlertKind, AlertRules, with_settings
from anabranch.streams.alerts.standing import Alert, AlertState
from anabranch.streams.kept import StreamChangedError

pytestmark = pytest.mark.test

STREAM, LINK, OTHER = AlertedJob("a-b"), AlertedJob("a-b", "new"), AlertedJob("a-b", "other")
FIRES = Alert(AlertKind.ALIVE, "", AlertState.FIRING, 7, "away", {"ops": AlertState.FIRING})


def test_alerts_of_one_name_are_kept_apart(database: Database) -> None:
    """By the target: what is changed, kept or forgotten of one is nothing of the others; of two who change one is."""
    alerts = StoredAlerts(database)
    rules = with_settings(AlertRules(), ["lag=5"])
    alerts.change(LINK, 0, rules, "mei")
    alerts.change(STREAM, 0, AlertRules(receivers=("ops",)), "mei")
    with pytest.raises(StreamChangedError):
        alerts.change(LINK, 0, rules, "jo")
    alerts.change(LINK, 1, rules.changed(AlertKind.LAG, is_on=False), "jo")
    assert (alerts.rules(LINK)[1], alerts.rules(STREAM)[1], alerts.rules(OTHER)) == (2, 1, (AlertRules(), 0))
    assert set(alerts.all_rules()) == {LINK, STREAM}
    alerts.keep(LINK, FIRES)
    alerts.keep(STREAM, FIRES.over(8))
    alerts.keep(LINK, FIRES.was_told("people", AlertState.FIRING))
    assert [one.told.keys() for one in alerts.of(LINK)] == [{"ops", "people"}]
    assert {job: [one.state for one in told] for job, told in alerts.all().items()} == {
        STREAM: [AlertState.OVER],
        LINK: [AlertState.FIRING],
    }
    alerts.forget(LINK)
    assert set(alerts.all()) == set(alerts.all_rules()) == {STREAM}


OLD = (
    "CREATE TABLE stream_alert_rules (stream VARCHAR(60) NOT NULL, revision INTEGER NOT NULL, "
    "author VARCHAR(200) NOT NULL, rules JSON NOT NULL, CONSTRAINT pk_stream_alert_rules PRIMARY KEY (stream))",
    "CREATE TABLE stream_alerts (stream VARCHAR(60) NOT NULL, kind VARCHAR(20) NOT NULL, "
    "query VARCHAR(300) NOT NULL, state VARCHAR(20) NOT NULL, since BIGINT NOT NULL, words VARCHAR(2000) NOT NULL, "
    "told JSON NOT NULL, CONSTRAINT pk_stream_alerts PRIMARY KEY (stream, kind, query))",
    """INSERT INTO stream_alert_rules VALUES ('a-b', 4, 'mei', '{"receivers": ["ops"]}')""",
    """INSERT INTO stream_alerts VALUES ('a-b', 'alive', '', 'firing', 7, 'away', '{"ops": "firing"}')""",
)


def test_alerts_of_an_older_store_stay_those_of_streams(database: Database) -> None:
    """Migration 0014 keeps every row, and its key takes a link of the same name."""
    migration = import_module("anabranch.store.migrations.versions.0014_link_alerts")
    with database.begin() as connection:
        for table in (STREAM_ALERT_RULES, STREAM_ALERTS):
            connection.exec_driver_sql(f"DROP TABLE {table.name}")
        for statement in OLD:
            connection.exec_driver_sql(statement)
        with Operations.context(MigrationContext.configure(connection)):
            migration.upgrade()
    alerts = StoredAlerts(database)
    assert alerts.rules(STREAM) == (AlertRules(receivers=("ops",)), 4)
    assert alerts.all() == {STREAM: [FIRES]}
    alerts.change(LINK, 0, AlertRules(), "mei")
    alerts.keep(LINK, FIRES)
    assert set(alerts.all()) == set(alerts.all_rules()) == {STREAM, LINK}


def test_failures_of_links_are_those_whose_end_was_seen(database: Database) -> None:
    """By target and link, since a time; no comparison's."""
    runs = StartedRuns(database)
    for kind, target, code, at in (
        (RunKind.LINK, "new", 1, 100),
        (RunKind.LINK, "new", -9, 300),
        (RunKind.LINK, "new", 0, 300),
        (RunKind.LINK, "new", None, 300),
        (RunKind.LINK, "other", 1, 300),
        (RunKind.VERIFY, "new", 1, 300),
        (RunKind.LINK, "new", 2, 400),
    ):
        made = runs.began(Run(kind, target, "a-b", "here", 1, 1, "/log", "mei", 1))
        runs.ended(made.id, code, at)
    assert runs.link_failures(100) == {("new", "a-b"): (300, 400), ("other", "a-b"): (300,)}
