"""A target is killed under an application: its wave is led back without it as it is typed, and reconciled later."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from anabranch.model.lane import LaneState
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa import links as engine
from qa.brokers import STEADY
from qa.service import serving, until
from tests.integration.console import console
from tests.integration.kafka.security import context_of
from tests.integration.links.groups import commit, committed
from tests.integration.links.lab import link
from tests.integration.links.test_migration_switch import values
from tests.integration.links.topics import create, newest_offset, numbered, produce
from tests.integration.service.test_migrations import typed, typed_refused, wave_of
from tests.integration.service.test_source_lost import running
from tests.integration.web.migration_stand import ThreadDesk, Threads

pytestmark = [pytest.mark.full, pytest.mark.real]


@pytest.fixture
def doomed() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two real clusters, of which the new one dies."""
    old, new = start_clusters([ClusterSpec("old", overrides=STEADY), ClusterSpec("new")])
    with old, new:
        yield old, new


def test_a_target_is_killed_left_and_reconciled(
    doomed: tuple[SandboxCluster, SandboxCluster],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The application goes on on the source, with all that was copied back; the tail is there exactly once later."""
    old, new = doomed
    name = f"mv{uuid.uuid4().hex[:5]}"
    topic, group, reading = create(old, f"{name}-orders"), f"{name}-shop", f"{name}-billing"
    produce(old, topic, numbered(60), batch=9)
    commit(old, group, {(topic, 0): (25, "noted")})
    wave = {"name": "orders", "topics": [topic], "groups": [group, reading], "codes": ["orders"], "fences": ["routes"]}
    file = tmp_path / "move.yaml"
    limits = {"quiet": "200ms", "longest_pause": "60s"}
    fields = {"name": name, "source": "old", "target": "new", "limits": limits, "waves": [wave]}
    file.write_text(yaml.safe_dump(fields))
    contexts, store = {"old": old.context(), "new": new.context()}, str(tmp_path / "store.db")
    run = console(contexts, tmp_path, monkeypatch, capsys)
    with serving(store, contexts, tmp_path) as served, ExitStack() as stack:
        threads = Threads({"old": old, "new": new}, stack)
        stack.callback(threads.end)
        migrating = served.instance.migrating
        migrating.desk = ThreadDesk(migrating.desk.launching, migrating.desk.route_desk, threads=threads)
        until(lambda: served.instance.acting.acts)
        monkeypatch.setenv("ANABRANCH_SERVICE", f"http://127.0.0.1:{served.port}")
        table = {"version": 1, "codes": {"orders": {"cluster": "old"}}}
        planned = served.ask("POST", "/api/v1/routes/apply/plan", {"table": table, "reason": "a test"}, role="approver")
        plan = planned.json
        served.ask("POST", f"/api/v1/plans/{plan['id']}/apply", {"hash": plan["hash"]}, role="approver")
        until(lambda: served.get("/api/v1/routes/versions"))
        monkeypatch.setenv("ANABRANCH_TOKEN", served.tokens["approver"])
        app = stack.enter_context(running(topic, reading, tmp_path / "cache"))
        until(lambda: len(app.read) == 60)
        assert [one["state"] for one in typed(run, "start", "-f", str(file), "--execute")["runs"]] == ["done"]
        assert typed(run, "switch", name, "--execute")["state"] == "done"
        app.write.put(b"on new")
        until(lambda: app.read[-1] == b"on new")
        back = stack.enter_context(link(new, old, ".*", id=f"{name}-orders-back", create=False))
        back.await_position(topic, 61)
        engine.pause(context_of(old, "admin"), back.id)
        back.await_(lambda status: all(lane.state is LaneState.PAUSED for lane in status.lanes))
        produce(new, topic, numbered(12, first=300), batch=5)
        back.await_(lambda _: back.lane(topic).high_watermark == 73)
        tail = values(new, topic)[61:]
        until(lambda: len(app.read) == 73)
        assert "it is not lost" in typed_refused(run, "reverse", name, "--target-lost")
        new.broker(1).kill()
        report = typed(run, "reverse", name, "--target-lost", "--execute")
        assert report["state"] == "done" and report["pause_ms"] is None
        lost = f"offsets 61 to 72 of {topic}-0 are possibly lost"
        assert any(doubt.startswith(lost) for doubt in report["doubts"]), report["doubts"]
        read_on = f"group {reading}: {topic}-0 was read up to 73, and goes on at 61: all is accounted for up to 61 only"
        assert read_on in report["doubts"]
        stood = wave_of(served, name)
        assert (stood["state"], stood["at"], stood["lost"], stood["gone"]) == ("copying", "old", "target lost", "new")
        assert lost in " ".join(run("migrate", "show", name)[1].split())
        assert committed(old, group, [(topic, 0)]) == {(topic, 0): (25, "noted")}
        app.write.put(b"on old")
        until(lambda: app.read[-1] == b"on old")
        assert len(app.read) == len(set(app.read)) == 74
        assert "it was led back without new" in typed_refused(run, "switch", name)

        since = values(old, topic)
        new.broker(1).start()
        new.wait_ready()
        told = " ".join(typed_refused(run, "reconcile", name).split())
        assert f"12 records (offsets 61 to 72) of {topic}-0" in told and "--tail append" in told
        assert typed(run, "reconcile", name, "--tail", "append", "--execute")["state"] == "done"
        assert values(old, topic) == [*since, *tail]
        assert newest_offset(new, topic) == 73
        assert typed(run, "cancel", name, "--execute")["state"] == "done"
        assert wave_of(served, name)["state"] == "planned"
