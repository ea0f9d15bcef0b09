"""A first migration file, and access rules that are carried over, as the service offers both."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from anabranch.config.migration_file import migration_of
from anabranch.migration.standing import WaveState
from anabranch.operations.migrations.known import standings
from anabranch.service.verbs import migrations
from qa.service import Served
from tests.unit.link_lab import Lab

pytestmark = pytest.mark.unit
ASKED = {"source": "old", "target": "new", "watch_s": 0}


def test_what_a_cluster_holds_becomes_a_file_that_can_be_planned(
    both: Lab, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is what `migrate discover` writes, with its topics; nothing of it is kept."""
    monkeypatch.setattr(migrations, "WATCH_S", 0.0)
    told = served.ask("POST", "/api/v1/migrations/discover", ASKED, role="operator")
    assert told.status == 200, told.body
    document = told.json["document"]
    assert (document["name"], document["source"], document["target"]) == ("old-new", "old", "new")
    topics = [topic for wave in document["waves"] for topic in wave["topics"]]
    assert sorted(topics) == sorted(told.json["source"]["topics"])
    assert "orders" in topics
    assert served.get("/api/v1/migrations") == []
    plan = served.ask("POST", "/api/v1/migrations/start/plan", {"migration": document}, role="operator")
    assert plan.status == 200, plan.body

    assert served.ask("POST", "/api/v1/migrations/discover", ASKED, role="viewer").status == 403
    named = served.ask("POST", "/api/v1/migrations/discover", {**ASKED, "name": "spring"}, role="operator")
    assert named.json["document"]["name"] == "spring"
    away = served.ask("POST", "/api/v1/migrations/discover", {**ASKED, "source": "gone"}, role="operator")
    assert away.status in (404, 422), away.body


def test_a_start_of_waves_that_are_all_started_says_where_they_stand(
    both: Lab, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By their names, or without: none is planned as if the file had no wave."""
    document = served.ask("POST", "/api/v1/migrations/discover", ASKED, role="operator").json["document"]
    wave = document["waves"][0]["name"]
    wanted = migration_of(document, "here")
    stands = standings(wanted, ())
    copying = {name: replace(one, state=WaveState.COPYING) for name, one in stands.items()}

    async def known(_reach: object, _name: str) -> SimpleNamespace:
        return SimpleNamespace(migration=wanted, runs=())

    monkeypatch.setattr(migrations, "read_migration", known)
    monkeypatch.setattr(migrations, "standings", lambda *_: copying)
    for asked in ({}, {"waves": [wave]}):
        told = served.ask("POST", "/api/v1/migrations/start/plan", {"migration": document, **asked}, role="operator")
        assert told.status == 409, told.body
        assert f"wave {wave} of migration old-new cannot start: it is copying already" in told.json["detail"]


def test_access_rules_are_planned_by_the_operation_of_the_command_line(both: Lab, served: Served) -> None:
    """A target without an authorizer takes none: it says so, with what to do."""
    document = served.ask("POST", "/api/v1/migrations/discover", ASKED, role="operator").json["document"]
    told = served.ask("POST", "/api/v1/migrations/access/plan", {"migration": document}, role="operator")
    assert told.status == 409, told.body
    assert told.json["title"] == "no authorizer"
