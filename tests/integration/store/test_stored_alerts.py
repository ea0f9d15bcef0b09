"""Alerts that are kept: a stream's and a link's of one name apart, and those of an older store."""

from __future__ import annotations

import pytest
from alembic import command

from anabranch.model.accounts import Role
from anabranch.store.accounts import Accounts
from anabranch.store.alerts import StoredAlerts
from anabranch.store.catalog import StoredCatalog
from anabranch.store.database import Database, open_database
from anabranch.store.runs import Run, RunKind, StartedRuns
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
    """INSERT INTO stream_alert_rules VALUES ('a-b', 4, 'mei', '{"receivers": ["ops"]}')""",
    """INSERT INTO stream_alerts VALUES ('a-b', 'alive', '', 'firing', 7, 'away', '{"ops": "firing"}')""",
    """INSERT INTO account_groups VALUES ('shop', 'mei')""",
)


def test_what_an_older_store_has_stays_what_it_was(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Migration 0013: alerts are those of streams, and groups an admin's; their keys take links and claims, too."""
    upgrade = command.upgrade
    with monkeypatch.context() as patched:
        patched.setattr(command, "upgrade", lambda config, _: upgrade(config, "0012"))
        old = open_database(address)
    with old.begin() as connection:
        for statement in OLD:
            connection.exec_driver_sql(statement)
    old.close()
    database = open_database(address)
    try:
        alerts, groups = StoredAlerts(database), StoredCatalog(database)
        assert alerts.rules(STREAM) == (AlertRules(receivers=("ops",)), 4)
        assert alerts.all() == {STREAM: [FIRES]}
        alerts.change(LINK, 0, AlertRules(), "mei")
        alerts.keep(LINK, FIRES)
        assert set(alerts.all()) == set(alerts.all_rules()) == {STREAM, LINK}
        assert groups.assigned() == {"shop": ("mei",)}
        Accounts(database).vouched("mei", Role.VIEWER, "https://id.example.org", 1, ("shop",))
        assert groups.groups() == groups.assigned() == {"shop": ("mei",)}
    finally:
        database.close()


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
