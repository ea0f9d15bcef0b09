"""Alerts of links: looked at, told, changed and forgotten as those of streams; and a name that only one of both has."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from anabranch.model.clock import now_ms
from anabranch.service import alerting
from anabranch.service.alert_sending import AlertNotice, Mail, Webhook, subject_of
from anabranch.service.alerting import Alerting
from anabranch.service.board import Board, SeenCluster
from anabranch.service.errors import NotReadYetError
from anabranch.service.hub import Hub
from anabranch.service.problems import problem_of
from anabranch.store.runs import Run, RunKind
from anabranch.streams.alerts.jobs import AlertedJob
from anabranch.streams.alerts.rules import AlertKind
from anabranch.streams.alerts.standing import Alert, AlertState
from anabranch.streams.kept import StoredStream
from anabranch.streams.states import StreamState, StreamWanted
from anabranch.streams.versions import StreamSettings, StreamVersion
from qa.service import Served, until
from tests.unit.link_lab import LINK, Lab
from tests.unit.service.test_changes import did

pytestmark = pytest.mark.unit
JOB = AlertedJob(LINK, "new")
OPS = {"ops": Webhook("http://127.0.0.1:9/alerts")}


def a_stream(served: Served, name: str) -> None:
    """Keep a stream of that name."""
    states = StreamWanted.STOPPED, StreamState.DRAFT
    made = StoredStream(name, 1, "mei", "", 1, 1, 0, *states, "", 1, 0, 0)
    served.instance.stored.streams.add(made, StreamVersion(1, 1, "mei", "", "SELECT 1", StreamSettings()))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[AlertNotice]:
    """What receivers were told."""
    told: list[AlertNotice] = []

    async def send(_: str, __: Webhook | Mail, notice: AlertNotice) -> None:
        told.append(notice)

    monkeypatch.setattr(alerting, "send", send)
    return told


def looked(served: Served) -> Alerting:
    """The alerts after a look by somebody who acts."""
    here = served.instance
    found = here.stored, here.streaming, here.stream_links
    looking = Alerting(*found, Hub(), OPS, "https://anabranch.example", lambda: True)
    asyncio.run(looking.look())
    return looking


def failed_run(served: Served, target: str, code: int | None) -> None:
    """Note a run of the link that has ended."""
    runs, now = served.instance.stored.runs, now_ms()
    made = runs.began(Run(RunKind.LINK, target, LINK, "elsewhere", 1, now, "/run-0.log", "mei", now))
    runs.ended(made.id, code, now)


def test_alerts_of_a_link_are_told_and_changed_as_those_of_streams(
    both: Lab, served: Served, sent: list[AlertNotice]
) -> None:
    """By its target where a stream has its name; none of what is of another target, and none once the link is gone."""
    until(lambda: served.get("/api/v1/streams"))
    shown = served.get(f"/api/v1/streams/{LINK}/alerts")
    assert (shown["stream"], shown["target"], shown["alerts"]) == (LINK, "new", [])
    assert [one["kind"] for one in shown["rules"]] == ["alive", "lag", "restarts"]
    slow: dict[str, Any] = {"stream": LINK, "settings": ["slow=off"]}
    told = served.ask("POST", "/api/v1/streams/alerts/plan", slow, role="operator")
    assert told.status == 422 and "alive, lag, restarts" in told.json["hint"]
    report = did(served, "streams/alerts", {"stream": LINK, "settings": ["restarts=0"]})["report"]
    assert report == {"stream": LINK, "target": "new"}

    failed_run(served, "new", 0)
    failed_run(served, "new", None)
    failed_run(served, "other", 1)
    assert looked(served).firing == {} and sent == []
    failed_run(served, "new", 1)
    assert list(looked(served).firing) == [(LINK, "new", "restarts", "")]
    (notice,) = sent
    assert (notice.stream, notice.target, notice.alert, notice.state) == (LINK, "new", "restarts", "firing")
    assert (notice.owner, notice.link) == ("", f"https://anabranch.example/links/new/{LINK}")
    assert subject_of(notice) == f"link {LINK} to new: restarts"
    looked(served)
    assert len(sent) == 1, "a receiver is told once"
    assert [(one["stream"], one["target"]) for one in served.get("/api/v1/alerts")] == [(LINK, "new")]

    a_stream(served, LINK)
    assert served.get(f"/api/v1/streams/{LINK}/alerts")["target"] == ""
    (alert,) = served.get(f"/api/v1/streams/{LINK}/alerts?target=new")["alerts"]
    assert (alert["kind"], alert["state"]) == ("restarts", "firing")
    request = {"stream": LINK, "target": "new", "settings": ["lag=5"]}
    plan = served.ask("POST", "/api/v1/streams/alerts/plan", request, role="operator").json
    assert plan["command"] == f"anabranch stream alerts {LINK} --set lag=5 --target new"
    assert served.ask("GET", f"/api/v1/streams/{LINK}/alerts?target=nowhere").status == 404

    did(served, "links/delete", {"link": LINK, "target": "new"})
    until(lambda: served.instance.stream_links.named(LINK) is None)
    assert looked(served).firing == {}
    assert JOB not in served.instance.stored.alerts.all() and JOB not in served.instance.stored.alerts.all_rules()


def test_alerts_of_a_cluster_that_was_never_read_stand_as_they_stood(
    both: Lab, served: Served, sent: list[AlertNotice], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a start of the service nothing is over because nothing was read yet; of no context at all they go."""
    until(lambda: served.get("/api/v1/streams"))
    did(served, "streams/alerts", {"stream": LINK, "settings": ["restarts=0"]})
    failed_run(served, "new", 1)
    looked(served)
    (alert,) = [one for one in served.instance.stored.alerts.of(JOB) if one.told]

    def not_read(_: Board, name: str) -> None:
        raise NotReadYetError(name)

    with monkeypatch.context() as patched:
        patched.setattr(Board, "cluster", not_read)
        patched.setattr(Board, "seen", property(lambda _: []))
        assert list(looked(served).firing) == [(LINK, "new", "restarts", "")]
    gone = AlertedJob(LINK, "no-context")
    served.instance.stored.alerts.keep(gone, alert)
    looked(served)
    assert gone not in served.instance.stored.alerts.all()


def test_a_link_that_was_away_as_another_instance_came_to_act_is_told(
    both: Lab, served: Served, sent: list[AlertNotice], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its target is lost, and the service with it: what was waited for goes on, and is over once it is read again."""
    until(lambda: served.get("/api/v1/streams"))
    looked(served)
    sent.clear()
    began = now_ms() - 61_000
    served.instance.stored.alerts.keep(JOB, Alert(AlertKind.ALIVE, "", AlertState.WAITING, began, "it is degraded"))

    seen = SeenCluster("new")
    with monkeypatch.context() as patched:
        patched.setattr(Board, "cluster", lambda *_: seen)
        patched.setattr(Board, "seen", property(lambda _: [seen]))
        assert looked(served).firing == {}, "it was not tried yet"
        seen = SeenCluster("new", problem=problem_of(NotReadYetError("new", "no broker answers")))
        assert list(looked(served).firing) == [(LINK, "new", "alive", "")]
        looked(served)
    (notice,) = sent
    assert (notice.alert, notice.state) == ("alive", "firing")
    assert "whether it does cannot be determined: cluster new is not read: " in notice.words
    assert notice.link == f"https://anabranch.example/links/new/{LINK}"


def test_a_link_has_not_the_name_of_a_stream(both: Lab, served: Served) -> None:
    """Whoever creates it: told with what to give; the reverse is refused as well."""
    a_stream(served, "counts")
    asked = {"link": {"source": "old", "target": "new", "id": "counts"}}
    told = served.ask("POST", "/api/v1/links/create/plan", asked, role="admin")
    assert (told.status, told.json["title"]) == (409, "name of stream"), told.json
    assert "--id" in told.json["hint"]
