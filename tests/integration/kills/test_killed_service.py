"""The whole service is killed during a migration, with Spark's links, and goes on by itself once it runs again."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from anabranch.migration.journal import run_of
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.steps import StepKind
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.store.database import open_database
from anabranch.store.waves import StoredMigrations
from qa.brokers import STEADY
from qa.route_service import RouteProcess
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.integration.kills.reading import log_of
from tests.integration.links.groups import commit, committed
from tests.integration.links.topics import create, numbered, produce, transaction

pytestmark = pytest.mark.full

KILLED_IN: Mapping[str, tuple[StepKind, ...]] = {
    "start": (StepKind.CREATE_LINK, StepKind.RUN_LINK, StepKind.CATCH_UP),
    "switch": (StepKind.QUIET, StepKind.PREPARE_REVERSE, StepKind.PUBLISH_GROUPS, StepKind.RUN_REVERSE),
    "reverse": (StepKind.PAUSE_LINK, StepKind.STOP_LINK),
}
"""By verb, steps of which one is under way, or has just ended, as the service is killed."""


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two clusters."""
    old, new = start_clusters([ClusterSpec("old", overrides=STEADY), ClusterSpec("new", overrides=STEADY)])
    with old, new:
        yield old, new


def runs(served: RouteProcess, migration: str) -> list[WaveRun]:
    """Its runs, the oldest first."""
    database = open_database(served.store)
    try:
        return [run_of(one.journal) for one in StoredMigrations(database).runs_of(migration)]
    finally:
        database.close()


def begun(served: RouteProcess, verb: str, request: Mapping[str, Any]) -> None:
    """Have a verb begin, as an approver plans and does it."""
    plan = served.ask("POST", f"/migrations/{verb}/plan", request, role="approver")
    assert plan.status == 200, plan.body
    done = served.ask("POST", f"/plans/{plan.json['id']}/apply", {"hash": plan.json["hash"]}, role="approver")
    assert done.status == 202, done.body


def killed(served: RouteProcess, migration: str, verb: str, kinds: tuple[StepKind, ...]) -> WaveRun:
    """Kill the service in each of some steps of the newest run, and start it again; the run as it ended."""
    until(lambda: [run for run in runs(served, migration) if run.what == verb])
    for kind in kinds:
        at = [step.kind for step in runs(served, migration)[-1].steps].index(kind)
        until(lambda at=at: runs(served, migration)[-1].at >= at)
        served.kill()
        served.start()
    deadline = time.monotonic() + 3 * TIMEOUT_S  # Spark starts in it, perhaps twice
    while (run := runs(served, migration)[-1]).state.is_open:
        assert time.monotonic() < deadline, served.log.read_text()[-3000:]
        time.sleep(0.1)
    return run


def assert_holds(cluster: SandboxCluster, topic: str, wrote: list[bytes]) -> None:
    """All that was written is there in order, once it is copied."""
    until(lambda: len(log_of(cluster, topic, 0)) >= len(wrote))
    assert [value for _, value in log_of(cluster, topic, 0)] == wrote, cluster.spec.name


def test_a_service_that_is_killed_goes_on_where_it_was(
    pair: tuple[SandboxCluster, SandboxCluster], tmp_path: Path
) -> None:
    """There and back; each record is there once and in order, and the group at exactly its record."""
    old, new = pair
    name = f"mv{uuid.uuid4().hex[:5]}"
    topic, group = create(old, f"{name}-orders"), f"{name}-shop"
    transaction(old, topic, [b"paid 1", b"paid 2"])
    produce(old, topic, numbered(50), batch=7)
    commit(old, group, {(topic, 0): (25, "noted")})
    wrote = [value for _, value in log_of(old, topic, 0)]
    read = next(value for offset, value in log_of(old, topic, 0) if offset >= 25)
    wave = {"name": "orders", "topics": [topic], "groups": [group]}
    limits = {"quiet": "300ms", "longest_pause": "1h"}
    fields = {"name": name, "source": "old", "target": "new", "limits": limits, "waves": [wave]}
    contexts = json.loads(json.dumps({"old": old.context(), "new": new.context()}))
    with RouteProcess(tmp_path, contexts) as served:
        for verb, kinds in KILLED_IN.items():
            request = {"migration": fields} if verb == "start" else {"migration": name, "wave": "orders"}
            begun(served, verb, request)
            run = killed(served, name, verb, kinds)
            assert (run.state, run.why) == (WaveRunState.DONE, "")
            there = new if verb == "switch" else old
            if verb != "start":
                at = next(offset for offset, value in log_of(there, topic, 0) if value == read)
                assert committed(there, group, [(topic, 0)]) == {(topic, 0): (at, "noted")}
                produce(there, topic, numbered(5, first=len(wrote)))
                wrote += [one["value"] for one in numbered(5, first=len(wrote))]
            for cluster in pair:
                assert_holds(cluster, topic, wrote)
        begun(served, "cancel", {"migration": name, "wave": "orders"})
        assert killed(served, name, "cancel", (StepKind.DELETE_LINK,)).state is WaveRunState.DONE
        until(lambda: served.ask("GET", "/links").json["links"] == [])
