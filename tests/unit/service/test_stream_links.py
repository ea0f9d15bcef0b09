"""Links beside streams: listed with them, shown, started and stopped by the same verbs, refused what they have not."""

from __future__ import annotations

import pytest

from anabranch.streams.kept import StoredStream
from anabranch.streams.kinds import StreamKind
from anabranch.streams.links import INSTEAD
from anabranch.streams.states import StreamState, StreamWanted
from anabranch.streams.versions import StreamSettings, StreamVersion
from qa.service import Served, until
from tests.unit.link_lab import LINK, Lab
from tests.unit.service.test_changes import did

pytestmark = pytest.mark.unit
FILE = "def main(job):\n    pass\n"
REFUSED = {
    "edit": {"script": FILE},
    "publish": {"version": 1},
    "rollback": {},
    "checkpoint": {"save": "before"},
    "delete": {},
}


def test_a_link_is_a_job_beside_streams(both: Lab, served: Served) -> None:
    """Listed, shown and stopped as they are; what streams alone have is refused, with the verb of links for it."""
    until(lambda: served.get("/api/v1/streams"))
    (found,) = served.get("/api/v1/streams")
    assert (found["name"], found["kind"], found["target"], found["state"]) == (LINK, "link", "new", "stopped")
    assert found["look"] == f"anabranch link show {LINK} --target new"
    shown = served.get(f"/api/v1/streams/{LINK}")
    assert shown["stream"]["kind"] == "link"
    assert (shown["versions"], shown["runs"], shown["checkpoints"]) == ([], [], "")
    log = served.ask("GET", f"/api/v1/streams/{LINK}/runs/run-0123456789ab/log")
    assert (log.status, log.json["title"]) == (409, "no stream log")
    report = did(served, "streams/stop", {"stream": LINK})["report"]
    assert (report["target"], report["wanted"], report["run"]) == ("new", "stopped", "")

    for verb, request in REFUSED.items():
        told = served.ask("POST", f"/api/v1/streams/{verb}/plan", {"stream": LINK, **request}, role="operator")
        assert (told.status, told.json["title"]) == (409, "not of link"), (verb, told.json)
        assert INSTEAD.get(verb, "link show").format(link=LINK, target="new") in told.json["hint"]
    for rest in ("checkpoints", "versions/1", "diff?before=1", "lineage"):
        assert served.ask("GET", f"/api/v1/streams/{LINK}/{rest}").json["title"] == "not of link"
    preview = served.ask("POST", "/api/v1/trials", {"kind": "preview", "stream": LINK}, role="operator")
    assert (preview.status, preview.json["title"]) == (409, "not of link")
    begun = {"stream": LINK, "start": "earliest"}
    told = served.ask("POST", "/api/v1/streams/start/plan", begun, role="operator")
    assert (told.status, told.json["title"]) == (409, "only streams begin")
    nobody = served.ask("POST", "/api/v1/streams/rollback/plan", {"stream": "nobody"}, role="operator")
    assert (nobody.status, nobody.json["title"]) == (404, "no stream")

    # One name: a stream is not made under it; where both are there it is the stream's, and a target says the link.
    asked = {"stream": LINK, "script": FILE, "kind": "pyspark"}
    told = served.ask("POST", "/api/v1/streams/create/plan", asked, role="admin")
    assert (told.status, told.json["title"]) == (409, "name of link")
    states = StreamWanted.STOPPED, StreamState.DRAFT
    made = StoredStream(LINK, 1, "mei", "", 1, 1, 0, *states, "", 1, 0, 0)
    version = StreamVersion(1, 1, "mei", "", FILE, StreamSettings(), kind=StreamKind.PYSPARK)
    served.instance.stored.streams.add(made, version)
    assert [one["kind"] for one in served.get("/api/v1/streams")] == ["pyspark", "link"]
    assert served.get(f"/api/v1/streams/{LINK}")["stream"]["kind"] == "pyspark"
    assert served.get(f"/api/v1/streams/{LINK}?target=new")["stream"]["kind"] == "link"
    stop = {"stream": LINK, "target": "new"}
    plan = served.ask("POST", "/api/v1/streams/stop/plan", stop, role="operator").json
    assert (plan["plan"]["target"], plan["command"]) == ("new", f"anabranch stream stop {LINK} --target new")
