"""Applications are moved while they run: a real service, a real link, real clients; nothing lost, nothing twice."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException

from anabranch.model.link import ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.sandbox import ClusterSpec, start_clusters
from anabranch.sdk import Consumer, Producer, StaleMessageError
from qa.brokers import await_coordinators
from qa.route_service import RouteProcess
from qa.service import until
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.links.lab import Link, link
from tests.integration.links.topics import create, delete_records, fresh, numbered, produce
from tests.integration.sdk.conftest import QUICK
from tests.integration.sdk.lab import Lab, committed, read, stored, write

pytestmark = [pytest.mark.test, pytest.mark.real]
PARTITIONS, KEYS = 2, "ad"
"""Each key has a partition of its own."""


@dataclass
class Application:
    """A producer and the consumers of a group, each in a thread; what they wrote and read.

    Where it ``commits`` each message by itself, one counts as read once that is done.
    """

    lab: Lab
    topic: str
    commits: bool = False
    written: Counter[str] = field(default_factory=Counter)
    refused: list[Any] = field(default_factory=list)
    read: list[tuple[str, int]] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    pausing: threading.Event = field(default_factory=threading.Event)

    def write(self, key: str) -> None:
        """Numbered records of a key, as fast as they are acknowledged, until it is to stop."""

        def delivered(error: Any, _: Any) -> None:
            if error is None:
                self.written[key] += 1
            else:
                self.refused.append(error)

        with Producer(self.lab.configured(linger_ms=1, client_id=f"writer-{key}")) as producer:
            for number in itertools.count():
                if self.stop.is_set():
                    break
                producer.produce(self.topic, f"{key}:{number}", key=key, on_delivery=delivered)
                producer.poll(0.002)
            producer.flush()

    def consume(self, protocol: str) -> None:
        """Read on until it is to stop."""
        more: dict[str, Any] = {"group_protocol": protocol} if protocol == "consumer" else {"session_timeout_ms": 6000}
        if self.commits:
            more["enable_auto_commit"] = False
        with Consumer(self.lab.reading(auto_commit_interval_ms=200, **more)) as consumer:
            consumer.subscribe([self.topic])
            while not self.stop.is_set():
                if self.pausing.is_set():
                    self.stop.wait(0.05)
                    continue
                message = consumer.poll(0.1)
                if message is not None:
                    assert message.error() is None, message.error()
                    if self.commits and not _committed(consumer, message):
                        continue
                    key, _, number = message.value().decode().partition(":")
                    self.read.append((key, int(number)))

    def check(self) -> None:
        """Nothing that was acknowledged is missing, nothing was read twice, and of each key all in its order."""
        assert not self.refused, self.refused[0]
        for key, count in self.written.items():
            read = Counter(number for name, number in self.read if name == key)
            missing = [number for number in range(count) if not read[number]]
            twice = [number for number, times in read.items() if times > 1]
            assert (missing, twice) == ([], []), f"of {count} of {key}"
            assert [number for name, number in self.read if name == key] == list(range(count)), key

    @property
    def total(self) -> int:
        """How many were acknowledged."""
        return sum(self.written.values())


def _committed(consumer: Any, message: Any) -> bool:
    try:
        return all(one.error is None for one in consumer.commit(message=message, asynchronous=False))
    except (StaleMessageError, KafkaException):
        return False


@dataclass
class Moving:
    """A topic with a link that copies it under another name and to other offsets."""

    lab: Lab
    link: Link
    topic: str
    _former: set[str] = field(default_factory=set, kw_only=True)
    """The switches that there were when the newest was begun: those of other tests."""

    @property
    def there(self) -> str:
        """What it is called on the new cluster."""
        return f"old.{self.topic}"

    @contextmanager
    def application(
        self, protocol: str = "classic", consumers: int = 2, checked: bool = True, commits: bool = False
    ) -> Iterator[Application]:
        """Two producers and a group, which run; checked when it ends well."""
        with application(self.lab, self.topic, protocol, consumers, checked, commits) as app:
            yield app

    def begin(self, **how: Any) -> Callable[[], Any]:
        """Begin to move the code to the new cluster; returns what says how the operation stands."""
        service = self.lab.service
        table = {"codes": {"orders": {"cluster": "new", "topics": "old.{topic}"}}}
        body = {"table": {"version": 1, **table}, "reason": "a test", **how}
        plan = service.ask("POST", "/routes/apply/plan", body, role="approver")
        assert plan.status == 200, plan.body
        assert [one["link"] for one in plan.json["plan"]["switch"]] == [self.link.id]
        self._former = {one["id"] for one in self._switches()}
        begun = service.ask("POST", f"/plans/{plan.json['id']}/apply", {"hash": plan.json["hash"]}, role="approver")
        assert begun.status == 202, begun.body
        where = begun.headers["location"].removeprefix("/api/v1")
        return lambda: service.ask("GET", where).json

    def switch(self) -> Any:
        """The newest switch."""
        return self._switches()[0]

    def await_state(self, *states: str) -> Any:
        """Wait until the one that was begun has come so far."""
        until(lambda: any(one["id"] not in self._former and one["state"] in states for one in self._switches()[:1]))
        return self.switch()

    def _switches(self) -> list[Any]:
        return list(self.lab.service.ask("GET", "/switches").json)


@contextmanager
def application(
    lab: Lab,
    topic: str,
    protocol: str = "classic",
    consumers: int = 2,
    checked: bool = True,
    commits: bool = False,
) -> Iterator[Application]:
    """Two producers and a group, which run; checked when it ends well."""
    app = Application(lab, topic, commits)
    threads = [threading.Thread(target=app.write, args=(key,)) for key in KEYS]
    threads += [threading.Thread(target=app.consume, args=(protocol,)) for _ in range(consumers)]
    try:
        for thread in threads:
            thread.start()
        until(lambda: len(app.read) > 200)
        until(lambda: len(lab.service.clients()) == len(threads))
        yield app
        if not checked:
            return
        goal = app.total + 200
        until(lambda: len(app.read) >= goal)
    finally:
        app.stop.set()
        for thread in threads:
            thread.join()
    rest = Application(lab, topic, read=app.read)
    with Consumer(lab.reading(auto_commit_interval_ms=200)) as consumer:  # what its last polls did not reach
        consumer.subscribe([topic])
        try:
            until(lambda: _taken(consumer, rest) >= app.total)
        finally:
            app.check()  # says what is missing


def _taken(consumer: Any, app: Application) -> int:
    message = consumer.poll(0.1)
    if message is not None:
        key, _, number = message.value().decode().partition(":")
        app.read.append((key, int(number)))
    return len(app.read)


@contextmanager
def linked(lab: Lab) -> Iterator[Moving]:
    """A topic and its link, which runs."""
    topic = create(lab.old, fresh("moved"), PARTITIONS)
    produce(lab.old, topic, numbered(20) + numbered(20, partition=1))
    for partition in range(PARTITIONS):
        delete_records(lab.old, topic, 20, partition)
    with ExitStack() as stack:
        made = stack.enter_context(link(lab.old, lab.new, topic, naming=PluginSpec("prefix"), mode=ModePolicy.MAPPED))
        stack.enter_context(made.running())
        until(lambda: lab.service.ask("GET", f"/clusters/new/links/{made.id}").status == 200)
        yield Moving(lab, made, topic)


@pytest.fixture
def moving(lab: Lab) -> Iterator[Moving]:
    """On the clusters of all these tests."""
    with linked(lab) as made:
        yield made


@pytest.fixture
def mortal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Moving]:
    """On clusters of its own, of which the old one may die."""
    old, new = start_clusters([ClusterSpec("old", overrides=QUICK), ClusterSpec("new", overrides=QUICK)])
    with old, new, RouteProcess(tmp_path, {"old": old.context(), "new": new.context()}) as service:
        for cluster in (old, new):
            await_coordinators(cluster)
        service.publish({"codes": {"orders": {"cluster": "old"}}})
        monkeypatch.setenv("ANABRANCH_SERVICE", service.url)
        monkeypatch.setenv("ANABRANCH_TOKEN", service.tokens["client"])
        with linked(Lab(old, new, tmp_path / "cache", service=service)) as made:
            yield made


def values_there(moving: Moving) -> list[tuple[str, int]]:
    """Of each partition what a plain client reads on the new cluster, by key and number."""
    found = stored(moving.lab.new, moving.there, PARTITIONS)
    return [(value.partition(":")[0], int(value.partition(":")[2])) for part in found for value in part]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_an_application_is_moved_while_it_runs(moving: Moving, protocol: str) -> None:
    """Producers and their group go over together; the new cluster holds all in the order in which it was written."""
    with moving.application(protocol) as app:
        operation = moving.begin()
        until(lambda: operation()["state"] != "running")
        assert operation()["state"] == "done", operation()
        at_switch = app.total
        until(lambda: {one["cluster"] for one in moving.lab.service.clients()} == {"new"})
    assert app.total > at_switch
    there = values_there(moving)
    for key in KEYS:
        assert [number for name, number in there if name == key] == list(range(app.written[key]))
    one = moving.switch()
    assert (one["state"], one["clients"], one["paused"]) == ("done", 4, 4)
    assert sum(committed(moving.lab.new, moving.lab.group, moving.there)) == app.total


def test_a_static_member_is_moved_before_its_session_is_over(moving: Moving) -> None:
    """It stays in its group as it leaves: it is taken out there, and its group is moved within the switch's minute."""
    lab, session = moving.lab, {"group_instance_id": "one", "session_timeout_ms": 300_000}
    with Producer(lab.configured()) as producer, Consumer(lab.reading(**session)) as consumer:
        write(producer, moving.topic, ["a", "b"], key="one partition")
        consumer.subscribe([moving.topic])
        found = [one.value() for one in read(consumer, lambda found: len(found) == 2)]
        operation = moving.begin()
        until(lambda: consumer.poll(0.1) is None and operation()["state"] != "running")
        assert operation()["state"] == "done", operation()
        write(producer, moving.topic, ["c"], key="one partition")
        found += [one.value() for one in read(consumer, lambda found: len(found) == 1)]
        assert found == [b"a", b"b", b"c"]
        assert {one["cluster"] for one in lab.service.clients()} == {"new"}


def test_a_straggler_gives_a_switch_up_and_everybody_goes_on(moving: Moving) -> None:
    """A group whose consumer makes no call is not moved; the same switch later succeeds."""
    with moving.application(consumers=1) as app:
        app.pausing.set()
        operation = moving.begin(timeout_s=3)
        until(lambda: operation()["state"] != "running")
        problem = operation()["problem"]
        assert "not paused in time: consumer" in problem["detail"], problem
        assert moving.switch()["state"] == "cancelled"
        written = app.total
        until(lambda: app.total > written + 50)
        assert {one["cluster"] for one in moving.lab.service.clients()} == {"old"}
        app.pausing.clear()
        again = moving.begin()
        until(lambda: again()["state"] != "running")
        assert again()["state"] == "done", again()


@pytest.mark.parametrize(
    "state", ["draining", *(pytest.param(one, marks=pytest.mark.full) for one in ("preparing", "done"))]
)
def test_a_service_that_is_killed_goes_on_with_a_switch(moving: Moving, state: str) -> None:
    """Whenever it is killed: its journal says how to go on, and clients that heard nothing meanwhile hear it then."""
    service = moving.lab.service
    with moving.application(consumers=1) as app:
        if state == "preparing":
            app.pausing.set()
        moving.begin(timeout_s=round(LONG_TIMEOUT_S))
        moving.await_state(
            *{"preparing": ["preparing"], "draining": ["draining", "moving", "done"]}.get(state, [state])
        )
        service.kill()
        service.start()
        app.pausing.clear()
        assert moving.await_state("done", "cancelled")["state"] == "done"
        until(lambda: {one["cluster"] for one in service.clients()} == {"new"})


def test_who_comes_during_a_switch_waits_for_its_end_and_it_can_be_given_up(moving: Moving) -> None:
    """A switch that waits for somebody holds newcomers back; given up by a person it leaves all where they were."""
    with moving.application(consumers=1) as app:
        app.pausing.set()
        operation = moving.begin(timeout_s=round(LONG_TIMEOUT_S))
        switch = moving.await_state("preparing")
        with Producer(moving.lab.configured(client_id="late")) as late:
            assert late.route is None
            asked = moving.lab.service.give_up(switch["id"], "no")
            assert asked.status == 202, asked.body
            app.pausing.clear()
            until(lambda: operation()["state"] != "running")
            assert operation()["problem"]["detail"].endswith("approver: no")
            until(lambda: late.route is not None)
            assert late.route is not None and late.route.cluster == "old"
        assert moving.lab.service.give_up(switch["id"], "no").status == 409


@pytest.mark.parametrize("commits", [False, True])
@pytest.mark.parametrize("protocol", [pytest.param("classic", marks=pytest.mark.full), "consumer"])
def test_a_lost_cluster_is_left_without_it_and_what_is_in_doubt_is_told(
    mortal: Moving, protocol: str, commits: bool
) -> None:
    """With `go`: nothing of what was copied is missed or read twice, and what was not is told by its offsets.

    Also of an application that waits in its commit for the cluster that is gone.
    """
    lab = mortal.lab
    with mortal.application(protocol, consumers=1, checked=False, commits=commits) as app:
        lab.old.broker(1).kill()
        operation = mortal.begin(when_lost="go", timeout_s=round(LONG_TIMEOUT_S))
        until(lambda: operation()["state"] != "running")
        assert operation()["state"] == "done", operation()
        report = operation()["report"]
        assert mortal.switch()["lost"] == ["old"]
        assert any(f"{mortal.topic}-0 was copied up to" in doubt for doubt in report["doubts"]), report
        read = len(app.read)
        until(lambda: len(app.read) > read + 100)
        assert {one["cluster"] for one in lab.service.clients()} == {"new"}
    assert max(Counter(app.read).values()) == 1
    newest = {key: max(number for name, number in app.read if name == key) for key in KEYS}
    there = [one for one in values_there(mortal) if one[1] <= newest[one[0]]]
    assert set(there) <= set(app.read)
