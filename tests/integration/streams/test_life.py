"""Streams that the service keeps: one run at a time, whatever is killed, and each end told with its reason."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from anabranch.config.streamspec import StreamRunSpec
from anabranch.model.clock import now_ms
from anabranch.operations.jobs.streamjob import events_of
from anabranch.store.database import open_database
from anabranch.store.streams import StoredStreams
from anabranch.streams.events import StreamEventKind, read_event
from anabranch.streams.states import StreamState
from qa.postgres import Postgres, postgres
from qa.service import until
from qa.stream_lab import SCRIPT, StandIns, StandInService, stand_ins

NAME = "counts"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[StandIns]:
    """Services whose streams are stand-ins."""
    with stand_ins(tmp_path) as made:
        yield made


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A SQLite store."""
    return str(tmp_path / "store.db")


def started(service: StandInService, script: str = SCRIPT, **settings: object) -> int:
    """Save a stream and start it; returns the process of its run."""
    service.done("create", stream=NAME, script=script, **settings)
    service.done("start", stream=NAME)
    until(lambda: service.is_in(NAME, "running"))
    return int(service.run_of(NAME)["pid"])


def has_ended(pid: int) -> bool:
    """Whether a process is gone; one that nobody has waited for has ended, too."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def in_order(fences: list[int]) -> bool:
    """Whether no start has written after a later one had."""
    return all(before <= after for before, after in pairwise(fences))


@pytest.mark.test
def test_a_stream_outlives_its_service_and_is_found_again(lab: StandIns, store: str) -> None:
    """A second start is refused; the service is killed, and the next one watches the same process, and can stop it."""
    service = lab.serve(store)
    pid = started(service)
    status, problem = service.plan("start", stream=NAME)
    assert (status, problem["title"]) == (409, "stream runs")
    service.kill()
    assert not has_ended(pid)
    service = lab.serve(store)
    until(lambda: service.stream(NAME)["stream"]["queries"])
    run = service.run_of(NAME)
    assert (run["pid"], run["fence"], run["ended_at_ms"]) == (pid, 1, None)
    told = service.get("/metrics")
    assert f'anabranch_stream_state{{state="running",stream="{NAME}"}} 1.0' in told
    service.done("stop", stream=NAME)
    until(lambda: service.is_in(NAME, "stopped"))
    assert has_ended(pid)
    assert service.stream(NAME)["runs"][0]["exit_code"] == 0
    assert set(service.written(NAME)) == {1}


@pytest.mark.full
def test_a_driver_that_is_killed_is_started_again_with_a_higher_fence(lab: StandIns, store: str) -> None:
    """By itself, and the end of the first is told."""
    service = lab.serve(store)
    os.kill(started(service), signal.SIGKILL)
    until(lambda: service.is_in(NAME, "degraded"))
    assert service.stream(NAME)["stream"]["why"] == "its job was killed by signal 9"
    until(lambda: service.is_in(NAME, "running", 2))
    second, first = service.stream(NAME)["runs"]
    assert (first["exit_code"], first["failed"], second["ended_at_ms"]) == (-9, True, None)
    until(lambda: 2 in service.written(NAME))
    assert in_order(service.written(NAME))


@pytest.mark.full
def test_a_driver_that_ends_while_no_service_runs_is_started_again_by_the_next(lab: StandIns, store: str) -> None:
    """Nobody saw how it ended, and that is what is told."""
    service = lab.serve(store)
    pid = started(service)
    service.kill()
    os.kill(pid, signal.SIGKILL)
    service = lab.serve(store)
    until(lambda: service.is_in(NAME, "running", 2))
    first = service.stream(NAME)["runs"][1]
    assert (first["exit_code"], first["why"]) == (None, "its job has ended, and nobody saw how")


@pytest.mark.full
def test_an_old_driver_that_comes_back_writes_nothing_more(lab: StandIns, store: str) -> None:
    """F1: it was stopped, taken for dead and replaced; as it goes on it ends, and says why.

    Its end is noted as one that was seen: one that nobody saw is ended by force by a service that has just begun (M1).
    """
    service = lab.serve(store)
    pid = started(service)
    until(lambda: service.written(NAME))
    os.kill(pid, signal.SIGSTOP)
    run = service.run_of(NAME)
    database = open_database(store)
    try:
        dead = run["id"], StreamState.DEGRADED, "it is taken for dead", -signal.SIGKILL
        assert StoredStreams(database).close(*dead, failed=True, over=False, now_ms=now_ms())
    finally:
        database.close()
    until(lambda: service.is_in(NAME, "running", 2))
    until(lambda: 2 in service.written(NAME))
    os.kill(pid, signal.SIGCONT)
    until(lambda: has_ended(pid))
    lines = events_of(service.directory / "jobs" / "streams" / NAME, run["id"]).read_text(encoding="utf-8")
    found = [event for line in lines.splitlines() if (event := read_event(line)) is not None]
    assert [event.kind for event in found[-2:]] == [StreamEventKind.FAILED, StreamEventKind.ENDED]
    assert "belongs to start 2" in found[-2].fields["error"]
    after = service.written(NAME)
    after = after[after.index(2) :]
    assert after.count(1) <= 1  # it may have been stopped between its look and its write
    assert service.is_in(NAME, "running", 2)


@pytest.mark.full
def test_a_stream_whose_budget_is_used_up_has_failed_until_a_person_starts_it(lab: StandIns, store: str) -> None:
    """The reason says what failed and how often; another version that is published and started runs."""
    service = lab.serve(store)
    service.done("create", stream=NAME, script="-- exit 4\nINSERT INTO out SELECT 1", restarts=1)
    service.done("start", stream=NAME)
    until(lambda: service.is_in(NAME, "failed"))
    stream = service.stream(NAME)
    assert stream["stream"]["why"] == "it ends with 4; it was started again 1 times within an hour"
    assert [run["fence"] for run in stream["runs"]] == [2, 1]
    service.done("edit", stream=NAME, script=SCRIPT, note="corrected")
    service.done("publish", stream=NAME, version=2)
    service.done("start", stream=NAME)
    until(lambda: service.is_in(NAME, "running", 3))
    assert service.stream(NAME)["stream"]["running_version"] == 2
    service.done("rollback", stream=NAME)
    service.done("restart", stream=NAME)
    until(lambda: service.is_in(NAME, "failed"))
    assert service.stream(NAME)["runs"][0]["version"] == 1


@pytest.mark.full
def test_what_another_start_does_not_change_is_not_tried_again(lab: StandIns, store: str) -> None:
    """A script that is wrong fails once, whatever its budget."""
    service = lab.serve(store)
    service.done("create", stream=NAME, script="-- exit 2\nINSERT INTO out SELECT 1")
    service.done("start", stream=NAME)
    until(lambda: service.is_in(NAME, "failed"))
    found = service.stream(NAME)
    assert (found["stream"]["why"], len(found["runs"])) == ("it ends with 2", 1)


@pytest.mark.full
def test_a_stream_that_has_read_all_is_stopped(lab: StandIns, store: str) -> None:
    """It is not started again."""
    service = lab.serve(store)
    service.done("create", stream=NAME, script="-- finish\nINSERT INTO out SELECT 1", trigger="availableNow")
    service.done("start", stream=NAME)
    until(lambda: service.is_in(NAME, "stopped", 1))
    found = service.stream(NAME)["stream"]
    assert (found["wanted"], found["why"]) == ("stopped", "it has read all that there was")


@pytest.mark.full
def test_a_stream_that_was_deleted_and_is_made_again_can_be_started(lab: StandIns, store: str) -> None:
    """The fences of the one before, in its checkpoints, refuse none of the new one's starts."""
    service = lab.serve(store)
    for _ in range(2):
        pid = started(service)
        service.done("restart", stream=NAME)
        until(lambda pid=pid: has_ended(pid) and service.is_in(NAME, "running"))  # type: ignore[misc]
        service.done("stop", stream=NAME)
        until(lambda: service.is_in(NAME, "stopped"))
        service.done("delete", stream=NAME)


@pytest.mark.full
def test_of_two_services_on_one_store_one_starts_a_stream(lab: StandIns) -> None:
    """The one that acts does, once; killed, the other goes on with what is asked after its lease is over."""
    with postgres() as server:
        both = _two(lab, server)
        for service in both:
            until(lambda service=service: service.get("/api/v1/me")["holder"])  # type: ignore[misc]
        acting = next(one for one in both if one.get("/api/v1/me")["acts"])
        other = next(one for one in both if one is not acting)
        names = [f"counts-{number}" for number in range(4)]
        for name in names:
            acting.done("create", stream=name, script=SCRIPT)
            acting.done("start", stream=name)
        for name in names:
            until(lambda name=name: other.is_in(name, "running"))  # type: ignore[misc]
        for name in names:
            assert [run["fence"] for run in other.stream(name)["runs"]] == [1]
            assert set(acting.written(name)) == {1}
            assert other.written(name) == []
        acting.kill()
        until(lambda: other.get("/api/v1/me")["acts"])
        other.done("stop", stream=names[0])
        until(lambda: other.is_in(names[0], "stopped"))
        assert other.stream(names[0])["runs"][0]["exit_code"] == 0


def _two(lab: StandIns, server: Postgres) -> tuple[StandInService, StandInService]:
    address = server.database()
    return lab.serve(address, "one"), lab.serve(address, "two")


@pytest.mark.full
def test_a_specification_of_a_run_is_for_its_user_alone(lab: StandIns, store: str) -> None:
    """It names clusters and says which start it is; no other user of the machine reads it."""
    service = lab.serve(store)
    started(service)
    (file,) = (service.directory / "jobs" / "streams" / NAME).glob("run-*.json")
    assert file.stat().st_mode & 0o077 == 0
    spec = StreamRunSpec.from_json(file.read_text(encoding="utf-8"))
    assert (spec.stream, spec.version, spec.fence) == (NAME, 1, 1)
