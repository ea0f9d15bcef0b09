"""Exit codes and verdicts of comparisons whose job is killed, whenever it is, and whoever started them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from anabranch.sandbox import SandboxCluster
from anabranch.service.processes import UNSEEN
from anabranch.state.codecs.verified import NeverVerifiedError, RunState, VerifyStatus
from anabranch.verify.pins import CHUNK
from examples.api.compare import compare
from qa import comparing
from qa.faults.processes import MARK
from qa.route_service import RouteProcess
from qa.runs import Runs
from qa.timeouts import LONG_TIMEOUT_S
from qa.verify_lab import context_of
from tests.fault.ends.jobs import (
    DIFFERENT,
    EQUAL,
    FIRST_ROUND,
    JOBS,
    JVM_STARTS,
    LATER_ROUND,
    RECORDS,
    Moment,
    assert_killed,
    assert_resumed,
    error_of,
    show,
    verify,
)

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]


def words_of(victim: str) -> str:
    """What is said of somebody who was killed as Spark ran."""
    return "the job was killed by SIGKILL" if victim == "driver" else "Spark's JVM is gone"


@pytest.mark.parametrize(
    ("victim", "moment", "link_id"),
    [
        ("driver", JVM_STARTS, EQUAL),
        ("driver", LATER_ROUND, DIFFERENT),
        ("JVM", JVM_STARTS, EQUAL),
        ("JVM", FIRST_ROUND, EQUAL),
        ("JVM", LATER_ROUND, DIFFERENT),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_comparison_that_is_killed_says_so_and_goes_on(runs: Runs, victim: str, moment: Moment, link_id: str) -> None:
    """No verdict, at once and for whoever asks later, until it is resumed."""
    assert_killed(runs, verify(link_id), victim, moment, of_driver=2)
    assert show(runs, link_id) == 2
    assert "failed, " in runs.said[-2] + runs.said[-1], runs.said
    assert_resumed(runs, link_id)


SERVED_SLOWLY = {"fresh": True, "rate_limit": "300kB/s"}
"""Some seconds for a round: the service compares with all cores."""


def comparison(pair: tuple[SandboxCluster, SandboxCluster], link_id: str) -> VerifyStatus | None:
    """What the target has of the last comparison of a link."""
    try:
        return comparing.show(context_of(pair[1]), link_id)
    except NeverVerifiedError:
        return None


def verified_to(status: VerifyStatus) -> int:
    """Up to which source offset the only lane is verified."""
    (lane,) = status.lanes
    return lane.source[1]


def await_comparison(
    pair: tuple[SandboxCluster, SandboxCluster], link_id: str, after: str, what: Callable[[VerifyStatus], bool]
) -> VerifyStatus:
    """Wait until a comparison that follows another one, by its name, is so: as it runs, or as it ends."""
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while True:
        found = comparison(pair, link_id)
        if found is not None and found.run.run != after:
            if what(found):
                return found
            assert found.run.state is RunState.RUNNING, found
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("victim", "rounds", "link_id"),
    [("driver", 0, EQUAL), ("driver", 1, DIFFERENT), ("JVM", 0, DIFFERENT), ("JVM", 1, EQUAL)],
)
def test_a_resumed_comparison_that_is_killed_says_so_and_goes_on(
    runs: Runs, pair: tuple[SandboxCluster, SandboxCluster], victim: str, rounds: int, link_id: str
) -> None:
    """What was verified by whoever was killed is verified: nothing equal is read again, and no difference is lost.

    The first one is killed after a round, the second one after so many; chunks that differ are read again each time.
    """
    assert_killed(runs, verify(link_id), "driver", LATER_ROUND, of_driver=2)
    first = comparison(pair, link_id)
    assert first is not None and first.run.state is RunState.FAILED
    assert verified_to(first) == CHUNK < RECORDS
    runs.log.unlink()
    process = runs.start(*verify(link_id, "resume"))
    driver = runs.await_process(JOBS["verify"])
    jvm = runs.await_jvm(driver)
    met = await_comparison(pair, link_id, first.run.run, lambda one: one.run.offsets > 0 and one.run.done >= rounds)
    (driver if victim == "driver" else jvm).kill()
    code = process.wait(LONG_TIMEOUT_S)
    runs.await_nobody()
    told = error_of(runs)
    assert (code, words_of(victim) in told) == ((2 if victim == "driver" else 5), True), runs.said
    again = CHUNK if link_id == DIFFERENT else 0
    assert met.run.offsets == RECORDS - CHUNK + again
    second = comparison(pair, link_id)
    assert second is not None and (second.run.run, second.run.state) == (met.run.run, RunState.FAILED)
    assert words_of(victim) in second.run.why and second.run.pins == first.run.pins
    done = verified_to(second)
    assert done >= CHUNK + (CHUNK if rounds and not again else 0)
    assert show(runs, link_id) == 2
    assert_resumed(runs, link_id)
    last = comparison(pair, link_id)
    assert last is not None and last.own_report is not None
    (lane,) = last.own_report["lanes"]
    assert (lane["source"]["since"], lane["source"]["verified_to"]) == (done, RECORDS)
    assert (last.run.offsets, last.run.done) == (RECORDS - done + again,) * 2
    assert lane["source"]["records"] == RECORDS - done + again
    assert lane["counts"].get("unexpected", 0) == (2 if link_id == DIFFERENT else 0)


def test_a_program_hears_how_its_comparison_ended(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example of the API: no verdict where the job was killed, which the target is told, and one once resumed."""
    monkeypatch.setenv("ANABRANCH_CONTEXTS", str(runs.directory / "contexts.yaml"))
    monkeypatch.setenv(MARK, runs.mark)
    directory = runs.directory / "comparisons"
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(lambda: asyncio.run(compare(EQUAL, "new", False, directory)))
        driver = runs.await_process(JOBS["verify"])
        runs.await_jvm(driver)
        driver.kill()
        assert ended.result(LONG_TIMEOUT_S) == 2
    runs.await_nobody()
    assert "made no comparison: the job was killed by SIGKILL" in capsys.readouterr().err
    assert asyncio.run(compare(EQUAL, "new", True, directory)) == 0
    runs.await_nobody()


def last_of(pair: tuple[SandboxCluster, SandboxCluster], link_id: str) -> str:
    """The name of the last comparison of a link; empty where there was none."""
    found = comparison(pair, link_id)
    return "" if found is None else found.run.run


def asked_of(service: RouteProcess, verb: str, link_id: str, **more: object) -> str:
    """Plan and apply a verb of comparisons; the address of its operation."""
    body = {"target": "new", "link": link_id, **more}
    plan = service.ask("POST", f"/verify/{verb}/plan", body, role="operator")
    assert plan.status == 200, plan.body
    taken = service.ask("POST", f"/plans/{plan.json['id']}/apply", {"hash": plan.json["hash"]}, role="operator")
    assert taken.status == 202, taken.body
    return taken.headers["location"].removeprefix("/api/v1")


def await_answer(service: RouteProcess, where: str, what: Callable[[Any], object]) -> Any:
    """Wait until what a viewer is answered is so."""
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while True:
        answered = service.ask("GET", where)
        if answered.status == 200 and what(answered.json):
            return answered.json
        assert time.monotonic() < deadline, answered.body
        time.sleep(0.1)


def await_ended(service: RouteProcess, operation: str) -> Any:
    """An operation, once it has ended."""
    return await_answer(service, operation, lambda one: one["state"] != "running")


@pytest.mark.parametrize(
    ("victim", "moment", "link_id", "words", "code"),
    [
        ("driver", JVM_STARTS, EQUAL, "the job was killed by SIGKILL", 2),
        ("driver", LATER_ROUND, DIFFERENT, "the job was killed by SIGKILL", 2),
        ("JVM", LATER_ROUND, EQUAL, "Spark's JVM is gone", 5),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_comparison_of_the_service_that_is_killed_says_so_and_goes_on(
    runs: Runs,
    pair: tuple[SandboxCluster, SandboxCluster],
    victim: str,
    moment: Moment,
    link_id: str,
    words: str,
    code: int,
) -> None:
    """Its operation fails with the reason, which whoever asks for the comparison is told too; it is resumed at once."""
    where, before = f"/clusters/new/links/{link_id}/verification", last_of(pair, link_id)
    with runs.service() as service:
        operation = asked_of(service, "start", link_id, **SERVED_SLOWLY)
        driver = runs.await_process(JOBS["verify"])
        jvm = runs.await_jvm(driver)
        await_comparison(pair, link_id, before, lambda one: moment is JVM_STARTS or one.run.done > 0)
        (driver if victim == "driver" else jvm).kill()
        failed = await_ended(service, operation)
        assert (failed["state"], failed["report"]) == ("failed", None)
        assert words in failed["problem"]["detail"] and failed["problem"]["exit_code"] == code, failed
        found = service.ask("GET", where).json
        assert (found["run"]["state"], found["running"], found["report"]) == ("failed", False, None)
        assert words in found["run"]["why"]
        resumed = await_ended(service, asked_of(service, "resume", link_id))
        assert (resumed["state"], resumed["report"]["state"]) == ("done", "done"), resumed
        assert resumed["report"]["verdict"] == link_id
        assert service.ask("GET", where).json["report"]["verdict"] == link_id
    runs.await_nobody()


def test_a_comparison_is_no_riddle_whose_service_was_killed_before_it(
    runs: Runs, pair: tuple[SandboxCluster, SandboxCluster]
) -> None:
    """It goes on without the service; as it is killed the next process of the service says so, and it is resumed."""
    where, before = f"/clusters/new/links/{EQUAL}/verification", last_of(pair, EQUAL)
    with runs.service() as service:
        operation = asked_of(service, "start", EQUAL, **SERVED_SLOWLY)
        driver = runs.await_process(JOBS["verify"])
        run = await_comparison(pair, EQUAL, before, lambda one: one.run.offsets > 0).run.run
        service.kill()
        service.start()
        assert await_ended(service, operation)["state"] == "lost"
        await_comparison(pair, EQUAL, before, lambda one: one.run.done > 0)
        driver.kill()
        found = await_answer(service, where, lambda one: one["run"]["state"] == "failed")
        assert (found["run"]["run"], found["run"]["why"]) == (run, UNSEEN)
        operation = asked_of(service, "resume", EQUAL)
        await_comparison(pair, EQUAL, run, lambda one: one.run.offsets > 0)
        service.stop()
        service.start()
        left = await_ended(service, operation)
        assert (left["state"], left["report"]["state"]) == ("done", "running"), "it was not waited for"
        found = await_answer(service, where, lambda one: one["run"]["state"] != "running")
        assert (found["run"]["state"], found["report"]["verdict"]) == ("done", EQUAL)
    runs.await_nobody()
