"""What the client SDK relies on of the service's answers: of the real one, and of the fake one that other tests use."""

from __future__ import annotations

import select
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.sdk.errors import RouteProblemError, ServiceDownError
from anabranch.sdk.service import RouteService, Watch
from anabranch.sdk.stream import ServerEvent
from anabranch.sdk.wire import route_of
from qa.route_service import RouteProcess
from qa.timeouts import TIMEOUT_S
from tests.integration.sdk.fake_service import FakeService, problem, route_json

pytestmark = [pytest.mark.test, pytest.mark.real]
PACE = {"lease_ms", "report_ms", "version"}
QUERY = {"code": "orders", "role": "producer", "topics": ["sales"], "group": "", "client_id": "", "parameters": {}}
REPORT = {"version": 1, "records": 7, "bytes": 70, "errors": 0, "lag": None, "positions": {}, "last_error": ""}


@dataclass(frozen=True)
class Stand:
    """A service that leads ``orders`` to the cluster ``old``; ``lead`` has it lead elsewhere, or nowhere."""

    asked: RouteService
    stranger: RouteService
    lead: Callable[[str | None], None]
    stop: Callable[[], None]

    def register(self, client: str, **more: Any) -> Any:
        """As a client registers."""
        facts = {"application": "shop", "host": "here", "pid": 1, "sdk": "0"}
        return self.asked.ask("PUT", path(client), {**QUERY, "facts": facts, **more})

    def registered(self) -> str:
        """A client that is."""
        client = uuid.uuid4().hex
        self.register(client)
        return client

    def refusal(self, method: str, where: str, body: object = None) -> RouteProblemError:
        """What is refused, and how."""
        with pytest.raises(RouteProblemError) as told:
            self.asked.ask(method, where, body)
        return told.value


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RouteProcess]:
    """The real one, which a test may have ended."""
    contexts = {name: {"bootstrap": [f"{name}:9092"]} for name in ("old", "new")}
    with RouteProcess(tmp_path_factory.mktemp("routes"), contexts) as made:
        yield made


@pytest.fixture(params=["real", "fake"])
def stand(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    """Either; clusters are away, which neither need know."""
    monkeypatch.setenv("STRANGER", "anabranch_wrong")
    monkeypatch.setenv("OWN", "anabranch_token")
    if request.param == "real":
        yield _real(request.getfixturevalue("real"), monkeypatch)
    else:
        yield from _fake()


def _asking(url: str) -> tuple[RouteService, RouteService]:
    own, other = (RouteService(url, SecretRef(SecretKind.ENV, name)) for name in ("OWN", "STRANGER"))
    return own, other


def _fake() -> Iterator[Stand]:
    with FakeService(token="anabranch_token") as fake:
        refused = problem(409, "unknown-code", "there is no cluster code 'orders'")

        def lead(cluster: str | None) -> None:
            if cluster is None:
                fake.refuse(refused)
            else:
                fake.lead(route_json(cluster, fake.route["version"] + 1))

        yield Stand(*_asking(fake.url), lead, lambda: fake.stop(says=True))


def _real(real: RouteProcess, patch: pytest.MonkeyPatch) -> Stand:
    patch.setenv("OWN", real.tokens["client"])

    def lead(cluster: str | None) -> None:
        # Each table is another one: what is published already is not published again.
        code = {"cluster": cluster or "old", "description": uuid.uuid4().hex}
        real.publish({"codes": {"orders" if cluster else "other": code}})

    if not real.runs:
        real.start()
    real.forget()
    lead("old")
    return Stand(*_asking(real.url), lead, real.stop)


def path(client: str, rest: str = "") -> str:
    """Where a client is asked for."""
    return f"/api/v1/clients/{client}{rest}"


def events(watch: Watch, number: int) -> list[ServerEvent]:
    """The next so many; a stream that ends raises ServiceDownError."""
    found: list[ServerEvent] = []
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        found += watch.read()
        if len(found) >= number:
            return found
        assert time.monotonic() < deadline, found
        select.select([watch], [], [], 0.5)


def last(watch: Watch) -> list[ServerEvent]:
    """What is told until the stream ends, which it must."""
    found: list[ServerEvent] = []
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            for one in watch.read():
                found.append(one)
        except ServiceDownError:
            return found
        select.select([watch], [], [], 0.5)
    raise AssertionError(f"the stream does not end: {found}")


def test_a_registration_is_answered_with_a_route_and_a_pace(stand: Stand) -> None:
    """And says whether a switch holds the client, or has ended."""
    client = uuid.uuid4().hex
    answer = stand.register(client)
    assert set(answer) == {"id", "route", "hold", "go", *PACE}
    assert (answer["id"], answer["hold"], answer["go"]) == (client, None, None)
    assert 0 < answer["report_ms"] < answer["lease_ms"]
    route = route_of(answer["route"])
    assert (route.code, route.cluster, route.bootstrap, route.topics) == (
        "orders",
        "old",
        ("old:9092",),
        {"sales": "sales"},
    )
    assert (route.may_read, route.may_write, route.version) == (True, True, answer["version"])


def test_a_client_that_registers_again_asks_for_other_topics(stand: Stand) -> None:
    """With the same id it is the same client; without topics it is led by its code alone."""
    client = stand.registered()
    assert route_of(stand.register(client, topics=["sales", "stock"])["route"]).topics == {
        "sales": "sales",
        "stock": "stock",
    }
    assert route_of(stand.register(client, topics=[])["route"]).topics == {}


def test_a_report_is_answered_with_the_pace(stand: Stand) -> None:
    """Which may be another one than before."""
    client = uuid.uuid4().hex
    version = stand.register(client)["version"]
    answer = stand.asked.ask("POST", path(client, "/report"), {**REPORT, "version": version})
    assert set(answer) == PACE and answer["version"] == version


def test_who_is_forgotten_is_told_so_whatever_it_asks(stand: Stand) -> None:
    """404, after which a client registers again; to be forgotten twice is the same."""
    client = stand.registered()
    assert stand.asked.ask("DELETE", path(client)) is None
    ready = {"switch": "s", "positions": {}, "uncertain": {}}
    for method, rest, body in (("POST", "/report", REPORT), ("POST", "/ready", ready), ("DELETE", "", None)):
        refused = stand.refusal(method, path(client, rest), body)
        assert (refused.status, refused.kind) == (404, "urn:anabranch:problem:unknown-client"), method
    with pytest.raises(RouteProblemError) as told:
        stand.asked.watch(path(client, "/watch"))
    assert told.value.status == 404
    assert stand.register(client)["id"] == client


def test_an_answer_to_a_switch_that_is_not_under_way_is_refused(stand: Stand) -> None:
    """Another status than a client's that is not known: it need not register again."""
    client = stand.registered()
    body = {"switch": "s", "positions": {"sales-0": 7}, "uncertain": {}}
    refused = stand.refusal("POST", path(client, "/ready"), body)
    assert 400 <= refused.status < 500 and refused.status != 404
    assert refused.detail and refused.kind.startswith("urn:anabranch:problem:")


def test_a_stream_begins_with_the_route_and_tells_each_change(stand: Stand) -> None:
    """So what changed between registration and stream is not missed."""
    client = stand.registered()
    with closing(stand.asked.watch(path(client, "/watch"))) as watch:
        (first,) = events(watch, 1)
        assert (first.kind, route_of(first.data["route"]).cluster) == ("route", "old")
        stand.lead("new")
        (second,) = events(watch, 1)
        route = route_of(second.data["route"])
        assert (second.kind, route.cluster, route.topics) == ("route", "new", {"sales": "sales"})


def test_a_client_has_one_stream_the_last_that_it_opened(stand: Stand) -> None:
    """The one before ends; the client's old connection may be half open for long."""
    client = stand.registered()
    with closing(stand.asked.watch(path(client, "/watch"))) as former:
        events(former, 1)
        with closing(stand.asked.watch(path(client, "/watch"))) as later:
            events(later, 1)
            assert last(former) == []
            stand.lead("new")
            (told,) = events(later, 1)
            assert told.kind == "route"


def test_a_client_that_is_forgotten_is_told_nothing_more(stand: Stand) -> None:
    """Its stream ends."""
    client = stand.registered()
    with closing(stand.asked.watch(path(client, "/watch"))) as watch:
        events(watch, 1)
        stand.asked.ask("DELETE", path(client))
        assert last(watch) == []


def test_a_service_that_ends_says_when_to_come_again(stand: Stand) -> None:
    """Then the stream ends."""
    client = stand.registered()
    with closing(stand.asked.watch(path(client, "/watch"))) as watch:
        events(watch, 1)
        stand.stop()
        (told,) = last(watch)
        assert told.kind == "ending" and told.data["retry_within_ms"] > 0


def test_a_refusal_has_a_type_words_and_a_hint(stand: Stand) -> None:
    """As a problem of RFC 9457."""
    client = uuid.uuid4().hex
    stand.lead(None)
    with pytest.raises(RouteProblemError) as told:
        stand.register(client)
    refused = told.value
    assert (refused.status, refused.kind) == (409, "urn:anabranch:problem:unknown-code")
    assert "orders" in refused.detail and refused.hint


def test_a_wrong_token_is_refused_whatever_is_asked(stand: Stand) -> None:
    """401: nobody goes on by a route of the disk then."""
    client = stand.registered()
    for method, rest in (("PUT", ""), ("POST", "/report"), ("DELETE", "")):
        with pytest.raises(RouteProblemError) as told:
            stand.stranger.ask(method, path(client, rest), REPORT)
        assert told.value.status == 401 and told.value.hint
    with pytest.raises(RouteProblemError) as told:
        stand.stranger.watch(path(client, "/watch"))
    assert told.value.status == 401
