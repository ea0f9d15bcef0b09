"""`anabranch route` against the service as a process: the how-tos as they are typed, and what is refused."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from anabranch.sandbox.ports import lease_ports
from qa.service import Answered, until
from qa.timeouts import TIMEOUT_S
from tests.integration.console import Run, console

pytestmark = pytest.mark.test

EXAMPLES = Path(__file__).parents[3] / "examples" / "routes"
CLUSTERS = ("old", "new", "north", "south", "primary", "replica", "cluster_a", "cluster_a1")


@dataclass
class Serving:
    """The service as a process, with a token of an approver and one of an application."""

    port: int
    store: str
    run: Run
    approver: str = ""
    application: str = ""

    def ask(self, method: str, path: str, body: object = None, token: str = "") -> Answered:
        """Ask as the application, or with another token; raises OSError."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            headers = {"Authorization": f"Bearer {token or self.application}", "Content-Type": "application/json"}
            connection.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return Answered(answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def acts(self) -> bool:
        """Whether it does."""
        try:
            return bool(self.ask("GET", "/me", token=self.approver).json["acts"])
        except OSError:
            return False

    def register(self, role: str, group: str = "", code: str = "orders", host: str = "host-1", **own: str) -> str:
        """A client of the application; returns its id."""
        client = uuid.uuid4().hex
        facts = {"application": "shop", "host": host, "pid": 42, "sdk": "0.1"}
        body = {"code": code, "role": role, "topics": ["sales"], "group": group, "client_id": "", "parameters": own}
        found = self.ask("PUT", f"/clients/{client}", {**body, "facts": facts})
        assert found.status == 200, found.body
        return client

    def token(self, name: str, role: str) -> str:
        """Make an account and a token as the how-to does."""
        made = self.run("account", "add", name, "--role", role, "--store", self.store)
        assert made[0] == 0, made
        code, out, err = self.run("token", "create", name, "--store", self.store)
        assert code == 0, err
        return out.strip()


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Serving]:
    """A service that has no route table yet; its clusters are away, which routes need not know."""
    for file in EXAMPLES.glob("*.yaml"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    contexts = {name: {"bootstrap": ["127.0.0.1:1"]} for name in CLUSTERS}
    run = console(contexts, tmp_path, monkeypatch, capsys)
    store, log = str(tmp_path / "store.db"), tmp_path / "serve.log"
    (lease,) = lease_ports(1)
    with lease, log.open("wb") as out:
        command = [sys.executable, "-m", "anabranch", "--contexts", str(tmp_path / "contexts.yaml"), "serve"]
        command += ["--store", store, "--port", str(lease.port)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            made = Serving(lease.port, store, run)
            made.approver, made.application = made.token("mei", "approver"), made.token("shop", "client")
            monkeypatch.setenv("ANABRANCH_TOKEN", made.approver)
            monkeypatch.setenv("ANABRANCH_SERVICE", f"http://127.0.0.1:{lease.port}")
            until(lambda: process.poll() is not None or made.acts())
            assert process.poll() is None, log.read_text(encoding="utf-8")
            yield made
        finally:
            process.kill()
            process.wait()


def applied(served: Serving, name: str, reason: str = "a test") -> str:
    """Apply an example by its file; returns what was shown."""
    code, out, err = served.run("route", "apply", "-f", f"{name}.yaml", "--reason", reason, "--at-once", "--execute")
    assert code == 0, err
    return out


def planned(served: Serving, name: str) -> tuple[str, str]:
    """What a dry run shows, and the hash of its plan."""
    code, out, err = served.run("route", "apply", "-f", f"{name}.yaml", "--reason", "a test", "--at-once")
    assert code == 0, err
    hash_ = re.search(r"--execute --plan ([0-9a-f]{16})", err)
    assert hash_ is not None, err
    return out, hash_[1]


def begins(text: str, line: str) -> bool:
    """Whether a line begins with these words, however wide its columns are."""
    return any(" ".join(row).startswith(line) for row in rows(text))


def rows(text: str) -> list[list[str]]:
    """Lines as their words."""
    return [line.split() for line in text.splitlines()]


def test_a_code_is_published_and_an_application_found_where_it_leads(served: Serving) -> None:
    """docs/how-to/route-applications.md, from the first dry run to the list of clients."""
    shown, hash_ = planned(served, "applications")
    assert begins(shown, "added code orders cluster old") and "version 0 -> 1" in shown
    assert served.run("route", "versions", "-o", "json")[1].strip() == "[]"
    again = (
        "route",
        "apply",
        "-f",
        "applications.yaml",
        "--reason",
        "a test",
        "--at-once",
        "--execute",
        "--plan",
        hash_,
    )
    code, out, err = served.run(*again)
    assert code == 0 and "done: version 1 of the route table applies" in out, err
    code, out, _ = served.run("route", "show")
    assert code == 0 and " by mei: a test" in out and "ask team shop" in out
    client = served.register("consumer", "billing")
    code, out, _ = served.run("route", "clients", "--code", "orders")
    assert code == 0 and "1 of 1 that match, 1 are registered; 0 stale" in out
    row = next(row for row in rows(out) if row[0] == "shop")
    assert row[:5] == ["shop", "host-1:42", "billing", "orders", "old"]
    code, out, _ = served.run("route", "explain", "orders", "--group", "billing", "--topic", "orders")
    assert code == 0 and "code orders leads to cluster old by no rule, since version 1" in out
    (told,) = json.loads(served.run("route", "clients", "-o", "json")[1])["clients"]
    assert (told["id"], told["cluster"], told["live"]) == (client, "old", True)


def test_a_migration_moves_whom_it_names(served: Serving) -> None:
    """docs/how-to/route-migration.md: each plan says who moves, each step is a version, and a rollback is one."""
    applied(served, "applications")
    served.register("consumer", "billing-reports")
    served.register("consumer", "billing")
    served.register("producer")
    shown, _ = planned(served, "migration-pilot")
    assert begins(shown, "added rule pilot")
    assert ["group", "billing-reports", "old", "new", "1", "host-1:42"] in rows(shown)
    assert "1 registered client changes, 2 stay as they are" in shown
    assert "to go back: anabranch route rollback 1" in applied(served, "migration-pilot", "pilot on new")
    shown = applied(served, "migration-readers")
    assert ["group", "billing", "old", "new", "1", "host-1:42"] in rows(shown)
    shown = applied(served, "migration-done")
    assert ["producers", "of", "shop", "old", "new", "1", "host-1:42"] in rows(shown)
    code, out, err = served.run("route", "rollback", "1", "--reason", "pilot failed", "--at-once")
    assert code == 0 and "3 registered clients change" in out, err
    assert begins(out, "changed code orders cluster old")
    code, out, err = served.run("route", "rollback", "1", "--reason", "pilot failed", "--at-once", "--execute")
    assert code == 0 and "done: version 5" in out, err
    assert [row[0] for row in rows(served.run("route", "versions")[1])[1:]] == ["5", "4", "3", "2", "1"]
    assert "pilot on new" in served.run("route", "show", "2")[1]
    code, out, _ = served.run("route", "show", "2", "--out", "two.yaml")
    two, pilot = (yaml.safe_load(Path(name).read_text()) for name in ("two.yaml", "migration-pilot.yaml"))
    assert two["codes"] == pilot["codes"] and two["rules"] == pilot["rules"]


def test_who_does_not_follow_a_change_yet_is_listed(served: Serving) -> None:
    """By what each client has said; one that a change does not concern is never behind."""
    applied(served, "applications")
    mover, other = served.register("consumer", "billing-reports"), served.register("consumer", "billing")

    def reports(client: str, version: int) -> None:
        found = served.ask("POST", f"/clients/{client}/report", {"version": version, "lag": 1234})
        assert found.status == 200, found.body

    def behind() -> list[list[str]]:
        code, out, err = served.run("route", "clients", "--behind")
        assert code == 0, err
        return [row for row in rows(out) if row[0] == "shop"]

    assert behind() == [], "a registration is told its route"
    for client in (mover, other):
        reports(client, 1)
    applied(served, "migration-pilot")
    assert [row[:8] for row in behind()] == [
        ["shop", "host-1:42", "billing-reports", "orders", "new", "1", "behind", "1,234"]
    ]
    reports(mover, 2)
    assert behind() == []


def test_one_change_moves_a_site(served: Serving) -> None:
    """docs/how-to/route-disaster-recovery.md, with both steps of the way."""
    applied(served, "disaster-recovery")
    served.register("consumer", "billing")
    served.register("consumer", "gates", "flights")
    code, out, _ = served.run("route", "explain", "orders")
    assert code == 0 and "code orders: no rule matches, the code decides: code site-north" in out
    assert "code site-north: no rule matches, the code decides: cluster north" in out
    shown = applied(served, "disaster-recovery-north-lost", "north is lost")
    assert begins(shown, "changed code site-north cluster south cluster north")
    assert "1 registered client changes, 1 stays as they are" in shown
    code, _, err = served.run("route", "rollback", "1", "--reason", "north is back", "--at-once", "--execute")
    assert code == 0, err


def test_reports_are_led_to_the_copy_under_its_names(served: Serving) -> None:
    """docs/how-to/route-read-write-split.md."""
    applied(served, "read-write-split")
    out = served.run("route", "explain", "orders", "--group", "report-sales", "--topic", "sales")[1]
    assert "leads to cluster replica by rule reports" in out and "may only read" in out
    assert "topic sales is called primary.sales there" in out
    for more in (("--group", "billing"), ("--role", "producer")):
        out = served.run("route", "explain", "orders", *more, "--topic", "sales")[1]
        assert "leads to cluster primary by no rule" in out and "may read and write" in out


def test_the_consumer_of_job_1234_is_led_to_a_cluster_of_its_own(served: Serving) -> None:
    """docs/how-to/route-isolate-an-application.md, and why another job's is not."""
    applied(served, "isolate-an-application")
    served.register("consumer", "enrich-1234", job_id="1234")
    explain = ("route", "explain", "orders")
    out = served.run(*explain, "--group", "enrich-1234", "--param", "job_id=1234")[1]
    assert "leads to cluster cluster_a1 by rule job-1234" in out
    out = served.run(*explain, "--group", "enrich-1235", "--param", "job_id=1235")[1]
    assert "leads to cluster cluster_a by no rule" in out
    assert "its group is 'enrich-1235', not enrich-1234, its parameters.job_id is '1235', not 1234" in " ".join(
        out.split()
    )
    out = served.run("route", "clients", "--cluster", "cluster_a1")[1]
    assert "1 of 1 that match" in out
    assert "no client matches" in served.run("route", "clients", "--cluster", "cluster_a")[1]


def test_what_would_do_harm_is_refused_with_every_reason(served: Serving, tmp_path: Path) -> None:
    """Overlapping rules, a cluster that is none, a split group, an unknown code; nothing is published."""
    applied(served, "applications")
    for host in ("host-1", "host-2"):
        served.register("consumer", "billing", host=host, site=host)

    def refused(codes: Any, *rules: Any) -> str:
        (tmp_path / "bad.yaml").write_text(yaml.safe_dump({"codes": codes, "rules": list(rules)}))
        code, out, err = served.run("route", "apply", "-f", "bad.yaml", "--reason", "r", "--at-once", "--execute")
        assert code in (2, 3) and out == "", err
        return err

    codes = {"orders": {"cluster": "old"}}
    to = {"cluster": "new"}
    one, two = ({"name": name, "match": {"group": group}, "to": to} for name, group in (("a", "b*"), ("b", "*g")))
    told = refused({**codes, "x": {"cluster": "nowhere"}, "y": {"code": "y"}}, one, two)
    for part in ("rules 'a' and 'b' have priority 0", "'nowhere', which is no context", "y -> y lead to each other"):
        assert part in told
    split = {"name": "half", "match": {"parameters": {"site": "host-1"}}, "to": to}
    told = refused(codes, split)
    assert "group billing would be split: 1 on new" in told and "host-1, pid 42" in told
    assert "there is no cluster code 'orders'" in refused({"payments": {"cluster": "old"}})
    code, out, err = served.run("route", "explain", "nowhere")
    assert code == 3 and "refused: there is no cluster code 'nowhere'" in out and "hint: " in err
    assert len(json.loads(served.run("route", "versions", "-o", "json")[1])) == 1
    code, _, err = served.run("route", "show", "7")
    assert code == 3 and "hint: " in err


def test_who_may_not_is_told_so(served: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator plans and does not apply; an application sees no table; a revoked token is nobody's."""
    operator = served.token("ops", "operator")
    monkeypatch.setenv("ANABRANCH_TOKEN", operator)
    planned(served, "applications")
    code, _, err = served.run("route", "apply", "-f", "applications.yaml", "--reason", "r", "--at-once", "--execute")
    assert code == 3 and "ops has the role operator; this needs approver" in err
    monkeypatch.setenv("ANABRANCH_TOKEN", served.application)
    code, _, err = served.run("route", "show")
    assert code == 3 and "shop has the role client; this needs viewer" in err
    (token,) = json.loads(served.run("token", "list", "--account", "ops", "--store", served.store, "-o", "json")[1])
    assert served.run("token", "revoke", token["id"], "--store", served.store)[0] == 0
    monkeypatch.setenv("ANABRANCH_TOKEN", operator)
    code, _, err = served.run("route", "show")
    assert code == 3 and "error: not signed in" in err and "hint: anabranch token create ACCOUNT" in err


def test_a_plan_that_no_longer_holds_is_not_applied(served: Serving) -> None:
    """Somebody published meanwhile; that clients came does not matter."""
    applied(served, "applications")
    _, hash_ = planned(served, "migration-pilot")
    served.register("consumer", "billing")
    assert planned(served, "migration-pilot")[1] == hash_
    applied(served, "migration-readers")
    apply = (
        "route",
        "apply",
        "-f",
        "migration-pilot.yaml",
        "--reason",
        "a test",
        "--at-once",
        "--execute",
        "--plan",
        hash_,
    )
    code, _, err = served.run(*apply)
    assert code == 3 and f"the route table changed since plan {hash_}" in err and "look again: " in err


def test_a_table_that_is_published_already_is_not_published_again(served: Serving) -> None:
    """There is nothing to apply."""
    applied(served, "applications")
    code, out, err = served.run("route", "apply", "-f", "applications.yaml", "--reason", "r", "--at-once", "--execute")
    assert (code, "no code and no rule changes" in out) == (0, True), err
    assert len(json.loads(served.run("route", "versions", "-o", "json")[1])) == 1
