"""No secret is in any answer, event, audit or log: of a real process, where all goes well and where nothing does."""

from __future__ import annotations

import base64
import http.client
import http.server
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.parse
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import text as statement

from anabranch.sandbox import ClusterSpec
from anabranch.sandbox.ports import lease_ports
from anabranch.store.database import open_database
from anabranch.store.tables import METADATA
from qa.postgres import postgres
from qa.service import Answered, until
from qa.timeouts import TIMEOUT_S
from tests.integration.service.test_instances import token_of
from tests.simulated import Simulated

pytestmark = pytest.mark.test

LINK = "guarded"
ON_LINK = {"target": "new", "link": LINK}
_PROGRAM = """
import os
from pathlib import Path
from anabranch.service.oidc import Oidc
from anabranch.store.accounts import Accounts
fails = Path(os.environ["PLANTED"])
whose, read = Accounts.of_token, Oidc._read
def of_token(self, text, now_ms):
    if fails.exists():
        raise RuntimeError("planted")
    return whose(self, text, now_ms)
def _read(self, request):
    if fails.exists():
        raise RuntimeError("planted")
    return read(self, request)
Accounts.of_token, Oidc._read = of_token, _read
from anabranch.cli.main import main
main()
"""
"""The service, with errors that nobody foresaw wherever a secret is at hand, as long as a file is there."""


@dataclass
class Secrets:
    """Each by what it is; all of them made up here, so that each place where one stands is a leak."""

    known: dict[str, str] = field(default_factory=dict)

    def make(self, what: str) -> str:
        """A new one."""
        return self.add(what, f"s3cr3t-{uuid.uuid4().hex}")

    def add(self, what: str, value: str) -> str:
        """One that the service made."""
        self.known[what] = value
        return value

    def leaked(self, told: str) -> list[str]:
        """Which of them a text holds, plainly, percent-encoded, in base64, or in lines of a terminal's width."""
        joined = re.sub(r"[\s│]+", "", told)
        found = []
        for what, value in self.known.items():
            forms = {value, urllib.parse.quote(value, safe=""), base64.b64encode(value.encode()).decode().rstrip("=")}
            if any(form in told or form in joined for form in forms):
                found.append(what)
        return found


class Provider(http.server.BaseHTTPRequestHandler):
    """An OpenID provider that describes itself and refuses every code, as one does whose client secret is wrong."""

    sent: list[str] = []  # what it was sent as credentials, by all its threads
    protocol_version = "HTTP/1.1"

    def _tell(self, status: int, value: Mapping[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        issuer = f"http://{self.headers['Host']}"
        ends = {name: f"{issuer}/{name}" for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
        self._tell(200, {"issuer": issuer, **ends})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).sent.append(self.headers.get("Authorization", ""))
        self._tell(401, {"error": "invalid_client"})

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def provider() -> Iterator[str]:
    """Its address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@dataclass
class Guarded:
    """The process, what it knows, and all that it has told."""

    port: int
    process: subprocess.Popen[bytes]
    secrets: Secrets
    token: str
    told: list[tuple[str, str]] = field(default_factory=list)

    def ask(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Answered:
        """An answer, which is remembered with its headers; raises OSError."""
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        sent |= dict(headers or {})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            found = Answered(answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()
        self.told.append((f"{method} {path}", f"{found.headers} {found.body.decode('utf-8', 'replace')}"))
        return found

    def answers(self) -> bool:
        """Whether it does yet."""
        assert self.process.poll() is None
        try:
            return self.ask("GET", "/healthz").status == 200
        except OSError:
            return False

    def apply(self, verb: str, body: object) -> Any:
        """The operation that came of a plan, however it ended."""
        plan = self.ask("POST", f"/api/v1/{verb}/plan", body)
        assert plan.status == 200, plan.body
        begun = self.ask("POST", f"/api/v1/plans/{plan.json['id']}/apply", {"hash": plan.json["hash"]})
        where = begun.headers["location"]
        until(lambda: self.ask("GET", where).json["state"] != "running")
        return self.ask("GET", where).json

    def read_all(self) -> int:
        """Ask for all that can be read; returns how much that was."""
        described = self.ask("GET", "/api/v1/openapi.json").json
        operations = self.ask("GET", "/api/v1/operations").json
        plans = [one["plan"] for one in operations if one["plan"]]
        values = {"link": [LINK], "work_id": [one["id"] for one in operations], "plan_id": plans}
        asked = 0
        for path in (path for path, methods in described["paths"].items() if "get" in methods):
            if path in ("/api/v1/events", "/api/v1/login", "/api/v1/login/done"):
                continue
            for target in ("old", "new", "wrong", "away", "tokens") if "{target}" in path else ("",):
                part = re.search(r"{(link|work_id|plan_id)}", path)
                for value in values[part[1]] if part else [""]:
                    where = path.replace("{target}", target).replace(part[0] if part else "{}", value)
                    where = where.replace("{where}", "orders-0")
                    query = "?group=shop" if path.endswith(("/group", "/translate/group")) else ""
                    self.ask("GET", where + query)
                    asked += 1
        return asked

    def sign_in(self) -> Answered:
        """Go to the provider and come back with a code."""
        begun = self.ask("GET", "/api/v1/login")
        cookie = begun.headers["set-cookie"].partition(";")[0]
        state = urllib.parse.parse_qs(urllib.parse.urlsplit(begun.headers["location"]).query)["state"][0]
        return self.ask("GET", f"/api/v1/login/done?code=made-up&state={state}", headers={"Cookie": cookie})


def contexts(secrets: Secrets, directory: Path, old: Simulated, new: Simulated) -> Mapping[str, Any]:
    """Clusters that can be reached by a secret of the environment and of a file, and such as cannot be."""

    def of(cluster: Simulated, **sasl: str) -> dict[str, Any]:
        entry = cluster.context()
        entry["security"]["sasl"] = {"mechanism": cluster.spec.listener.value, "username": "admin", **sasl}
        return entry

    def file(what: str, value: str | None = None) -> str:
        path = directory / f"{what}.secret"
        path.write_text(secrets.make(what) if value is None else value)
        return str(path)

    away = {"mechanism": "SCRAM-SHA-512", "username": "admin", "password_file": file("away")}
    idp = {"mechanism": "OAUTHBEARER", "token_url": "http://127.0.0.1:1/token", "client_id": "anabranch"}
    given = {"mechanism": "OAUTHBEARER", "token_file": file("given")}

    def secured(sasl: Mapping[str, str], servers: list[str]) -> dict[str, Any]:
        return {"bootstrap": servers, "security": {"protocol": "SASL_PLAINTEXT", "sasl": dict(sasl)}}

    return {
        "old": of(old, password_env="OLD_PASSWORD"),
        "new": of(new, password_file=file("new", secrets.known["new"])),
        "wrong": of(old, password_env="WRONG_PASSWORD"),
        "wrong-file": of(new, password_file=file("wrong-file")),
        "away": secured(away, ["127.0.0.1:1"]),
        "tokens": secured({**idp, "client_secret_env": "IDP_SECRET"}, old.bootstrap.split(",")),
        "given": secured(given, old.bootstrap.split(",")),
        "missing": of(old, password_env="NOT_THERE"),
    }


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """As long as it is there, nobody has foreseen what happens."""
    return tmp_path / "planted"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """What the process prints."""
    return tmp_path / "serve.log"


@pytest.fixture
def guarded(tmp_path: Path, planted: Path, log: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """The process, on PostgreSQL, with a provider, beside clusters that want passwords."""
    secrets = Secrets()
    for what in ("old", "new", "wrong", "idp", "provider", "store"):
        secrets.make(what)
    specs = [
        ClusterSpec(name, security=security, users={"admin": secrets.known[name]})
        for name, security in (("old", "PLAIN"), ("new", "SCRAM-SHA-512"))
    ]
    port = lease_ports(1)[0]
    with (
        postgres() as server,
        provider() as issuer,
        Simulated(specs[0], 1) as old,
        Simulated(specs[1], 2) as new,
        port,
    ):
        store = server.database()
        (tmp_path / "contexts.yaml").write_text(
            yaml.safe_dump({"version": 1, "contexts": dict(contexts(secrets, tmp_path, old, new))})
        )
        oidc = {"issuer": issuer, "client_id": "anabranch", "client_secret_env": "PROVIDER_SECRET"}
        oidc |= {"roles": {"people": "viewer"}}
        (tmp_path / "serve.yaml").write_text(yaml.safe_dump({"version": 1, "store": store, "oidc": oidc}))
        environment = {
            **os.environ,
            "OLD_PASSWORD": secrets.known["old"],
            "WRONG_PASSWORD": secrets.known["wrong"],
            "IDP_SECRET": secrets.known["idp"],
            "PROVIDER_SECRET": secrets.known["provider"],
            "PGPASSWORD": secrets.known["store"],
            "PLANTED": str(planted),
        }
        command = [sys.executable, "-c", _PROGRAM, "--contexts", str(tmp_path / "contexts.yaml")]
        command += ["serve", "--file", str(tmp_path / "serve.yaml"), "--port", str(port.port)]
        with log.open("ab") as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment)
        try:
            made = Guarded(port.port, process, secrets, "")
            until(made.answers)
            made.token = secrets.add("token", token_of(store))
            until(lambda: made.ask("GET", "/api/v1/me").json["acts"])
            yield made
            assert secrets.leaked(log.read_text(encoding="utf-8", errors="replace")) == []
            rows = _rows(store)
            assert secrets.leaked(rows) == [], "the store"
            assert LINK in rows
        finally:
            process.kill()
            process.wait()


def _rows(store: str) -> str:
    """All that a store holds."""
    database = open_database(store)
    try:
        with database.begin() as connection:
            return "\n".join(
                str(connection.execute(statement(f"SELECT * FROM {table}")).all()) for table in METADATA.tables
            )
    finally:
        database.close()


def _listened(guarded: Guarded, events: list[bytes]) -> None:
    """The event stream, until the service ends it."""
    connection = http.client.HTTPConnection("127.0.0.1", guarded.port, timeout=TIMEOUT_S)
    connection.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {guarded.token}"})
    stream = connection.getresponse()
    while line := stream.readline():
        events.append(line)
    connection.close()


def test_no_secret_is_told(guarded: Guarded, planted: Path, log: Path) -> None:
    """By links that are made, clusters that refuse, a provider that refuses, and errors that nobody foresaw."""
    secrets = guarded.secrets
    events: list[bytes] = []
    listener = threading.Thread(target=_listened, args=(guarded, events), daemon=True)
    listener.start()
    until(lambda: events)
    # all goes well
    link = {"id": LINK, "source": "old", "target": "new", "filter": {"include": ["orders.*"]}}
    until(lambda: guarded.apply("links/create", {"link": link})["state"] == "done")
    for verb in ("links/pause", "links/resume"):
        assert guarded.apply(verb, ON_LINK)["state"] == "done"
    guarded.ask("POST", "/api/v1/links/run/plan", ON_LINK)
    made = guarded.ask("POST", "/api/v1/tokens", {"account": "admin", "name": "robot"})
    secrets.add("robot", made.json["token"])
    guarded.told.pop()  # the one answer that tells it
    assert guarded.ask("POST", "/api/v1/session", {"token": secrets.known["robot"]}).status == 204
    guarded.told.pop()  # the cookie of the browser that has just sent it
    # nothing goes well
    for name in ("old", "wrong", "wrong-file", "away", "tokens", "given", "missing"):
        probe = guarded.ask("POST", f"/api/v1/clusters/{name}/probe")
        assert (probe.status == 200 and bool(probe.json["error"]) == (name != "old")) or probe.status in (422, 502), (
            name,
            probe.body,
        )
        guarded.ask("POST", "/api/v1/links/pause/plan", {"target": name, "link": LINK})
        guarded.ask("POST", "/api/v1/groups/create/plan", {"target": name, "group": "g", "topics": ["orders"]})
        other = {**link, "id": "other", "source": name}
        guarded.ask("POST", "/api/v1/links/create/plan", {"link": other})
    misplaced = secrets.known["robot"]
    for method, path, body in (
        ("GET", f"/api/v1/plans/{misplaced}", None),
        ("DELETE", f"/api/v1/tokens/{misplaced}", None),
        ("POST", "/api/v1/session", {"token": misplaced, "more": misplaced}),
        ("POST", "/api/v1/tokens", {"account": "nobody", "name": misplaced[:10], "days": misplaced}),
        ("POST", "/api/v1/links/pause/plan", {"target": "new", "link": LINK, "token": misplaced}),
    ):
        found = guarded.ask(method, path, body)
        assert found.status >= 400
    guarded.ask("GET", "/api/v1/me", headers={"Authorization": f"Basic {misplaced}"})
    refused = guarded.sign_in()
    assert refused.status == 502 and "invalid_client" in refused.body.decode()
    pair = f"anabranch:{secrets.known['provider']}"
    assert Provider.sent == [f"Basic {base64.b64encode(pair.encode()).decode()}"], "it was told to the provider alone"
    assert guarded.read_all() > 40
    # nobody has foreseen it
    planted.touch()
    assert guarded.ask("GET", "/api/v1/me").status == 500
    assert guarded.ask("POST", "/api/v1/session", {"token": misplaced}).status == 500
    planted.unlink()
    begun = guarded.ask("GET", "/api/v1/login")
    cookie = begun.headers["set-cookie"].partition(";")[0]
    state = urllib.parse.parse_qs(urllib.parse.urlsplit(begun.headers["location"]).query)["state"][0]
    planted.touch()
    done = f"/api/v1/login/done?code=made-up&state={state}"
    assert guarded.ask("GET", done, headers={"Cookie": cookie}).status == 500
    planted.unlink()
    until(lambda: log.read_text(encoding="utf-8", errors="replace").count("planted") >= 3)
    guarded.read_all()
    assert {where: found for where, told in guarded.told if (found := secrets.leaked(told))} == {}
    until(lambda: b"event: cluster\n" in events)
    guarded.process.send_signal(signal.SIGTERM)
    assert guarded.process.wait(TIMEOUT_S) == 0
    listener.join(TIMEOUT_S)
    heard = b"".join(events).decode()
    assert {"event: operation", "event: audit", "event: cluster", "event: ending"} <= set(heard.splitlines())
    assert secrets.leaked(heard) == []
    assert secrets.leaked("x" + urllib.parse.quote(secrets.known["old"]) + "x") == ["old"], "it would be seen"
