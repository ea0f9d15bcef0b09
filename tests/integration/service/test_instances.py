"""Instances as processes: killed, restarted, two at once, on each store; TLS; stores that do not answer."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
import trustme
import yaml

from anabranch.model.accounts import Role
from anabranch.model.clock import now_ms
from anabranch.sandbox.ports import lease_ports
from anabranch.store.accounts import Accounts
from anabranch.store.database import open_database
from qa.postgres import Postgres, postgres
from qa.service import Answered, Served, serving, until
from qa.timeouts import TIMEOUT_S
from tests.integration.console import console
from tests.unit.link_lab import LINK, Lab, lab

pytestmark = pytest.mark.test

ON_LINK = {"target": "new", "link": LINK}


@pytest.fixture
def both() -> Iterator[Lab]:
    """Two simulated clusters, which are asked over sockets as real ones are."""
    with lab() as made:
        yield made


@pytest.fixture
def ports() -> Iterator[tuple[int, int]]:
    """Two that nobody else takes, also while an instance is down."""
    first, second = lease_ports(2)
    with first, second:
        yield first.port, second.port


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """One PostgreSQL."""
    with postgres() as running:
        yield running


@dataclass
class Process:
    """`anabranch serve` as a process."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    token: str
    tls: ssl.SSLContext | None = None

    def ask(self, method: str, path: str, body: object = None) -> Answered:
        """Ask as an admin; raises OSError."""
        if self.tls is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        else:
            connection = http.client.HTTPSConnection("localhost", self.port, timeout=TIMEOUT_S, context=self.tls)
        try:
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return Answered(answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """What is answered."""
        found = self.ask("GET", path)
        assert found.status == 200, found.body
        return found.json

    def answers(self) -> bool:
        """Whether it does yet."""
        assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
        try:
            return self.ask("GET", "/healthz").status == 200
        except OSError:
            return False

    def acts(self) -> bool:
        """Whether it acts."""
        return bool(self.get("/api/v1/me")["acts"])

    def pause(self) -> str:
        """The operation of an applied plan."""
        plan = self.ask("POST", "/api/v1/links/pause/plan", ON_LINK)
        assert plan.status == 200, plan.body
        begun = self.ask("POST", f"/api/v1/plans/{plan.json['id']}/apply", {"hash": plan.json["hash"]})
        assert begun.status == 202, begun.body
        return str(begun.json["id"])


def token_of(store: str) -> str:
    """An admin's."""
    database = open_database(store)
    try:
        accounts, now = Accounts(database), now_ms()
        if accounts.first("admin", now) is None and "admin" not in {one.name for one in accounts.all()}:
            accounts.add("admin", Role.ADMIN, now)
        return accounts.issue("admin", "test", now, now + 3_600_000)[0]
    finally:
        database.close()


@contextmanager
def instance(both: Lab, store: str, directory: Path, port: int, *flags: str, tls: Any = None) -> Iterator[Process]:
    """An instance; killed at the end where it has not ended."""
    contexts = directory / "contexts.yaml"
    entries = {"old": both.here.context(), "new": both.there.context()}
    contexts.write_text(yaml.safe_dump({"version": 1, "contexts": entries}), encoding="utf-8")
    log = directory / f"serve-{port}.log"
    command = [sys.executable, "-m", "anabranch", "--contexts", str(contexts), "serve", "--store", store]
    with log.open("ab") as out:
        process = subprocess.Popen(
            [*command, "--port", str(port), *flags], stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    try:
        made = Process(process, port, log, token_of(store), tls)
        until(made.answers)
        yield made
    finally:
        process.kill()
        process.wait()


@contextmanager
def here(both: Lab, store: str, directory: Path) -> Iterator[Served]:
    """An instance in a thread of this process, which acts: for what needs no process to be killed."""
    with serving(store, {"old": both.here.context(), "new": both.there.context()}, directory) as served:
        until(lambda: served.instance.acting.acts)
        yield served


def test_a_killed_instance_is_restarted_and_knows_what_was_lost(
    both: Lab, ports: tuple[int, int], tmp_path: Path
) -> None:
    """What it had begun is told as lost at once, not as running; plans and audit are there; it acts again at once."""
    store, port = str(tmp_path / "store.db"), ports[0]
    with instance(both, store, tmp_path, port) as first:
        until(first.acts)
        plan = first.ask("POST", "/api/v1/links/pause/plan", ON_LINK).json
        for broker in both.there.brokers:
            broker.pause()
        begun = first.ask("POST", f"/api/v1/plans/{plan['id']}/apply", {"hash": plan["hash"]}).json
        os.kill(first.process.pid, signal.SIGKILL)
        first.process.wait()
    for broker in both.there.brokers:
        broker.resume()
    with instance(both, store, tmp_path, port) as again:
        until(again.acts)
        lost = again.get(f"/api/v1/operations/{begun['id']}")
        assert (lost["state"], lost["problem"]["title"]) == ("lost", "operation lost")
        assert again.get(f"/api/v1/plans/{plan['id']}")["operation"] == begun["id"]
        assert [one["outcome"] for one in again.get("/api/v1/audit")] == ["lost", "started"]
        done = again.pause()
        until(lambda: again.get(f"/api/v1/operations/{done}")["state"] == "done")


def test_sigterm_ends_it_in_good_order(both: Lab, ports: tuple[int, int], tmp_path: Path) -> None:
    """Also while somebody listens: exit code 0, and the lease given back."""
    store = str(tmp_path / "store.db")
    with instance(both, store, tmp_path, ports[0]) as served:
        until(served.acts)
        stream = http.client.HTTPConnection("127.0.0.1", served.port, timeout=TIMEOUT_S)
        stream.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {served.token}"})
        assert stream.getresponse().readline() == b"event: open\n"
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(TIMEOUT_S) == 0
        assert "Traceback" not in served.log.read_text(encoding="utf-8")
    with sqlite3.connect(store) as connection:
        assert connection.execute("SELECT until FROM leases WHERE name = 'acting'").fetchone() == (0,)


def test_of_two_instances_one_acts_and_the_other_says_so(
    both: Lab, server: Postgres, ports: tuple[int, int], tmp_path: Path
) -> None:
    """Both show; the second refuses to apply with the first one's name, and acts when that one is killed."""
    store = server.database()
    with ExitStack() as stack:
        first, second = (stack.enter_context(instance(both, store, tmp_path, port)) for port in ports)
        until(lambda: first.acts() or second.acts())
        acting, showing = (first, second) if first.acts() else (second, first)
        name = acting.get("/api/v1/me")["instance"]
        until(lambda: showing.get("/api/v1/me")["holder"] == name)
        assert not showing.acts()
        assert name in showing.get("/readyz")["why"]
        plan = showing.ask("POST", "/api/v1/links/pause/plan", ON_LINK).json
        refused = showing.ask("POST", f"/api/v1/plans/{plan['id']}/apply", {"hash": plan["hash"]})
        assert (refused.status, refused.json["title"]) == (409, "not acting")
        assert name in refused.json["detail"]
        done = acting.ask("POST", f"/api/v1/plans/{plan['id']}/apply", {"hash": plan["hash"]})
        assert done.status == 202
        until(lambda: showing.get(f"/api/v1/operations/{done.json['id']}")["state"] == "done")
        acting.process.kill()
        acting.process.wait()
        until(showing.acts)
        begun = showing.pause()
        until(lambda: showing.get(f"/api/v1/operations/{begun}")["state"] == "done")


def test_it_serves_tls_and_refuses_to_listen_for_others_without(
    both: Lab,
    ports: tuple[int, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A certificate, or the loopback; a key that is not the certificate's is named."""
    authority = trustme.CA()
    made = authority.issue_cert("localhost", "127.0.0.1")
    chain, key, other = tmp_path / "chain.pem", tmp_path / "key.pem", tmp_path / "other.pem"
    made.cert_chain_pems[0].write_to_path(str(chain))
    made.private_key_pem.write_to_path(str(key))
    authority.issue_cert("x.example").private_key_pem.write_to_path(str(other))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    flags = ("--certificate", str(chain), "--key", str(key))
    with instance(both, str(tmp_path / "store.db"), tmp_path, ports[0], *flags, tls=context) as served:
        assert served.get("/api/v1/me")["account"] == "admin"

    run = console({}, tmp_path, monkeypatch, capsys, "serve")

    def refused(*more: str) -> str:
        code, out, err = run("--store", str(tmp_path / "other.db"), "--port", "0", *more)
        assert code == 2, out + err
        return err

    assert "there is no certificate" in refused("--host", "0.0.0.0")
    assert "cannot be used" in refused("--certificate", str(chain), "--key", str(other))
    assert "go together" in refused("--certificate", str(chain))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert "cannot listen" in refused("--port", str(taken.getsockname()[1]))


def test_a_store_that_is_locked_refuses_and_nothing_is_half_done(both: Lab, tmp_path: Path) -> None:
    """While another program holds it; what is asked afterwards is answered."""
    store = tmp_path / "store.db"
    with here(both, str(store), tmp_path) as served:
        plan = served.ask("POST", "/api/v1/links/pause/plan", ON_LINK, role="admin").json
        holder = sqlite3.connect(store, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        applied = f"/api/v1/plans/{plan['id']}/apply", {"hash": plan["hash"]}
        refused = served.ask("POST", *applied, role="admin")
        assert refused.status == 503, refused.body
        assert refused.json["retryable"]
        assert served.ask("GET", "/readyz").status == 503
        assert served.ask("GET", "/healthz").status == 200
        holder.execute("ROLLBACK")
        holder.close()
        until(lambda: served.ask("GET", "/readyz").status == 200)
        assert served.get("/api/v1/operations") == []
        assert served.get(f"/api/v1/plans/{plan['id']}")["operation"] is None


def test_a_database_that_is_away_comes_back(both: Lab, server: Postgres, tmp_path: Path) -> None:
    """Its connections are ended by the server: the next question is answered again."""
    store = server.database()
    with here(both, store, tmp_path) as served:
        with psycopg.connect(server.uri, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                (store.rpartition("/")[2].partition("?")[0],),
            )
        until(lambda: served.ask("GET", "/readyz").status == 200)
        assert served.get("/api/v1/me", "admin")["account"] == "admin"
