"""A stream of the catalog through the service and a real job: its grants are those of now, and its lineage is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.model.accounts import Role
from anabranch.model.clock import DAY_MS, now_ms
from anabranch.service.trial_process import start_trial
from anabranch.store.accounts import Accounts
from qa.service import Served, serving, until
from tests.integration.console import console
from tests.integration.streams.test_catalog import create, do, kind, planned

pytestmark = pytest.mark.full

NAME = "clicks"
DEFINED = """CREATE DATABASE shop;
CREATE TABLE shop.clicks USING `rate-micro-batch` OPTIONS (rowsPerBatch '5');
CREATE TABLE shop.sums (value BIGINT, twice BIGINT) USING console;
CREATE TABLE shop.ssn (ssn STRING) USING kafka OPTIONS (cluster 'main', topic 'ssn', format 'json');
CREATE VIEW shop.doubled AS SELECT value, value * 2 AS twice FROM shop.clicks;
"""
SCRIPT = "INSERT INTO shop.sums SELECT value, twice FROM shop.doubled WHERE value > 1"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A service with a catalog, and mei, who has saved a stream."""
    with serving(str(tmp_path / "store.db"), {}, tmp_path) as made:
        accounts, now = Accounts(made.instance.stored.database), now_ms()
        accounts.add("mei", Role.ADMIN, now)
        made.tokens["mei"] = accounts.issue("mei", "test", now, now + DAY_MS)[0]
        until(lambda: made.instance.acting.acts)
        create(made, "admin", DEFINED)
        stream(made, "mei", "create", stream=NAME, script=SCRIPT, restarts=0)
        accounts.set("mei", now, role=Role.OPERATOR)  # who saved it as an admin has the grants of what he is now
        yield made
        stream(made, "admin", "stop", stream=NAME)
        until(lambda: state(made) in ("stopped", "failed"))


def stream(served: Served, who: str, verb: str, **request: object) -> object:
    """Carry out a verb of streams."""
    plan = served.ask("POST", f"/api/v1/streams/{verb}/plan", request, role=who).json
    assert "id" in plan, plan
    begun = served.ask("POST", f"/api/v1/plans/{plan['id']}/apply", {"hash": plan["hash"]}, role=who)
    until(lambda: served.get(begun.headers["location"], who)["state"] != "running")
    ended = served.get(begun.headers["location"], who)
    return ended["problem"] or ended["report"]


def state(served: Served) -> str:
    """Of the stream."""
    return str(served.get(f"/api/v1/streams/{NAME}", "viewer")["stream"]["state"])


def why(served: Served) -> str:
    """Why it has failed, once it has."""
    until(lambda: state(served) == "failed")
    return str(served.get(f"/api/v1/streams/{NAME}", "viewer")["stream"]["why"])


def test_a_stream_has_the_grants_of_its_author_as_it_starts_and_tells_its_lineage(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused without a grant, run with it, shown, and refused again once it is taken back."""
    stream(served, "mei", "start", stream=NAME)
    assert why(served).startswith("mei may not read shop.doubled; may not write shop.sums (ask an owner, or an admin")
    assert kind(served.ask("GET", f"/api/v1/streams/{NAME}/lineage", role="viewer").json) == "no-lineage"
    for privilege, name in (("read", "shop.doubled"), ("read", "shop.clicks"), ("write", "shop.sums")):
        do(served, "admin", "grant", privilege=privilege, name=name, principal="user:mei")
    stream(served, "mei", "start", stream=NAME)
    until(lambda: state(served) == "running")
    _shows_lineage(served)
    _shows_on_the_command_line(served, tmp_path, monkeypatch, capsys)
    gone = DEFINED.split(";")[2].replace("CREATE", "CREATE OR REPLACE").replace(", twice BIGINT", "")
    assert "shop.sums" in create(served, "admin", gone, accept_breaking=True)["changed"][0]
    plan = planned(served, "admin", "drop", {"name": "shop.clicks"})["plan"]
    assert (plan["readers"], plan["writers"]) == ([NAME], [])
    plan = planned(served, "admin", "drop", {"name": "shop.sums"})["plan"]
    assert (plan["readers"], plan["writers"]) == ([], [NAME])
    do(served, "admin", "revoke", privilege="read", name="shop.clicks", principal="user:mei")
    stream(served, "mei", "restart", stream=NAME)
    assert why(served).startswith("mei may not read shop.clicks (ask an owner, or an admin, for a grant: `anabranch")
    Accounts(served.instance.stored.database).set("mei", now_ms(), disabled=True)
    stream(served, "admin", "start", stream=NAME)
    until(lambda: "is disabled or not there" in why(served))


def test_an_operator_saves_what_reads_and_writes_the_catalog(tmp_path: Path) -> None:
    """And nothing else; what an admin saved he tries as it is, with his own grants."""
    clusters = {"main": {"bootstrap": ["127.0.0.1:1"]}}
    free = "CREATE TABLE mine USING kafka OPTIONS (cluster 'main', topic 'free', format 'json');\n"
    into = "CREATE TABLE shown USING console;\nINSERT INTO shown SELECT value FROM STREAM {};\n"
    with serving(str(tmp_path / "store.db"), clusters, tmp_path, tries=start_trial) as made:
        until(lambda: made.instance.acting.acts)
        create(made, "admin", DEFINED)
        request = {"stream": "own", "script": free + into.format("mine")}
        found = made.ask("POST", "/api/v1/streams/create/plan", request, role="operator").json
        assert "detail" in found, found
        assert "the catalog has topic free of cluster main" in found["detail"]
        assert "catalog create" in found["hint"]
        stream(made, "admin", "create", **request)
        assert checked(made, {"stream": "own"})["state"] == "finished"
        request["script"] = into.format("shop.clicks")
        found = made.ask("POST", "/api/v1/streams/edit/plan", request, role="operator").json
        assert "may not read shop.clicks" in found["detail"] and "catalog grant" in found["hint"]
        do(made, "admin", "grant", privilege="read", name="shop.clicks", principal="user:operator")
        stream(made, "operator", "edit", **request)
        assert made.instance.stored.streams.version("own", 2).author == "operator"


def checked(served: Served, request: dict[str, str]) -> dict[str, object]:
    """A validation that an operator has asked for, once it is over."""
    trial = served.ask("POST", "/api/v1/trials", {"kind": "validation", **request}, role="operator").json
    until(lambda: served.get(f"/api/v1/trials/{trial['id']}", "operator")["ended_at_ms"] is not None)
    found: dict[str, object] = served.get(f"/api/v1/trials/{trial['id']}", "operator")
    return found


def _shows_lineage(served: Served) -> None:
    found = served.get(f"/api/v1/streams/{NAME}/lineage", "mei")
    (insert,) = found["inserts"]
    edges = {(one["source_table"], one["source_column"], one["target_column"], one["kind"]) for one in insert["edges"]}
    assert edges == {
        ("shop.clicks", "value", "value", "identity"),
        ("shop.clicks", "value", "twice", "transformation"),
        ("shop.clicks", "value", None, "filter"),
    }
    assert (found["version"], found["hidden"], insert["not_understood"]) == (1, [], [])
    told = served.get("/api/v1/lineage?column=shop.clicks.value", "mei")
    assert [(one["stream"], one["target"], one["columns"]) for one in told["readers"]] == [
        (NAME, "shop.sums", ["twice", "value"])
    ]
    assert (told["streams"], told["lost"]) == ([NAME], ["shop.sums.twice", "shop.sums.value"])
    hidden = served.get(f"/api/v1/streams/{NAME}/lineage", "viewer")
    assert hidden["hidden"] == ["shop.clicks", "shop.sums"] and hidden["inserts"][0]["edges"] == []
    assert kind(served.ask("GET", "/api/v1/lineage?column=shop.clicks.value", role="viewer").json) == "no-entry"
    (event,) = served.get(f"/api/v1/streams/{NAME}/lineage/openlineage", "mei")
    assert event["outputs"][0]["name"] == "shop.sums" and event["job"]["name"] == f"{NAME}.1"


def _shows_on_the_command_line(
    served: Served, directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANABRANCH_SERVICE", f"http://127.0.0.1:{served.port}")
    monkeypatch.setenv("ANABRANCH_TOKEN", served.tokens["mei"])
    run = console({}, directory, monkeypatch, capsys, "stream")
    code, out, err = run("lineage", NAME)
    assert code == 0 and "shop.clicks.value" in out and "shop.sums.twice" in out, err
    code, out, _ = run("lineage", "--column", "shop.clicks.value", "--impact")
    assert code == 0 and "without it break: clicks" in out and "lost: shop.sums.twice" in out
    code, out, _ = run("lineage", NAME, "--openlineage")
    assert code == 0 and '"columnLineage"' in out
    assert run("lineage")[0] == 2
