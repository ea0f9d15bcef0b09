"""A source is killed under an application: its wave is switched without it as it is typed, and reconciled later."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue

import pytest
import yaml

from anabranch.model.lane import LaneState
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.sdk import Consumer, Producer
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
from tests.integration.web.migration_stand import ThreadDesk, Threads

pytestmark = [pytest.mark.full, pytest.mark.real]


@pytest.fixture
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two real clusters, of which the old one dies."""
    old, new = start_clusters([ClusterSpec("old"), ClusterSpec("new", overrides=STEADY)])
    with old, new:
        yield old, new


@dataclass
class App:
    """A producer and a consumer of the SDK in a thread; what was read, and what is to be written.

    Its session is longer than the test: a member that has lost its partitions hands nothing over.
    """

    read: list[bytes] = field(default_factory=list)
    write: Queue[bytes] = field(default_factory=Queue)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self, topic: str, group: str, cache: Path) -> None:
        """Until it is to stop."""
        settings = {"cluster.code": "orders", "route.cache.dir": str(cache)}
        reads = {**settings, "group.id": group, "auto.offset.reset": "earliest", "session.timeout.ms": 300_000}
        with Consumer(reads) as consumer, Producer(settings) as producer:
            consumer.subscribe([topic])
            while not self.stop.is_set():
                message = consumer.poll(0.1)
                if message is not None and message.error() is None:
                    self.read.append(message.value())
                if not self.write.empty():
                    producer.produce(topic, self.write.get())
                producer.poll(0)


@contextmanager
def running(topic: str, group: str, cache: Path) -> Iterator[App]:
    """An application that runs, and is ended."""
    app = App()
    thread = threading.Thread(target=app.run, args=(topic, group, cache), daemon=True)
    thread.start()
    try:
        yield app
    finally:
        app.stop.set()
    thread.join()  # where something failed its cluster may be gone, and it would wait for that


def test_a_source_is_killed_left_and_reconciled(
    pair: tuple[SandboxCluster, SandboxCluster],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A group goes on where its members had read, another one as was chosen; the tail is there exactly once."""
    old, new = pair
    name = f"mv{uuid.uuid4().hex[:5]}"
    topic, group, reading = create(old, f"{name}-orders"), f"{name}-shop", f"{name}-billing"
    produce(old, topic, numbered(60), batch=9)
    commit(old, group, {(topic, 0): (25, "noted")})
    wave = {"name": "orders", "topics": [topic], "groups": [group, reading], "codes": ["orders"], "fences": ["routes"]}
    file = tmp_path / "move.yaml"
    limits = {"quiet": "200ms"}
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
        monkeypatch.setenv("ANABRANCH_TOKEN", served.tokens["approver"])  # which the application reads again and again
        app = stack.enter_context(running(topic, reading, tmp_path / "cache"))
        until(lambda: len(app.read) == 60)
        assert [one["state"] for one in typed(run, "start", "-f", str(file), "--execute")["runs"]] == ["done"]
        forward = stack.enter_context(link(old, new, ".*", id=f"{name}-orders", create=False))
        forward.await_position(topic, 60)
        engine.pause(context_of(new, "admin"), forward.id)
        forward.await_(lambda status: all(lane.state is LaneState.PAUSED for lane in status.lanes))
        produce(old, topic, numbered(12, first=300), batch=5)
        forward.await_(lambda _: forward.lane(topic).high_watermark == 72)
        tail = values(old, topic)[60:]
        until(lambda: len(app.read) == 72)
        assert "it is not lost" in typed_refused(run, "switch", name, "--source-lost")
        old.broker(1).kill()
        refused = " ".join(typed_refused(run, "switch", name, "--source-lost", "--execute").split())
        assert f"how far group {group} had read is not known" in refused
        assert wave_of(served, name)["run"]["what"] == "start"  # nobody was asked to pause for nothing
        chosen = ("--source-lost", "--unknown-groups", "latest")
        report = typed(run, "switch", name, *chosen, "--execute")
        assert report["state"] == "done" and report["pause_ms"] is None
        lost = f"offsets 60 to 71 of {topic}-0 are possibly lost"
        assert any(doubt.startswith(lost) for doubt in report["doubts"]), report["doubts"]
        read_on = f"group {reading}: {topic}-0 was read up to 72, and goes on at 60: all is accounted for up to 60 only"
        assert read_on in report["doubts"]
        stood = wave_of(served, name)
        assert (stood["state"], stood["at"], stood["lost"]) == ("switched", "new", "source lost")
        assert lost in " ".join(run("migrate", "show", name)[1].split())
        assert committed(new, group, [(topic, 0)]) == {(topic, 0): (60, "")}
        app.write.put(b"on new")
        until(lambda: app.read[-1] == b"on new")
        assert len(app.read) == len(set(app.read)) == 73
        assert "it was switched without old" in typed_refused(run, "reverse", name)

        since = values(new, topic)
        old.broker(1).start()
        old.wait_ready()
        told = " ".join(typed_refused(run, "reconcile", name).split())
        assert f"12 records (offsets 60 to 71) of {topic}-0" in told and "--tail append" in told
        assert typed(run, "reconcile", name, "--tail", "append", "--execute")["state"] == "done"
        assert values(new, topic) == [*since, *tail]
        assert newest_offset(old, topic) == 72
        assert "between the copies" in " ".join(typed_refused(run, "reconcile", name).split())
        assert typed(run, "complete", name, "--execute")["state"] == "done"
        assert wave_of(served, name)["state"] == "completed"
