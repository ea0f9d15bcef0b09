"""A machine that is not heard of: its streams are lost, a person gives one up, and another machine starts it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from sqlalchemy import update

from anabranch.config.streamspec import StreamRunSpec
from anabranch.operations.jobs import outcome
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.jobs.stream_launchers import StreamLauncher
from anabranch.operations.jobs.streamjob import events_of
from anabranch.service import acting, machines, streaming
from anabranch.store.leases import of_machine
from anabranch.store.tables import LEASES
from anabranch.streams.alerts.jobs import AlertedJob
from anabranch.streams.alerts.standing import AlertState
from anabranch.streams.kept import StoredStream, StoredStreamRun
from anabranch.streams.states import StreamState, StreamWanted
from anabranch.streams.versions import StreamSettings, StreamVersion
from qa.service import Served, serving, until
from tests.unit.service.test_alerts_of_links import looked
from tests.unit.service.test_changes import did

pytestmark = pytest.mark.test
NAME = "pv-uv"
RUNS = "import time; time.sleep(600)"
Jobs = dict[str, subprocess.Popen[bytes]]


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    """The processes that were started, by run; machines vouch often."""
    monkeypatch.setattr(acting, "RENEW_S", 0.5)
    monkeypatch.setattr(machines, "VOUCH_S", 0.05)
    monkeypatch.setattr(streaming, "LOOK_S", 0.05)
    started: Jobs = {}
    yield started
    for one in started.values():
        one.kill()
        one.wait()


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine sees the processes of another one, though here all are of one."""
    monkeypatch.setattr(machines.Machines, "_adopt", lambda _: None)


@contextmanager
def on(host: str, store: str, directory: Path, jobs: Jobs, code: str = RUNS) -> Iterator[Served]:
    """The service on a machine of that name, whose jobs are this Python; by default it runs until it is to end."""

    def start(spec: StreamRunSpec, _: StreamLauncher, place: Path) -> StartedJob:
        place.mkdir(parents=True, exist_ok=True)
        with events_of(place, spec.run).open("w", encoding="utf-8") as events:
            events.write(json.dumps({"event": "started", "queries": []}) + "\n")
        command = [sys.executable, "-c", code, str(place / f"{spec.run}.json")]
        jobs[spec.run] = process = subprocess.Popen(command, start_new_session=True)
        return StartedJob(spec.run, place / f"{spec.run}.log", process)

    own = directory / host
    own.mkdir(exist_ok=True)
    with ExitStack() as stack:
        with patch("socket.gethostname", lambda: host):
            made = stack.enter_context(serving(store, {}, own, name=f"on {host}"))
        made.instance.streaming._start = start
        until(lambda: made.instance.acting.holder)
        yield made


def a_stream(served: Served) -> None:
    """Keep a stream."""
    made = StoredStream(NAME, 1, "operator", "", 1, 1, 0, StreamWanted.STOPPED, StreamState.DRAFT, "", 1, 0, 0)
    script = StreamVersion(1, 1, "admin", "", "SELECT 1", StreamSettings())
    served.instance.stored.streams.add(made, script)


def a_stream_that_runs(served: Served) -> StoredStreamRun:
    """Keep a stream, and have it run."""
    a_stream(served)
    did(served, "streams/start", {"stream": NAME})
    return runs_now(served, 1)


def runs_now(served: Served, fence: int) -> StoredStreamRun:
    """Its open run, once the start of that number runs."""
    streams = served.instance.stored.streams

    def runs() -> bool:
        run = streams.open_run(NAME)
        return streams.get(NAME).state is StreamState.RUNNING and run is not None and run.fence == fence

    until(runs)
    run = streams.open_run(NAME)
    assert run is not None
    return run


def silence(served: Served, host: str) -> None:
    """Nothing was heard of a machine for two minutes."""
    name = of_machine(host)
    held = served.instance.stored.leases.get(name)
    assert held is not None
    with served.instance.stored.database.begin() as connection:
        connection.execute(update(LEASES).where(LEASES.c.name == name).values(until=held.until - 120_000))


def state(served: Served) -> StreamState:
    """Where it stands."""
    return served.instance.stored.streams.get(NAME).state


def refused(served: Served, verb: str) -> str:
    """Why a plan is refused."""
    told = served.ask("POST", f"/api/v1/streams/{verb}/plan", {"stream": NAME}, role="operator")
    assert told.status == 409, told.body
    return f"{told.json['detail']}; {told.json['hint']}"


@pytest.mark.usefixtures("apart")
def test_a_stream_of_a_lost_machine_is_told_given_up_and_started_on_another(
    empty_store: str, tmp_path: Path, jobs: Jobs
) -> None:
    """And the machine that comes back ends what was given up."""
    with on("two", empty_store, tmp_path, jobs) as two:
        with on("one", empty_store, tmp_path, jobs) as one:
            two.instance.acting._stored.leases.give_back("acting", "on two")

            def lets_go() -> list[str]:
                two.instance.acting.acts = False
                return []

            with patch.object(two.instance.acting, "_renew", lets_go):
                until(lambda: one.instance.acting.acts)
                first = a_stream_that_runs(one)
                assert first.host == "one"
                assert "machine one is heard of" in refused(one, "abandon")
        until(lambda: two.instance.acting.acts)
        assert state(two) is StreamState.RUNNING
        did(two, "streams/alerts", {"stream": NAME, "settings": ["alive.for=0s"]})

        silence(two, "one")
        until(lambda: state(two) is StreamState.LOST)
        told = two.get(f"/api/v1/streams/{NAME}")["stream"]
        assert told["state"] == "lost" and "machine one is not heard of since 20" in told["why"]
        assert list(looked(two).firing) == [(NAME, "", "alive", "")]
        for verb in ("start", "delete"):
            assert f"`anabranch stream abandon {NAME}`" in refused(two, verb)

        plan = two.ask("POST", "/api/v1/streams/abandon/plan", {"stream": NAME}, role="operator").json["plan"]
        assert (plan["run"], plan["host"], plan["wanted"]) == (first.id, "one", "running")
        assert any(str(tmp_path / "one" / "jobs") in line for line in plan["may"])
        did(two, "streams/abandon", {"stream": NAME})
        assert runs_now(two, 2).host == "two"
        before = two.instance.stored.streams.runs_of(NAME)[-1]
        assert before.ended_at and "gave its run up: its machine one is not heard of" in before.why
        assert jobs[first.id].poll() is None

        with on("one", empty_store, tmp_path, jobs):
            until(lambda: jobs[first.id].poll() is not None)
            assert runs_now(two, 2).host == "two"


@pytest.mark.usefixtures("apart")
def test_a_machine_that_comes_back_finds_its_stream_as_it_is(empty_store: str, tmp_path: Path, jobs: Jobs) -> None:
    """Also one that was to end meanwhile: it is not given up, and ends."""
    with on("one", empty_store, tmp_path, jobs) as one:
        first = a_stream_that_runs(one)
    with on("two", empty_store, tmp_path, jobs) as two:
        silence(two, "one")
        until(lambda: state(two) is StreamState.LOST)
        with on("one", empty_store, tmp_path, jobs) as one:
            assert runs_now(one, 1).id == first.id
        did(two, "streams/stop", {"stream": NAME})
        silence(two, "one")
        until(lambda: state(two) is StreamState.LOST)
        looked(two)
        (alert,) = two.instance.stored.alerts.of(AlertedJob(NAME))
        assert alert.state is AlertState.WAITING and alert.words.startswith(
            "it is to end, and is lost: its machine one"
        )
        with on("one", empty_store, tmp_path, jobs):
            until(lambda: state(two) is StreamState.STOPPED)
        assert jobs[first.id].poll() is not None


def test_a_machine_that_has_another_name_now_goes_on_with_its_runs(
    empty_store: str, tmp_path: Path, jobs: Jobs
) -> None:
    """What runs here is ours, whatever the machine was called as it began."""
    with on("one", empty_store, tmp_path, jobs) as one:
        first = a_stream_that_runs(one)
    with on("renamed", empty_store, tmp_path, jobs) as renamed:
        until(lambda: runs_now(renamed, 1).host == "renamed")
        did(renamed, "streams/stop", {"stream": NAME})
        until(lambda: state(renamed) is StreamState.STOPPED)
    assert jobs[first.id].poll() is not None


def test_a_job_that_could_not_say_why_it_failed_is_told_by_its_log_and_its_disk(
    empty_store: str, tmp_path: Path, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full takes no event; its exit code alone helps nobody."""
    monkeypatch.setattr(outcome, "FULL_BYTES", 1 << 62)
    code = "import sys; open(sys.argv[1][:-4] + 'log', 'w').write('error: no room\\nhint: make some\\n'); sys.exit(4)"
    with on("one", empty_store, tmp_path, jobs, code) as one:
        a_stream(one)
        did(one, "streams/start", {"stream": NAME})
        until(lambda: state(one) is StreamState.DEGRADED)
        why = one.get(f"/api/v1/streams/{NAME}")["stream"]["why"]
    assert why.startswith("its job has ended with exit code 4: the disk of ")
    assert "make room, and start it again; no room (make some)" in why
