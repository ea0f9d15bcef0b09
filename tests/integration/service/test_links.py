"""A link's whole life by the service: created, run on a real Spark, found again after a restart, compared, stopped.

Where all is run it goes on by maps that are rebuilt: those are two starts of Spark more.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.service import Served, serving, until
from qa.timeouts import LONG_TIMEOUT_S
from tests.chance import is_full
from tests.integration.links.topics import create, numbered, produce

pytestmark = [pytest.mark.test, pytest.mark.real]


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two real clusters."""
    old, new = start_clusters([ClusterSpec(name="old"), ClusterSpec(name="new")])
    with old, new:
        yield old, new


def did(served: Served, verb: str, body: object) -> Any:
    """The report of a plan that was shown and applied."""
    plan = served.ask("POST", f"/api/v1/{verb}/plan", body, role="operator")
    assert plan.status == 200, plan.body
    begun = served.ask("POST", f"/api/v1/plans/{plan.json['id']}/apply", {"hash": plan.json["hash"]}, role="approver")
    assert begun.status == 202, begun.body
    where = begun.headers["location"]
    until(lambda: served.get(where)["state"] != "running", LONG_TIMEOUT_S)  # it may be a job of Spark's
    ended = served.get(where)
    assert ended["state"] == "done", ended
    return ended["report"]


def test_a_links_life(pair: tuple[SandboxCluster, SandboxCluster], tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """The process goes on when the service ends, and is found by the next one; each answer is of the real clusters."""
    old, new = pair
    link = f"served-{uuid.uuid4().hex[:6]}"
    topic = create(old, f"{link}-a", 2)
    produce(old, topic, numbered(60) + numbered(60, partition=1), batch=9)
    contexts, store = {"old": old.context(), "new": new.context()}, str(tmp_path / "store.db")
    on_link, where = {"target": "new", "link": link}, f"/api/v1/clusters/new/links/{link}"
    with serving(store, contexts, tmp_path, name="first") as served:
        until(lambda: served.instance.acting.acts)
        asked = {"id": link, "source": "old", "target": "new", "filter": {"include": [f"{link}-.*"]}}
        did(served, "links/create", {"link": asked})
        until(lambda: served.ask("GET", where).status == 200)
        started = did(served, "streams/start", {"stream": link})
        until(lambda: served.get(where)["summary"]["totals"]["complete"])
        refused = served.ask("POST", "/api/v1/links/run/plan", on_link, role="operator")
        assert (refused.status, refused.json["title"]) == (409, "link runs")
    with serving(store, contexts, tmp_path, name="second") as served:
        until(lambda: served.instance.acting.acts and served.ask("GET", where).status == 200)
        (process,) = served.get(f"{where}/processes")
        job = served.get(f"/api/v1/streams/{link}")
        assert (job["stream"]["kind"], job["stream"]["state"]) == ("link", "running")
        (run,) = job["runs"]
        assert (run["id"], run["pid"], run["ended_at_ms"]) == (started["run"], process["pid"], None)
        assert served.get(f"/api/v1/streams/{link}/runs/{run['id']}/log")["lines"]
        produce(old, topic, numbered(40, first=60), batch=9)
        assert did(served, "verify/start", {**on_link, "reader": "batches"})["verdict"] == "equal"
        compared = served.get(f"{where}/verification")
        assert compared["report"]["verdict"] == "equal", compared
        answers = served.ask(
            "POST", f"{where}/translate", {"questions": [{"topic": topic, "partition": 1, "offset": 59}]}
        ).json["answers"]
        assert [(one["kind"], one["answer"]) for one in answers] == [("exact", 59)]
        lane = served.get(f"{where}/lanes/{topic}-1")["lane"]
        assert (lane["source"], lane["position"], lane["mode"]) == (f"{topic}-1", 60, "identity")
        assert served.ask("GET", f"{where}/lanes/{topic}-7").json["title"] == "no lane"
        did(served, "links/set", {**on_link, "sync_groups": ["billing.*"], "sync_interval": "30s"})
        until(
            lambda: (served.get(where)["record"]["wanted"]["spec"].get("groups") or {}).get("include") == ["billing.*"]
        )
        did(served, "links/set", {**on_link, "sync_groups": ["none"]})
        until(lambda: served.get(where)["record"]["wanted"]["spec"].get("groups") is None)
        assert did(served, "streams/stop", {"stream": link})["wanted"] == "stopped"
        until(lambda: served.get(f"/api/v1/streams/{link}")["stream"]["state"] == "stopped")
        until(lambda: all(one["ended_at"] for one in served.get(f"{where}/processes")))
        did(served, "links/delete", on_link)
        until(lambda: served.ask("GET", where).status == 404)
        if not is_full(pytestconfig):
            return
        rebuilt = did(
            served, "offsets/rebuild", {"source": "old", "target": "new", "link": link, "topics": {topic: topic}}
        )
        assert [(one["source"], one["records"], one["unclear"]) for one in rebuilt["lanes"]] == [
            (f"{topic}-0", 100, 0),
            (f"{topic}-1", 60, 0),
        ]
        assert Path(rebuilt["file"]).is_file()
        adopted = {"link": asked, "adopt": rebuilt["file"]}
        outside = served.ask("POST", "/api/v1/links/create/plan", {**adopted, "adopt": "/etc/hosts"}, role="operator")
        assert (outside.status, outside.json["title"]) == (403, "path not open")
        did(served, "links/create", adopted)
        until(lambda: served.ask("GET", where).status == 200)
        produce(old, topic, numbered(5, first=100), batch=5)
        did(served, "links/run", on_link)
        last = {"questions": [{"topic": topic, "partition": 0, "offset": offset} for offset in (99, 104)]}
        until(lambda: [one["kind"] for one in _answers(served, where, last)] == ["exact", "exact"])
        assert [one["answer"] for one in _answers(served, where, last)] == [99, 104], "by adopted maps, then by its own"
        again = did(served, "streams/restart", {"stream": link})["run"]
        newest, *_ = served.get(f"/api/v1/streams/{link}")["runs"]
        assert (newest["id"], newest["ended_at_ms"]) == (again, None)
        assert did(served, "links/stop", on_link)["ended"]
        until(lambda: all(one["ended_at"] for one in served.get(f"{where}/processes")))


def _answers(served: Served, where: str, questions: object) -> list[Any]:
    """Translations; none before the link has begun."""
    told = served.ask("POST", f"{where}/translate", questions)
    return list(told.json["answers"]) if told.status == 200 else []
