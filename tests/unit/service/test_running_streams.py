"""What a service refuses of its streams: a start above the bound, and alerts that another person changes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from anabranch.streams.kept import StoredStream
from anabranch.streams.states import StreamState, StreamWanted
from anabranch.streams.versions import StreamSettings, StreamVersion
from qa.service import Served, serving, until
from tests.unit.service.test_alerts_of_links import a_stream

pytestmark = pytest.mark.unit


def test_a_start_above_the_bound_is_refused_as_it_is_planned(migrated: Path, tmp_path: Path) -> None:
    """A stop never is, and neither is a restart of one that runs."""
    with serving(str(shutil.copy(migrated, tmp_path)), {}, tmp_path) as made:
        until(lambda: made.instance.acting.acts)
        here = made.instance
        here.reach = replace(here.reach, jobs=replace(here.reach.jobs, running_streams=1))
        here.acting._reach = here.reach
        here.streaming._acts = lambda: False  # the first one stays as it is wanted
        for name in ("first", "second"):
            a_stream(made, name)
        here.stored.streams.change("first", 1, wanted=StreamWanted.RUNNING)

        def planned(verb: str, name: str) -> tuple[int, str]:
            told = made.ask("POST", f"/api/v1/streams/{verb}/plan", {"stream": name}, role="operator")
            return told.status, told.json.get("detail", "")

        status, why = planned("start", "second")
        assert status == 409 and "of the streams 1 run or are to run, and at most 1 may at once" in why
        assert planned("restart", "second")[0] == 409
        assert planned("restart", "first")[0] == planned("stop", "first")[0] == 200
        told = made.ask("POST", "/api/v1/streams/start/plan", {"stream": "second"}, role="operator").json
        assert told["title"] == "too many streams" and "running_streams" in told["hint"]


def test_alerts_are_changed_by_the_owner_or_an_admin(alone: Served) -> None:
    """Another operator is told whom to ask; so is an approver."""
    streams = alone.instance.stored.streams
    for name, owner in (("own", "operator"), ("other", "mei")):
        states = StreamWanted.STOPPED, StreamState.DRAFT
        made = StoredStream(name, 1, owner, "", 1, 1, 0, *states, "", 1, 0, 0)
        streams.add(made, StreamVersion(1, 1, owner, "", "SELECT 1", StreamSettings()))

    def planned(name: str, role: str) -> tuple[int, str]:
        request = {"stream": name, "settings": ["lag=off"]}
        told = alone.ask("POST", "/api/v1/streams/alerts/plan", request, role=role)
        return told.status, told.json.get("detail", "")

    assert planned("own", "operator")[0] == planned("other", "admin")[0] == 200
    for role in ("operator", "approver"):
        status, why = planned("other", role)
        assert status == 409 and f"by its owner mei, or by an admin, and {role} is neither" in why
