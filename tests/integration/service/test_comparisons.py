"""A comparison that the service starts, stops and goes on with, on real clusters and a real Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import STEADY
from qa.service import serving, until
from tests.integration.links.lab import link
from tests.integration.links.topics import create, fresh, numbered, produce
from tests.unit.service.test_changes import begun, did, ended

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]

CHUNK, RECORDS = 65_536, 70_000
"""Offsets of a round where the rate is low, and of the topic: one that is stopped in its first round has more."""


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two real clusters."""
    old, new = start_clusters([ClusterSpec(name, overrides=STEADY) for name in ("old", "new")])
    with old, new:
        yield old, new


def test_a_comparison_is_stopped_and_gone_on_with(pair: tuple[SandboxCluster, SandboxCluster], tmp_path: Path) -> None:
    """It ends after its round and says how far it came; what is resumed goes to the same end, where all is equal."""
    old, new = pair
    topic = create(old, fresh("served"))
    produce(old, topic, numbered(RECORDS), batch=5_000)
    contexts = {"old": old.context(), "new": new.context()}
    with link(old, new, topic) as made, serving(str(tmp_path / "store.db"), contexts, tmp_path) as served:
        until(lambda: served.instance.acting.acts)
        with made.running():
            made.await_position(topic, RECORDS)
        on_link, where = {"target": "new", "link": made.id}, f"/api/v1/clusters/new/links/{made.id}"
        never = served.ask("POST", "/api/v1/verify/stop/plan", on_link, role="operator")
        assert (never.status, never.json["title"]) == (409, "never verified")
        operation = begun(served, "verify/start", {**on_link, "rate_limit": "60kB/s"})
        until(lambda: served.ask("GET", f"{where}/verification").status == 200)
        assert served.get(operation)["progress"]["stage"] in {"Spark starts", "comparing"}
        assert did(served, "verify/stop", on_link)["report"]["asked"] is True
        stopped = ended(served, operation)["report"]
        run = stopped["run"]
        assert (stopped["state"], stopped["verdict"]) == ("stopped", "unknown")
        half = served.get(f"{where}/verification")
        (lane,) = half["report"]["lanes"]
        assert (half["run"]["run"], half["run"]["state"], half["report"]["verdict"]) == (run, "stopped", "unknown")
        assert lane["source"]["verified_to"] == CHUNK < lane["source"]["to"] == RECORDS
        until(lambda: all(one["ended_at"] for one in served.get(f"{where}/processes")))
        assert did(served, "verify/stop", on_link)["report"]["asked"] is False, "it does not run"
        resumed = did(served, "verify/resume", on_link)["report"]
        assert resumed["run"] != run
        assert (resumed["state"], resumed["verdict"]) == ("done", "equal")
        whole = served.get(f"{where}/verification")
        page = served.ask("GET", f"{where}/verification/page")
        assert page.headers["content-type"].startswith("text/html") and b"Comparison of link" in page.body
        assert whole["report"]["verdict"] == "equal", whole["report"]
        assert whole["report"]["lanes"][0]["source"]["verified_to"] == RECORDS
        over = served.ask("POST", "/api/v1/verify/resume/plan", on_link, role="operator")
        assert (over.status, over.json["title"]) == (409, "nothing to resume")
        until(lambda: all(one["ended_at"] for one in served.get(f"{where}/processes")))
        assert {one["kind"] for one in served.get(f"{where}/processes")} == {"verify"}
