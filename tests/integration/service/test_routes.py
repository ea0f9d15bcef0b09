"""Routes and clients of the service over a real port: who is led where, who is told, and who may not."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from anabranch.model.accounts import Role
from anabranch.model.clock import DAY_MS, now_ms
from anabranch.service import registry, token_checks
from anabranch.service.rest import clients as rest
from qa.postgres import postgres
from qa.service import Answered, Served, serving, until
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.test

CONTEXTS = {name: {"bootstrap": [f"{name}.example.com:9092"]} for name in ("old", "new")}
OLD: dict[str, Any] = {"codes": {"orders": {"cluster": "old"}}}
NEW: dict[str, Any] = {"codes": {"orders": {"cluster": "new"}}}


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Where the store is."""
    return str(tmp_path / "store.db")


@pytest.fixture
def served(store: str, tmp_path: Path) -> Iterator[Served]:
    """A service whose clusters are away, which routes need not know."""
    with serving(store, CONTEXTS, tmp_path) as made:
        until(lambda: made.instance.acting.acts)
        yield made


def planned(served: Served, verb: str, **body: Any) -> Any:
    """A plan."""
    found = served.ask(
        "POST", f"/api/v1/routes/{verb}/plan", {"reason": "a test", "at_once": True, **body}, role="operator"
    )
    assert found.status == 200, found.body
    return found.json


def ended(served: Served, plan: Any, role: str = "approver") -> Any:
    """The operation that came of a plan, once it has ended."""
    begun = served.ask("POST", f"/api/v1/plans/{plan['id']}/apply", {"hash": plan["hash"]}, role=role)
    assert begun.status == 202, begun.body
    until(lambda: served.get(begun.headers["location"])["state"] != "running")
    return served.get(begun.headers["location"])


def publish(served: Served, table: Any) -> int:
    """Publish a table; the version that came of it."""
    done = ended(served, planned(served, "apply", table=table))
    assert done["state"] == "done", done
    return int(done["report"]["version"])


def asked(group: str = "", *, code: str = "orders", topics: tuple[str, ...] = ("sales",), **own: str) -> dict[str, Any]:
    """What a client registers with: a consumer where it has a group."""
    facts = {"application": "shop", "host": "host-1", "pid": 42, "sdk": "0.1"}
    role = "consumer" if group else "producer"
    fields = {"code": code, "role": role, "topics": topics, "group": group, "client_id": "", "parameters": own}
    return {**fields, "facts": facts}


def put(served: Served, body: Mapping[str, Any], client: str = "", role: str = "client") -> Answered:
    """Register."""
    return served.ask("PUT", f"/api/v1/clients/{client or uuid.uuid4().hex}", body, role=role)


def registered(served: Served, body: Mapping[str, Any]) -> str:
    """A client that is registered; its id."""
    found = put(served, body)
    assert found.status == 200, found.body
    return str(found.json["id"])


class Stream:
    """A client that watches."""

    def __init__(self, served: Served, client: str, token: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=TIMEOUT_S)
        headers = {"Authorization": f"Bearer {token}"}
        self.connection.request("GET", f"/api/v1/clients/{client}/watch", headers=headers)
        self.answer = self.connection.getresponse()

    def lines(self) -> Iterator[str]:
        """Lines until the stream ends."""
        while line := self.answer.readline():
            yield line.decode().rstrip("\n")

    def next(self) -> tuple[str, Any]:
        """The next event; comments are passed over.  An empty kind is the stream's end."""
        kind = ""
        for line in self.lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            if line.startswith("data: "):
                return kind, json.loads(line.removeprefix("data: "))
        return "", None


@contextmanager
def watching(served: Served, client: str, token: str = "") -> Iterator[Stream]:
    """A stream of a client, which must be open."""
    made = Stream(served, client, token or served.tokens["client"])
    try:
        assert made.answer.status == 200, made.answer.read()
        yield made
    finally:
        made.connection.close()


def test_a_client_is_led_and_told_of_a_change(served: Served) -> None:
    """It registers, watches, and is told at once where it is led, and again as that changes; reports end its lag."""
    refused = put(served, asked("billing"))
    assert (refused.status, refused.json["title"]) == (409, "no routes")
    assert publish(served, OLD) == 1
    found = put(served, asked("billing")).json
    route = found["route"]
    assert (route["cluster"], route["bootstrap"]) == ("old", ["old.example.com:9092"])
    assert (route["since"], route["version"], found["version"], found["hold"]) == (1, 1, 1, None)
    assert (route["security"], route["topics"]) == ({"protocol": "PLAINTEXT"}, {"sales": "sales"})
    assert found["lease_ms"] == 3 * found["report_ms"]
    where = f"/api/v1/clients/{found['id']}"
    with watching(served, found["id"]) as stream:
        assert stream.next() == ("route", {"route": route})
        assert (
            publish(served, {**OLD, "rules": [{"name": "x", "match": {"group": "x"}, "to": {"cluster": "new"}}]}) == 2
        )
        assert publish(served, NEW) == 3
        kind, told = stream.next()
        assert (kind, told["route"]["cluster"], told["route"]["since"]) == ("route", "new", 3), "of 2 it is not told"
    assert served.get(where)["behind"]
    told = served.ask(
        "POST", f"{where}/report", {"version": 3, "records": 7, "positions": {"sales-0": 9}}, role="client"
    )
    assert told.json == {"lease_ms": found["lease_ms"], "report_ms": found["report_ms"], "version": 3}
    client = served.get(where)
    assert (client["behind"], client["live"], client["cluster"], client["since"]) == (False, True, "new", 3)
    assert (client["report"]["records"], client["report"]["positions"]) == (7, {"sales-0": 9})
    assert client["facts"]["address"] == "127.0.0.1"
    assert served.ask("DELETE", where, role="client").status == 204
    for method, path in (("DELETE", where), ("GET", f"{where}/watch"), ("POST", f"{where}/report")):
        gone = served.ask(method, path, {} if method == "POST" else None, role="client")
        assert (gone.status, gone.json["title"]) == (404, "unknown client")
    assert served.get("/api/v1/clients")["total"] == 0


def test_of_very_many_clients_each_holds_one_connection(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one on which it watches: that by which it reports is closed, as it would be held until the next report."""
    publish(served, OLD)
    monkeypatch.setattr(rest, "MANY_CLIENTS", 1)
    first, second = put(served, asked()), put(served, asked())
    assert (first.headers.get("connection"), second.headers.get("connection")) == (None, "close")
    told = served.ask("POST", f"/api/v1/clients/{second.json['id']}/report", {}, role="client")
    assert (told.status, told.headers.get("connection")) == (200, "close")


def test_a_client_that_leaves_before_it_has_asked_is_no_failure(served: Served, capfd: Any) -> None:
    """Of thousands that lose patience at once each would be a page in the log."""
    head = f"PUT /api/v1/clients/{uuid.uuid4().hex} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
    head += f"Authorization: Bearer {served.tokens['client']}\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", served.port)) as leaving:
        leaving.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
    until(lambda: served.instance.requests[408])
    assert "Traceback" not in "".join(capfd.readouterr())


def test_since_is_the_version_that_led_a_client_so_first(served: Served) -> None:
    """Across versions that change nothing for it, a rename in between, and for one that comes only now."""
    rename = {"name": "r", "match": {"topic": "sales"}, "to": {"cluster": "old", "topics": "x.{topic}"}}
    other = {"name": "o", "match": {"group": "o"}, "to": {"cluster": "new"}}
    for table in (OLD, {**OLD, "rules": [rename]}, OLD, {**OLD, "rules": [other]}):
        publish(served, table)
    route = put(served, asked("billing")).json["route"]
    assert (route["since"], route["version"], route["topics"]) == (3, 4, {"sales": "sales"})
    assert put(served, asked("billing", topics=("refunds",))).json["route"]["since"] == 1


def test_of_two_who_publish_at_once_one_is_refused(served: Served) -> None:
    """Both saw version 1; one makes version 2, and the other is told so."""
    publish(served, OLD)
    plans = [
        planned(served, "apply", table={**OLD, "rules": [rule]})
        for rule in (
            {"name": "a", "match": {"group": "a"}, "to": {"cluster": "new"}},
            {"name": "b", "match": {"group": "b"}, "to": {"cluster": "new"}},
        )
    ]
    gate = threading.Barrier(2)

    def apply(plan: Any) -> Any:
        gate.wait(TIMEOUT_S)
        return ended(served, plan)

    with ThreadPoolExecutor(2) as pool:
        done, late = sorted(pool.map(apply, plans), key=lambda one: str(one["state"]))
    assert (done["state"], done["report"]["version"], late["state"]) == ("done", 2, "failed")
    assert late["problem"]["title"] in ("plan changed", "published meanwhile")
    assert [one["version"] for one in served.get("/api/v1/routes/versions")] == [2, 1]
    audit = [(one["verb"], one["outcome"]) for one in served.get("/api/v1/audit")]
    assert audit.count(("routes.apply", "done")) == 2
    assert audit.count(("routes.apply", "refused")) == 1


def test_a_rollback_leads_clients_back(served: Served) -> None:
    """As a version of its own; versions are read as they were published."""
    publish(served, OLD)
    publish(served, NEW)
    client = registered(served, asked("billing"))
    plan = planned(served, "rollback", version=1)
    assert [(one["before"]["cluster"], one["after"]["cluster"]) for one in plan["plan"]["impact"]["moves"]] == [
        ("new", "old")
    ]
    assert plan["command"] == "anabranch route rollback 1 --reason 'a test' --at-once --execute"
    with watching(served, client) as stream:
        assert stream.next()[1]["route"]["cluster"] == "new"
        assert ended(served, plan)["report"]["groups"] == {"billing": ["new", "old"]}
        assert stream.next()[1]["route"]["cluster"] == "old"
    newest = served.get("/api/v1/routes")
    assert (newest["version"], newest["author"], newest["reason"]) == (3, "approver", "a test")
    assert newest["table"] == served.get("/api/v1/routes/versions/1")["table"]
    assert [one["version"] for one in served.get("/api/v1/routes/versions?limit=1&before=3")] == [2]
    missing = served.ask("GET", "/api/v1/routes/versions/9")
    assert (missing.status, missing.json["title"]) == (404, "no version")
    assert (
        served.ask("POST", "/api/v1/routes/rollback/plan", {"version": 9, "reason": "r"}, role="operator").status == 404
    )


def test_a_table_with_faults_is_refused_with_all_reasons(served: Served) -> None:
    """Faults of the table, then what it would do to clients; nothing is published."""

    def refused(table: Any) -> Any:
        found = served.ask("POST", "/api/v1/routes/apply/plan", {"table": table, "reason": "r"}, role="operator")
        assert found.status in (409, 422), found.body
        return found.json

    assert served.ask("GET", "/api/v1/routes").json["detail"] == "no route table has been published yet"
    rule = {"match": {"group": "b*"}, "to": {"cluster": "nowhere"}}
    faulty = refused({"codes": {"x": {"code": "x"}}, "rules": [{**rule, "name": "a"}, {**rule, "name": "b"}]})
    for part in ("'a' and 'b' have priority 0", "'nowhere'", "x -> x lead to each other"):
        assert part in faulty["detail"]
    assert refused({"codes": {"x": {"cluster": "old", "and_more": 1}}})["field"] == "table.codes.x.and_more"
    publish(served, OLD)
    for site in ("north", "south"):
        registered(served, asked("billing", site=site))
    half = {"name": "half", "match": {"parameters": {"site": "north"}}, "to": {"cluster": "new"}}
    split = refused({**OLD, "rules": [half]})
    assert split["status"] == 409
    assert "group billing would be split" in split["detail"]
    assert "there is no cluster code 'orders'" in refused({"codes": {"sales": {"cluster": "old"}}})["detail"]
    assert served.get("/api/v1/routes")["version"] == 1


def test_a_consumer_that_would_split_its_group_is_refused(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a member is live on another cluster; by itself it may come."""
    half = {"name": "half", "match": {"parameters": {"site": "north"}}, "to": {"cluster": "new"}}
    publish(served, {**OLD, "rules": [half]})
    client = registered(served, asked("billing"))
    refused = put(served, asked("billing", site="north"))
    assert (refused.status, refused.json["title"]) == (409, "split group")
    assert "is led to new" in refused.json["detail"]
    assert "is on old" in refused.json["detail"]
    assert put(served, asked("reports", site="north")).status == 200
    assert put(served, asked("billing", site="north"), client).status == 200, "it asks again itself"
    for code in ("nowhere", "x" * 249):
        assert put(served, asked("billing", code=code)).json["title"] == "unknown code"


def test_only_its_own_account_and_an_admin_touch_a_client(served: Served) -> None:
    """And the role client reads nothing but where its own clients are led."""
    publish(served, OLD)
    where = f"/api/v1/clients/{registered(served, asked('billing'))}"
    for method, path, body in (
        ("PUT", where, asked("billing")),
        ("POST", f"{where}/report", {}),
        ("POST", f"{where}/ready", {"switch": "s"}),
        ("GET", f"{where}/watch", None),
        ("DELETE", where, None),
    ):
        found = served.ask(method, path, body, role="viewer")
        assert (found.status, found.json["title"]) == (403, "not its account"), (method, path)
    assert served.ask("PUT", where, asked("billing"), role="admin").status == 200
    assert served.ask("POST", f"{where}/report", {}, role="client").status == 200, "it stays its account's"
    ready = served.ask("POST", f"{where}/ready", {"switch": "s", "positions": {"sales-0": 3}}, role="client")
    assert (ready.status, ready.json["title"]) == (409, "no switch")
    assert served.ask("DELETE", where, role="admin").status == 204
    assert [one["verb"] for one in served.get("/api/v1/audit?account=admin")] == ["client.remove"]
    for path in ("/api/v1/links", "/api/v1/clients", "/api/v1/routes", "/api/v1/routes/versions", "/metrics"):
        found = served.ask("GET", path, role="client")
        assert (found.status, found.json["title"]) == (403, "not permitted"), path
    assert served.get("/api/v1/me", "client")["role"] == "client"


OPEN_TO_CLIENTS = {
    *(("GET", "/api/v1/me"), ("DELETE", "/api/v1/session"), ("POST", "/api/v1/routes/explain")),
    *(("PUT", "/api/v1/clients/{client_id}"), ("DELETE", "/api/v1/clients/{client_id}")),
    *(("POST", f"/api/v1/clients/{{client_id}}/{word}") for word in ("report", "ready")),
    ("GET", "/api/v1/clients/{client_id}/watch"),
    *(("POST", f"/api/v1/{where}/translate") for where in ("clusters/{target}/links/{link}", "mirrormaker")),
}


def test_nothing_else_is_open_to_the_role_client(served: Served) -> None:
    """Of every address that the service has."""
    public = ("/healthz", "/readyz", "/api/v1/login", "/api/v1/session")
    opened = set()
    for path, methods in served.app.openapi()["paths"].items():
        real = path
        for name in ("client_id", "plan_id", "work_id", "token_id"):
            real = real.replace(f"{{{name}}}", "0" * 32)
        for name in ("target", "link", "lane", "name", "version"):
            real = real.replace(f"{{{name}}}", "1")
        for method in methods:
            found = served.ask(method.upper(), real, {} if method in ("post", "put", "patch") else None, role="client")
            is_refused = found.status == 403 and found.json["title"] == "not permitted"
            if not is_refused and not (path.startswith(public) and (method.upper(), path) not in OPEN_TO_CLIENTS):
                opened.add((method.upper(), path))
    assert opened == OPEN_TO_CLIENTS


def test_explaining_registers_nothing(served: Served) -> None:
    """The route with its way, or the problem; where topics lead apart the way of each."""
    answer = served.ask("POST", "/api/v1/routes/explain", {"code": "orders", "role": "consumer"}, role="client").json
    assert (answer["route"], answer["problem"]["title"], answer["ways"]) == (None, "no routes", [])
    rule = {"name": "pay", "match": {"topic": "pay*"}, "to": {"cluster": "new"}}
    publish(served, {**OLD, "rules": [rule]})
    body = {"code": "orders", "role": "consumer", "topics": ["payments"]}
    answer = served.ask("POST", "/api/v1/routes/explain", body, role="client").json
    assert (answer["route"]["cluster"], answer["route"]["rule"], answer["problem"]) == ("new", "pay", None)
    ((hop,),) = (way["hops"] for way in answer["ways"])
    assert (hop["rule"], hop["considered"]) == ("pay", [{"rule": "pay", "priority": 0, "misses": []}])
    answer = served.ask("POST", "/api/v1/routes/explain", {**body, "topics": ["payments", "sales"]}, role="client").json
    assert (answer["route"], answer["problem"]["title"]) == (None, "split topics")
    assert [way["topic"] for way in answer["ways"]] == ["payments", "sales"]
    assert served.get("/api/v1/clients")["total"] == 0


def test_clients_are_found_by_what_they_are(served: Served) -> None:
    """Each filter, in pages; metrics count them."""
    publish(served, {"codes": {"orders": {"cluster": "old"}, "shop": {"cluster": "new"}}})
    for number in range(3):
        registered(served, asked(f"g{number}"))
    other = registered(served, {**asked(code="shop"), "facts": {"application": "till"}})

    def ids(query: str) -> list[str]:
        return [one["id"] for one in served.get(f"/api/v1/clients?{query}")["clients"]]

    for query in ("code=shop", "cluster=new", "application=till", "role=producer"):
        assert ids(query) == [other], query
    assert len(ids("role=consumer")) == 3
    assert [one["query"]["group"] for one in served.get("/api/v1/clients?group=g1")["clients"]] == ["g1"]
    assert ids("behind=true") == []
    every, page = ids(""), served.get("/api/v1/clients?offset=1&limit=2")
    assert (page["total"], page["matching"], page["offset"]) == (4, 4, 1)
    assert [one["id"] for one in page["clients"]] == every[1:3]
    told = served.ask("GET", "/metrics").body.decode()
    for line in (
        "anabranch_route_version 1.0",
        'anabranch_route_clients{cluster="old",state="live"} 3.0',
        'anabranch_route_clients_behind{cluster="new"} 0.0',
    ):
        assert f"\n{line}\n" in told, line


def test_a_client_that_is_not_heard_of_is_shown_to_be_stale(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds its group up no more, and one report makes it live again."""
    with serving(store, CONTEXTS, tmp_path) as served:
        until(lambda: served.instance.acting.acts)
        half = {"name": "half", "match": {"parameters": {"site": "north"}}, "to": {"cluster": "new"}}
        publish(served, {**OLD, "rules": [half]})
        monkeypatch.setattr(registry, "REPORT_MS", 1)
        monkeypatch.setattr(registry, "LEASE_REPORTS", 1)
        client = registered(served, asked("billing"))
        until(lambda: not served.get(f"/api/v1/clients/{client}")["live"])
        assert 'state="stale"} 1.0' in served.ask("GET", "/metrics").body.decode()
        monkeypatch.undo()
        assert put(served, asked("billing", site="north")).status == 200
        assert served.ask("POST", f"/api/v1/clients/{client}/report", {}, role="client").status == 200
        assert served.get(f"/api/v1/clients/{client}")["live"]


def test_clients_are_known_again_after_a_restart(store: str, tmp_path: Path) -> None:
    """By the same account, live, where they are led, in time for a plan; watchers are told when to come again."""
    with serving(store, CONTEXTS, tmp_path, name="here") as served:
        until(lambda: served.instance.acting.acts)
        publish(served, OLD)
        client, gone = registered(served, asked("billing")), registered(served, asked("reports"))
        served.ask("POST", f"/api/v1/clients/{client}/report", {"version": 1, "records": 5}, role="client")
        served.ask("DELETE", f"/api/v1/clients/{gone}", role="client")
        before = served.get(f"/api/v1/clients/{client}")
        stream = Stream(served, client, served.tokens["client"])
        assert stream.next()[0] == "route"
    assert stream.next() == ("ending", {"retry_within_ms": 1000})
    assert stream.next() == ("", None)
    stream.connection.close()
    with serving(store, CONTEXTS, tmp_path, name="here") as served:
        until(lambda: served.instance.acting.acts)
        (after,) = served.get("/api/v1/clients")["clients"]
        assert {**after, "until_ms": 0} == {**before, "until_ms": 0}
        plan = planned(served, "apply", table=NEW)
        assert [one["client"]["id"] for one in plan["plan"]["impact"]["moves"]] == [client]
        assert served.ask("POST", f"/api/v1/clients/{client}/report", {}, role="viewer").status == 403
        assert served.ask("POST", f"/api/v1/clients/{client}/report", {}, role="client").status == 200


def test_a_client_whose_token_ended_watches_no_more(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Soon after; until then comments keep its stream."""
    monkeypatch.setattr(rest, "QUIET_S", 0.05)
    monkeypatch.setattr(token_checks, "KNOWN_S", 0.1)
    publish(served, OLD)
    accounts, now = served.instance.stored.accounts, now_ms()
    accounts.add("till", Role.CLIENT, now)
    text, made = accounts.issue("till", "first", now, now + DAY_MS)
    client = uuid.uuid4().hex
    headers = {"Authorization": f"Bearer {text}"}
    assert served.ask("PUT", f"/api/v1/clients/{client}", asked("till"), role=None, headers=headers).status == 200
    with watching(served, client, text) as stream:
        lines = stream.lines()
        assert next(line for line in lines if line.startswith(":")) == ": quiet"
        accounts.revoke(made.id, now_ms())
        for _ in lines:
            pass
    until(lambda: len(served.instance.watching) == 0)


def test_a_stream_that_a_client_left_is_noticed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that it opens again takes the place of the former."""
    monkeypatch.setattr(rest, "QUIET_S", 0.05)
    publish(served, OLD)
    client = registered(served, asked("billing"))
    with watching(served, client) as first, watching(served, client) as second:
        assert second.next()[0] == "route"
        assert [first.next()[0], first.next()[0]] == ["route", ""]
        assert len(served.instance.watching) == 1
    until(lambda: len(served.instance.watching) == 0)


def test_a_changed_context_is_told_to_whom_it_leads(served: Served, tmp_path: Path) -> None:
    """Without a new version; of one that is gone the client is told, and led again as it is back."""
    publish(served, OLD)
    client = registered(served, asked("billing"))

    def write(contexts: Mapping[str, Any]) -> None:
        (tmp_path / "contexts.yaml").write_text(yaml.safe_dump({"version": 1, "contexts": contexts}))

    with watching(served, client) as stream:
        stream.next()
        write({**CONTEXTS, "old": {"bootstrap": ["other.example.com:9092"]}})
        assert stream.next()[1]["route"]["bootstrap"] == ["other.example.com:9092"]
        write({"new": CONTEXTS["new"]})
        kind, told = stream.next()
        assert (kind, told["problem"]["title"]) == ("refused", "gone context")
        write(CONTEXTS)
        assert stream.next()[1]["route"]["bootstrap"] == ["old.example.com:9092"]


def test_listeners_are_told_of_new_routes(served: Served) -> None:
    """By the service's own events."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=TIMEOUT_S)
    connection.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {served.tokens['viewer']}"})
    answer = connection.getresponse()
    assert answer.readline() == b"event: open\n"
    publish(served, OLD)
    while answer.readline() != b"event: routes\n":
        pass
    told = json.loads(answer.readline().removeprefix(b"data: "))
    assert (told["version"], told["author"]) == (1, "approver")
    connection.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_instances_see_each_others_versions_and_clients(kind: str, tmp_path: Path) -> None:
    """One publishes, the clients of both are told; each lists all, and a group is not split over them."""
    with ExitStack() as stack:
        store = str(tmp_path / "store.db")
        if kind == "postgresql":
            store = stack.enter_context(postgres()).database()
        first, second = (stack.enter_context(serving(store, CONTEXTS, tmp_path, name=name)) for name in ("a", "b"))
        until(lambda: first.instance.acting.acts)
        half = {"name": "half", "match": {"parameters": {"site": "north"}}, "to": {"cluster": "new"}}
        publish(first, {**OLD, "rules": [half]})
        until(lambda: second.instance.routing.number == 1)
        here, there = registered(first, asked("billing")), registered(second, asked("billing"))
        until(lambda: first.get("/api/v1/clients")["total"] == second.get("/api/v1/clients")["total"] == 2)
        refused = put(second, asked("billing", site="north"))
        assert refused.json["title"] == "split group"
        assert second.ask("PUT", f"/api/v1/clients/{here}", asked("x"), role="viewer").status == 403
        with watching(first, here) as one, watching(second, there) as other:
            assert one.next()[0] == other.next()[0] == "route"
            publish(first, NEW)
            assert one.next()[1]["route"]["cluster"] == other.next()[1]["route"]["cluster"] == "new"
        assert first.ask("DELETE", f"/api/v1/clients/{there}", role="client").status == 204
