"""Trials of scripts in the service: limits, ends, and what is left of them: nothing.  The processes are stand-ins."""

from __future__ import annotations

import http.client
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from anabranch.operations.jobs.stream_launchers import LauncherFields, LauncherKind, launcher_of
from anabranch.service import trials
from anabranch.service.job_settings import JobSettings
from anabranch.service.rest.trials import MOST_SECONDS
from qa.service import Served, serving, until
from qa.stream_lab import stand_ins
from qa.timeouts import TIMEOUT_S

ROWS = "-- rows 5\nSELECT n FROM t"
WAITS = "-- wait {file}\nSELECT n FROM t"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A service whose trials are stand-ins."""
    with serving(str(tmp_path / "store.db"), {}, tmp_path) as made:
        until(lambda: made.instance.acting.acts)
        yield made
    assert left(tmp_path) == []


def ask(served: Served, script: str, kind: str = "preview", *, status: int = 202, **more: object) -> Any:
    """A trial of a script, as an admin."""
    found = served.ask("POST", "/api/v1/trials", {"kind": kind, "script": script, **more}, role="admin")
    assert found.status == status, found.body
    return found.json


def did(served: Served, verb: str, body: object) -> None:
    """Have a plan shown and applied, as an admin."""
    plan = served.ask("POST", f"/api/v1/{verb}/plan", body, role="admin")
    assert plan.status == 200, plan.body
    begun = served.ask("POST", f"/api/v1/plans/{plan.json['id']}/apply", {"hash": plan.json["hash"]}, role="admin")
    until(lambda: served.get(begun.headers["location"], "admin")["state"] == "done")


def look(served: Served, trial: str) -> Any:
    """A trial as it stands."""
    return served.get(f"/api/v1/trials/{trial}", "admin")


def ended(served: Served, trial: str) -> Any:
    """A trial once it is over."""
    until(lambda: look(served, trial)["ended_at_ms"] is not None)
    return look(served, trial)


def processes(root: Path) -> list[psutil.Process]:
    """Those of trials below a directory."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        is_of_trial = any(str(root / "jobs" / "trials") in word for word in process.info["cmdline"] or ())
        if is_of_trial and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def left(root: Path) -> list[str]:
    """What trials have left: processes and files."""
    found = os.walk(root / "jobs" / "trials")  # unlike a glob it passes over what is removed meanwhile
    files = [os.path.join(directory, name) for directory, below, names in found for name in (*below, *names)]
    return files + [str(one) for one in processes(root)]


def events(served: Served, trial: str, after: str = "") -> list[tuple[str, Any]]:
    """All events of a trial, until the last; kinds and data."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=TIMEOUT_S)
    headers = {"Authorization": f"Bearer {served.tokens['admin']}"} | ({"Last-Event-ID": after} if after else {})
    connection.request("GET", f"/api/v1/trials/{trial}/events", headers=headers)
    text = connection.getresponse().read().decode()
    connection.close()
    found = []
    for part in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in part.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


@pytest.mark.test
def test_rows_come_as_events_and_are_answered_again_for_a_while(served: Served, tmp_path: Path) -> None:
    """Columns, rows, the end; who asks the same gets the earlier rows, and who wants fresh ones another trial."""
    made = ask(served, ROWS, rows=5, select=1)
    told = events(served, made["id"])
    assert [row for kind, data in told if kind == "rows" for row in data["rows"]] == [[0], [1], [2], [3], [4]]
    kind, last = told[-1]
    assert (kind, last["state"], last["limit"], last["row_count"]) == ("ended", "finished", "rows", 5)
    assert last["columns"] == [{"name": "n", "type": "bigint"}] and last["rows"] == []
    again = events(served, made["id"], after="3")
    assert [data["from"] for kind, data in again if kind == "rows"] == [3]

    cached = ask(served, ROWS, rows=5, select=1, status=200)
    assert cached["id"] == made["id"] and cached["is_cached"] and cached["rows"][4] == [4]
    assert ask(served, ROWS, rows=5, select=1, fresh=True)["id"] != made["id"]
    until(lambda: left(tmp_path) == [])
    verbs = [entry["verb"] for entry in served.get("/api/v1/audit", "admin")]
    assert verbs.count("trial.preview") == 2


@pytest.mark.test
def test_a_saved_version_is_tried_on_its_streams_checkpoints(served: Served) -> None:
    """Its process is told where they are; a text has none, and what is known is asked again."""
    did(served, "streams/create", {"stream": "pv", "script": "-- run\nSELECT n FROM t"})
    where = served.get("/api/v1/streams/pv")["checkpoints"]
    asked = {"kind": "checkpoints", "stream": "pv", "version": 1}
    for _ in range(2):
        begun = served.ask("POST", "/api/v1/trials", asked, role="admin")
        assert begun.status == 202, begun.body
        (one,) = ended(served, begun.json["id"])["tried"]
        assert (one["query"], one["result"], one["why"]) == ("out", "new", [where])
    text = {"kind": "checkpoints", "stream": "pv", "script": "SELECT 1"}
    assert served.ask("POST", "/api/v1/trials", text, role="operator").status == 422
    nothing = served.ask("POST", "/api/v1/trials", {"kind": "checkpoints", "stream": "pv", "version": 7}, role="admin")
    assert (nothing.status, nothing.json["title"]) == (404, "no stream version")


@pytest.mark.full
def test_tables_of_attached_catalogs_are_listed_without_a_script(tmp_path: Path) -> None:
    """The names are of whoever has a privilege in them; what is in them is asked for in a process of its own."""
    settings = {"spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog"}
    more = {"spark.sql.catalog.db": "a.Class", "spark.sql.catalog.db.url": "x", "spark.cores.max": "2"}
    big = launcher_of("big", LauncherFields(LauncherKind.LOCAL, settings=more), settings)
    same = launcher_of("same", LauncherFields(LauncherKind.LOCAL), settings)
    jobs = JobSettings("local[2]", "local[2]", tmp_path / "jobs", settings, {"big": big, "same": same})
    with serving(str(tmp_path / "store.db"), {}, tmp_path, jobs=jobs) as served:
        until(lambda: served.instance.acting.acts)
        assert served.get("/api/v1/catalog/attached", "admin") == [
            {"name": "lake", "connector": "iceberg", "launcher": "default"},
            {"name": "db", "connector": "", "launcher": "big"},
        ]
        assert served.get("/api/v1/catalog/attached", "viewer") == []
        did(
            served,
            "catalog/grant",
            {"privilege": "read", "name": "lake.a.b", "on": "object", "principal": "user:viewer"},
        )
        assert [one["name"] for one in served.get("/api/v1/catalog/attached", "viewer")] == ["lake"]
        begun = served.ask("POST", "/api/v1/trials", {"kind": "tables"}, role="admin")
        assert ended(served, begun.json["id"])["rows"] == [["lake", "shop", "clicks", ""]]
        did(
            served, "catalog/grant", {"privilege": "read", "name": "db.a", "on": "database", "principal": "user:viewer"}
        )
        begun = served.ask("POST", "/api/v1/trials", {"kind": "tables", "launcher": "big"}, role="admin")
        assert ended(served, begun.json["id"])["state"] == "finished"
        told = served.instance.trials.get(begun.json["id"], "admin", is_admin=True)
        assert told.spec.catalog is not None and told.spec.catalog.attached == {"db": ""}
        process = served.instance.trials._settings(told.question)
        assert process == {**settings, **{key: value for key, value in more.items() if "catalog" in key}}
        nobody = served.ask("POST", "/api/v1/trials", {"kind": "tables", "launcher": "nobody"}, role="admin")
        assert nobody.status == 422 and "no launcher 'nobody'" in nobody.json["detail"]
        of_script = {"kind": "validation", "script": "SELECT 1", "launcher": "big"}
        assert served.ask("POST", "/api/v1/trials", of_script, role="admin").status == 422
        named = {"kind": "tables", "script": "SELECT 1"}
        assert served.ask("POST", "/api/v1/trials", named, role="admin").status == 422
        assert served.ask("POST", "/api/v1/trials", {"kind": "tables"}, role="viewer").status == 403


@pytest.mark.test
def test_a_trial_that_passes_over_sigterm_ends_with_its_children(served: Served, tmp_path: Path) -> None:
    """It is over for who listens at once; its process and the child of that are killed, and its files removed."""
    made = ask(served, "-- deaf\nSELECT 1", seconds=MOST_SECONDS)
    until(lambda: look(served, made["id"])["rows"])
    child = int(look(served, made["id"])["rows"][0][0])
    assert psutil.pid_exists(child)
    assert served.ask("DELETE", f"/api/v1/trials/{made['id']}", role="admin").status == 204
    assert look(served, made["id"])["state"] == "stopped"
    until(lambda: not psutil.pid_exists(child) and left(tmp_path) == [])
    assert served.ask("DELETE", f"/api/v1/trials/{made['id']}", role="admin").status == 204
    assert served.ask("GET", f"/api/v1/trials/{made['id']}", role="admin").status == 404


@pytest.mark.full
def test_only_a_few_run_at_once_and_the_others_wait_in_order(served: Served, tmp_path: Path) -> None:
    """Two previews and one validation; who waits is told how many are ahead, and goes on when one has ended."""
    gate = tmp_path / "gate"
    script = WAITS.format(file=gate)
    first = [ask(served, script, rows=number)["id"] for number in (1, 2)]
    waiting = [ask(served, script, rows=number)["id"] for number in (3, 4)]
    beside = ask(served, script, "validation")["id"]
    until(lambda: len(processes(tmp_path)) == 3)
    assert [look(served, one)["state"] for one in (*first, beside, *waiting)] == ["starting"] * 3 + ["waiting"] * 2
    assert [look(served, one)["ahead"] for one in waiting] == [0, 1]
    assert ask(served, script, rows=1, status=200)["id"] == first[0], "one that is under way is joined"

    assert served.ask("DELETE", f"/api/v1/trials/{waiting[0]}", role="admin").status == 204
    assert look(served, waiting[0])["state"] == "stopped"
    gate.touch()
    assert {ended(served, one)["state"] for one in (*first, beside)} == {"finished"}
    assert served.ask("DELETE", f"/api/v1/trials/{waiting[1]}", role="admin").status == 204
    until(lambda: left(tmp_path) == [])


@pytest.mark.full
def test_more_than_may_wait_are_refused(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks is told to ask again; a full queue is no reason to lose what waits."""
    monkeypatch.setattr(trials, "MOST_WAITING", 1)
    script = WAITS.format(file=tmp_path / "gate")
    for number in (1, 2, 3):
        ask(served, script, rows=number)
    refused = ask(served, script, rows=4, status=429)
    assert refused["retryable"] and "wait" in refused["detail"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("script", "condition", "exit_code", "said"),
    [
        ("-- die\nSELECT 1", "PROCESS_GONE", 5, "killed by SIGKILL"),
        ("-- memory\nSELECT 1", "OUT_OF_MEMORY", 3, "more memory"),
        ("-- away\nSELECT 1", "UNREACHABLE", 4, "cannot be reached"),
    ],
)
def test_a_trial_that_fails_says_why(served: Served, script: str, condition: str, exit_code: int, said: str) -> None:
    """With what to do; such an answer is not given a second time."""
    made = ask(served, script)
    found = ended(served, made["id"])
    (problem,) = found["problems"]
    assert found["state"] == "failed" and said in found["why"]
    assert (problem["condition"], problem["exit_code"]) == (condition, exit_code)
    assert problem["hint"] and problem["statement"] is None
    assert ask(served, script)["id"] != made["id"]


@pytest.mark.full
def test_a_trial_whose_process_somebody_kills_or_ends_says_so(served: Served, tmp_path: Path) -> None:
    """SIGKILL and SIGTERM from elsewhere both make it fail: its rows are not all that there were."""
    for number in (signal.SIGKILL, signal.SIGTERM):
        made = ask(served, ROWS, fresh=True)
        until(lambda: look(served, made["id"])["row_count"] == 5)  # noqa: B023
        (process,) = processes(tmp_path)
        os.kill(process.pid, number)
        found = ended(served, made["id"])
        assert found["state"] == "failed" and "its process is gone" in found["why"]
        assert found["row_count"] == 5
        until(lambda: left(tmp_path) == [])


@pytest.mark.full
def test_a_trial_that_nobody_listens_to_is_ended(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is listened to goes on; a listener that leaves counts no more."""
    made = ask(served, ROWS)
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=TIMEOUT_S)
    headers = {"Authorization": f"Bearer {served.tokens['admin']}"}
    connection.request("GET", f"/api/v1/trials/{made['id']}/events", headers=headers)
    connection.getresponse().readline()
    monkeypatch.setattr(trials, "UNHEARD_S", 0.5)
    other = ask(served, ROWS, rows=7)
    until(lambda: left(tmp_path) and len(processes(tmp_path)) == 1)
    connection.close()
    until(lambda: left(tmp_path) == [])
    assert [look(served, one["id"])["why"] for one in (made, other)] == ["nobody listens any more"] * 2


@pytest.mark.full
def test_one_that_takes_too_long_is_ended(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its process does."""
    monkeypatch.setattr(trials, "START_S", -59.0)
    found = ended(served, ask(served, WAITS.format(file=tmp_path / "gate"))["id"])
    assert found["state"] == "failed" and found["problems"][0]["condition"] == "TOO_LATE"
    until(lambda: left(tmp_path) == [])


@pytest.mark.test
def test_nothing_of_a_trial_outlives_a_service_that_is_killed(tmp_path: Path) -> None:
    """Its processes end with it; the next service removes its files."""
    with stand_ins(tmp_path) as lab:
        service = lab.serve(str(tmp_path / "store.db"))
        status, made = service.ask("POST", "/api/v1/trials", {"kind": "preview", "script": ROWS})
        assert status == 202
        until(lambda: service.get(f"/api/v1/trials/{made['id']}")["row_count"] == 5)
        assert processes(service.directory)
        service.kill()
        until(lambda: not processes(service.directory))
        service = lab.serve(str(tmp_path / "store.db"))
        until(lambda: left(service.directory) == [])
        assert service.ask("GET", f"/api/v1/trials/{made['id']}")[0] == 404


@pytest.mark.full
def test_a_script_that_is_refused_is_not_saved(tmp_path: Path) -> None:
    """It is told with its place; where that cannot be known it is not saved either, and one that is right is."""
    with stand_ins(tmp_path) as lab:
        service = lab.serve(str(tmp_path / "store.db"))
        wrong = "-- refuse\nSELECT 1;\n  SELECT n FROM absent"
        status, problem = service.plan("create", stream="pv", script=wrong)
        assert (status, problem["title"], problem["exit_code"]) == (422, "script refused", 2)
        assert problem["place"] == {"statement": 2, "line": 3, "column": 3, "excerpt": "  SELECT n FROM absent\n  ^"}
        status, problem = service.plan("create", stream="pv", script="-- die\nSELECT 1")
        assert (status, problem["title"]) == (409, "not validated") and problem["retryable"]

        status, plan = service.plan("create", stream="pv", script=ROWS)
        assert status == 200
        (query,) = plan["plan"]["queries"]
        assert (query["query"], query["connector"], query["mode"]) == ("out", "console", "append")
        assert service.done("create", stream="pv", script=ROWS)["version"] == 1
        assert service.plan("edit", stream="pv", script=wrong)[0] == 422
        assert service.plan("edit", stream="pv", restarts=1)[0] == 200

        status, made = service.ask("POST", "/api/v1/trials", {"kind": "validation", "stream": "pv"})
        assert status == 200 and made["is_cached"], "what was saved was validated"
        assert made["analysed"]["tables"][0] == {"name": "out", "line": 1, "connector": "console", "columns": []}
