"""A client's standing with the service where answers and events cross, where processes fork, and where they end."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from anabranch.model.routing import ClientReport, ClientRole, Route, RouteQuery
from anabranch.sdk.config import Settings, split
from anabranch.sdk.errors import NoRouteError, RouteProblemError
from anabranch.sdk.orders import Orders, Phase
from anabranch.sdk.session import Session
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.chance import is_full
from tests.integration.sdk.fake_service import FakeService, problem, route_json

pytestmark = pytest.mark.test
QUERY = RouteQuery("orders", ClientRole.PRODUCER, ("a",), "", "", {})


class Client:
    """A follower that does at once what it is ordered, and remembers where it was led."""

    def __init__(self) -> None:
        self.orders = Orders()
        self.session: Session | None = None
        self.led: list[str] = []
        self.ready: list[str] = []
        self.refused: list[str] = []
        self._lock = threading.RLock()

    def on_route(self, route: Route, hold: str) -> None:
        """See ``Follower``."""
        with self._lock:
            self.led.append(route.cluster)
            self.orders.on_route(route, hold)
            self._obey()

    def on_prepare(self, switch: str, deadline_ms: int, lost: bool) -> None:
        """See ``Follower``."""
        with self._lock:
            self.orders.on_prepare(switch, lost)
            self._obey()

    def on_go(self, switch: str, route: Route, starts: Mapping[str, int]) -> None:
        """See ``Follower``."""
        with self._lock:
            self.led.append(route.cluster)
            self.orders.on_go(switch, route, starts)
            self._obey()

    def on_cancel(self, switch: str, why: str) -> None:
        """See ``Follower``."""
        with self._lock:
            self.orders.on_cancel(switch)
            self._obey()

    def on_refused(self, error: RouteProblemError) -> None:
        """See ``Follower``."""
        self.refused.append(str(error))

    def on_tick(self) -> None:
        """See ``Follower``."""

    def on_fork(self) -> None:
        """See ``Follower``."""

    def follows(self, route: Route) -> bool:
        """See ``Follower``."""
        with self._lock:
            return self.orders.follows(route)

    def figures(self) -> ClientReport:
        """See ``Follower``."""
        return ClientReport()

    def is_paused(self, switch: str) -> bool:
        """Whether this switch holds it."""
        return self.orders.phase is Phase.PAUSED and self.orders.switch == switch

    def _obey(self) -> None:
        if self.orders.phase is Phase.PAUSING:
            switch = self.orders.paused()
            if switch:
                self.ready.append(switch)
        if self.orders.phase is Phase.GOING and self.orders.target is not None:
            self.orders.connected(self.orders.target)


@pytest.fixture
def fake() -> Iterator[FakeService]:
    """Leads to the old cluster."""
    with FakeService(token="anabranch_token") as made:
        yield made


@pytest.fixture
def settings(fake: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Of an application."""
    monkeypatch.setenv("ANABRANCH_TOKEN", "anabranch_token")
    config = {"cluster.code": "orders", "route.service": fake.url, "route.cache.dir": str(tmp_path / "cache")}
    return split(config)[0]


@pytest.fixture
def led(fake: FakeService, settings: Settings) -> Iterator[tuple[Client, Session]]:
    """A client that watches."""
    client = Client()
    session = Session(settings, QUERY, client)
    session.register()
    session.follow()
    until(lambda: fake.watching == 1)
    yield client, session
    session.close()


def asked(*topics: str) -> RouteQuery:
    """What a client asks that has these topics."""
    return RouteQuery("orders", ClientRole.PRODUCER, topics, "", "", {})


def test_no_answer_of_before_a_switch_lets_a_client_go_on_in_it(
    fake: FakeService, led: tuple[Client, Session], pytestconfig: pytest.Config
) -> None:
    """N5: one thread asks for other topics, again and again, as switches begin and are given up."""
    client, session = led
    stop = threading.Event()
    failed: list[Exception] = []

    def ask() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            try:
                session.register(asked("a", f"b{number}"))
            except Exception as error:
                failed.append(error)
                return

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        for number in range(30 if is_full(pytestconfig) else 10):
            switch = f"s{number}"
            fake.prepare(switch)
            until(partial(client.is_paused, switch))
            before = len(fake.bodies("PUT"))
            until(partial(fake.was_asked, before + 5))
            assert client.is_paused(switch)
            fake.cancel(switch)
            until(lambda: client.orders.phase is Phase.OPEN)
    finally:
        stop.set()
        thread.join()
    assert not failed, failed[0]


def test_events_of_a_switch_before_let_no_client_go_on_in_the_next(
    fake: FakeService, led: tuple[Client, Session]
) -> None:
    """N5: they come late, as the answers of registrations have told of both switches already."""
    client, session = led
    with fake.slow():
        fake.prepare("one")
        session.register()
        assert client.is_paused("one")
        fake.cancel("one")
        session.register()
        assert client.orders.phase is Phase.OPEN
        fake.prepare("two")
        session.register()
        assert client.is_paused("two")
        before = len(fake.bodies("PUT"))
    until(partial(fake.was_asked, before))
    until(lambda: fake.watching == 1)
    assert client.is_paused("two") and client.ready == ["one", "two"]
    fake.cancel("two")
    until(lambda: client.orders.phase is Phase.OPEN)


def test_who_has_paused_says_so_before_he_is_told_where_he_is_led(
    fake: FakeService, led: tuple[Client, Session]
) -> None:
    """The switch may have been made meanwhile: told of that first, he would begin without its service knowing where."""
    client, session = led
    fake.prepare("one")
    until(lambda: client.is_paused("one"))
    port = fake.port
    fake.stop()
    session.ready("one", {"a-0": 5}, {})
    before = len(fake.seen)
    fake.start(port)
    until(lambda: fake.watching == 1)
    said = [(verb, body) for verb, path, body in fake.seen[before:] if verb == "PUT" or path.endswith("/ready")]
    assert [verb for verb, _ in said[:2]] == ["POST", "PUT"]
    assert said[0][1]["positions"] == {"a-0": 5}


@pytest.mark.parametrize("kind", ["route", "go"])
def test_an_event_of_an_older_table_than_was_answered_leads_nobody_back(
    fake: FakeService, led: tuple[Client, Session], kind: str
) -> None:
    """It was on its way as the answer was given; the session asks again instead."""
    client, session = led
    fake.route = route_json("new", 2)
    session.register(asked("a", "b"))
    until(lambda: client.orders.route is not None and client.orders.route.cluster == "new")
    before, told = len(fake.bodies("PUT")), len(client.led)
    old = route_json("old", 1, {"a": "a", "b": "b"})
    fake.tell(kind, {"switch": "gone", "route": old, "starts": {}})
    until(lambda: len(fake.bodies("PUT")) > before and fake.watching == 1)
    assert "old" not in client.led[told:]


def test_an_event_without_a_topic_that_was_asked_for_meanwhile_is_asked_again(
    fake: FakeService, led: tuple[Client, Session]
) -> None:
    """Else the name of that topic there would be forgotten."""
    client, session = led
    fake.route = route_json("old", 1, {"b": "old.b"})
    session.register(asked("a", "b"))
    before = len(fake.bodies("PUT"))
    fake.tell("route", {"route": route_json("old", 2, {"a": "a"})})
    until(lambda: len(fake.bodies("PUT")) > before and fake.watching == 1)
    assert client.orders.route is not None and client.orders.route.topics["b"] == "old.b"


def test_a_route_of_the_disk_takes_nobody_away_from_where_he_is(fake: FakeService, settings: Settings) -> None:
    """It may be older: with the service away new topics are known only where they lead to the same place."""
    client = Client()
    session = Session(settings, QUERY, client)
    session.register(asked("a", "b"))
    fake.route = route_json("new", 2)
    session.register(asked("a"))
    fake.stop()
    with pytest.raises(NoRouteError):
        session.register(asked("a", "b"))
    assert client.led == ["old", "new"]
    session.close()


def test_a_route_of_the_disk_ends_no_switch(fake: FakeService, settings: Settings) -> None:
    """A client that is held stays so while the service is away, whatever it asks for."""
    client = Client()
    session = Session(settings, QUERY, client)
    session.register(asked("a", "b"))
    fake.hold = "s"
    session.register(asked("a"))
    assert client.orders.phase is Phase.PAUSED
    fake.stop()
    session.register(asked("a", "b"))
    assert (client.orders.phase, client.orders.switch) == (Phase.PAUSED, "s")
    session.close()


def test_who_is_refused_stays_where_he_is(fake: FakeService, led: tuple[Client, Session]) -> None:
    """And follows again when the table is mended."""
    client, _ = led
    fake.refuse(problem(409, "unknown-code", "there is no cluster code 'orders'"))
    until(lambda: client.refused)
    assert "there is no cluster code 'orders'" in client.refused[0]
    assert set(client.led) == {"old"} and client.orders.phase is Phase.OPEN
    assert client.orders.route is not None and client.orders.route.cluster == "old"
    fake.lead(route_json("new", 3))
    until(lambda: client.led[-1] == "new")


PROGRAM = """
import os, sys
from anabranch.sdk import Consumer, Producer

config = {"cluster.code": "orders", "route.cache.dir": sys.argv[1], "route.topics": ["a"]}
producer = Producer(config)
consumer = Consumer({**config, "group.id": "g"})
consumer.subscribe(["a"])
child = os.fork()
if child == 0:
    for call in (lambda: producer.produce("a", "x"), lambda: producer.poll(0), lambda: consumer.poll(0)):
        try:
            call()
        except RuntimeError as error:
            print(error, flush=True)
    producer.close()
    consumer.close()
    os._exit(0)
os.waitpid(child, 0)
print("parent", producer.route.cluster, flush=True)
sys.stdin.readline()
"""


def run(program: str, *arguments: str) -> subprocess.Popen[str]:
    """A process of its own."""
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", program, *arguments], stdin=pipe, stdout=pipe, text=True)


def test_the_child_of_a_fork_is_told_so_and_takes_nothing_from_its_parent(
    fake: FakeService, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N6: it neither ends the parent's registration nor speaks on its connections."""
    monkeypatch.setenv("ANABRANCH_SERVICE", fake.url)
    process = run(PROGRAM, str(tmp_path / "c"))
    assert process.stdout is not None
    said = [process.stdout.readline().strip() for _ in range(4)]
    assert [one.startswith("this producer is of the process") for one in said[:2]] == [True, True], said
    assert said[2].startswith("this consumer is of the process") and said[3] == "parent old", said
    until(lambda: fake.watching == 2)
    fake.lead(route_json("old", 2))
    until(lambda: {one["version"] for one in fake.bodies("POST", "/report")} >= {2})
    assert fake.bodies("DELETE") == []
    process.communicate("\n", timeout=TIMEOUT_S)
    assert len(fake.bodies("DELETE")) == 2


ENDING = """
import sys, threading
from anabranch.sdk import Consumer, Producer

config = {"cluster.code": "orders", "route.cache.dir": sys.argv[1], "route.topics": ["a"]}
producer, consumer = Producer(config), Consumer({**config, "group.id": "g"})
consumer.subscribe(["a"])
consumer.poll(0)
threading.Thread(target=lambda: producer.produce("a", "x"), daemon=True).start()
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_program_that_is_held_ends_when_it_wants_to(
    fake: FakeService, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is taken off the list, though a call of it waits for the end of a switch."""
    monkeypatch.setenv("ANABRANCH_SERVICE", fake.url)
    fake.hold = "s"
    process = run(ENDING, str(tmp_path / "c"))
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    process.communicate("\n", timeout=TIMEOUT_S)
    assert process.returncode == 0 and len(fake.bodies("DELETE")) == 2
