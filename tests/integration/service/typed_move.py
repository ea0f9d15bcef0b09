"""A wave of one topic, moved as it is typed, under an application of the SDK that goes on meanwhile."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue

import pytest
import yaml

from anabranch.model.lane import LaneState
from anabranch.sandbox import SandboxCluster
from anabranch.sdk import Consumer, Producer
from qa import links as engine
from qa.service import Served, serving, until
from tests.integration.console import Run, console
from tests.integration.kafka.security import context_of
from tests.integration.links.groups import commit
from tests.integration.links.lab import link
from tests.integration.links.test_migration_switch import values
from tests.integration.links.topics import create, numbered, produce
from tests.integration.service.test_migrations import typed
from tests.integration.web.migration_stand import ThreadDesk, Threads


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


@dataclass(frozen=True)
class TypedMove:
    """A wave that is copied: ``group`` has committed 25 of 60 records, ``reading`` is the application's."""

    name: str
    topic: str
    group: str
    reading: str
    run: Run
    served: Served
    app: App
    stack: ExitStack

    def with_tail(self, source: SandboxCluster, target: SandboxCluster, id: str, at: int) -> list[bytes]:
        """Pause a link that has copied up to there, write twelve records behind it that the application reads too."""
        made = self.stack.enter_context(link(source, target, ".*", id=id, create=False))
        made.await_position(self.topic, at)
        engine.pause(context_of(target, "admin"), made.id)
        made.await_(lambda status: all(lane.state is LaneState.PAUSED for lane in status.lanes))
        produce(source, self.topic, numbered(12, first=300), batch=5)
        made.await_(lambda _: made.lane(self.topic).high_watermark == at + 12)
        until(lambda: len(self.app.read) == at + 12)
        return values(source, self.topic)[at:]


@contextmanager
def typed_move(
    old: SandboxCluster,
    new: SandboxCluster,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    limits: Mapping[str, str],
) -> Iterator[TypedMove]:
    """Serve, lead the application by a route, and start the wave."""
    name = f"mv{uuid.uuid4().hex[:5]}"
    topic, group, reading = create(old, f"{name}-orders"), f"{name}-shop", f"{name}-billing"
    produce(old, topic, numbered(60), batch=9)
    commit(old, group, {(topic, 0): (25, "noted")})
    wave = {"name": "orders", "topics": [topic], "groups": [group, reading], "codes": ["orders"], "fences": ["routes"]}
    file = place / "move.yaml"
    fields = {"name": name, "source": "old", "target": "new", "limits": dict(limits), "waves": [wave]}
    file.write_text(yaml.safe_dump(fields))
    contexts, store = {"old": old.context(), "new": new.context()}, str(place / "store.db")
    run = console(contexts, place, monkeypatch, capsys)
    with serving(store, contexts, place) as served, ExitStack() as stack:
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
        app = stack.enter_context(running(topic, reading, place / "cache"))
        until(lambda: len(app.read) == 60)
        assert [one["state"] for one in typed(run, "start", "-f", str(file), "--execute")["runs"]] == ["done"]
        yield TypedMove(name, topic, group, reading, run, served, app, stack)
