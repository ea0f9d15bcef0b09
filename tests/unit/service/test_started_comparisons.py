"""Comparisons that the service started: an operation lasts as long as its comparison, and a killed job is no riddle."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.model.clock import now_ms
from anabranch.operations.jobs.readerjob import ReaderJob
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.verify import start
from anabranch.operations.verify.start import VerifyPlan
from anabranch.operations.verify.started import StartedComparison
from anabranch.service import processes
from anabranch.service.verbs import verify
from anabranch.state.codecs.verified import RunState, VerifyRun
from anabranch.state.topics.verified import VerifiedTopic
from qa.service import Served, serving, until
from tests.unit.link_lab import LINK, Lab
from tests.unit.service.test_changes import ON_LINK, THE_LINK, begun, ended

pytestmark = pytest.mark.test

OPTIONS = {"reader": "records", "levels": "both", "rate_limit": None, "samples": 20, "values": False}


class Jobs:
    """Processes in place of Spark jobs; each tells the target that it compares, and no more."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []

    async def apply(self, target: Cluster, planned: VerifyPlan, job: ReaderJob) -> StartedComparison:
        """As the operation does."""
        assert job.detached, "it outlives the service"
        job.directory.mkdir(parents=True, exist_ok=True)
        log = job.directory / f"{planned.run}.log"
        with log.open("wb") as out:
            self.processes.append(subprocess.Popen(["sleep", "600"], stdout=out, stderr=out))
        await tell(target, planned.run, RunState.RUNNING)
        return StartedComparison(planned.link, job.directory, StartedJob(planned.run, log, self.processes[-1]))


async def tell(target: Cluster, run: str, state: RunState, verdict: str = "") -> None:
    """Persist what a job does."""
    verified = VerifiedTopic(target)
    await verified.ensure()
    made = {"run": run, "verdict": verdict, "samples": []} if verdict else None
    await verified.persist(VerifyRun(LINK, run, state, 1, now_ms(), 10, 3, 20, 200, 0, OPTIONS, {}), [], made)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    """They are ended with the test."""
    made = Jobs()
    monkeypatch.setattr(start, "apply", made.apply)
    monkeypatch.setattr(verify, "LOOK_S", 0.05)
    monkeypatch.setattr(processes, "LOOK_S", 0.05)
    yield made
    for process in made.processes:
        process.kill()
        process.wait()


def compared(served: Served) -> Any:
    """The comparison of the link, as a viewer sees it."""
    return served.get(f"{THE_LINK}/verification")


def comparing(served: Served) -> tuple[str, str]:
    """(operation, run) of a comparison that was started and has told something."""
    where = begun(served, "verify/start", ON_LINK)
    until(lambda: (served.get(where)["progress"] or {}).get("stage") == "comparing")
    found = served.get(where)
    assert (found["state"], found["progress"]["done"], found["progress"]["offsets"]) == ("running", 3, 10)
    return where, found["progress"]["run"]


def test_a_comparison_whose_job_is_killed_fails_at_once_with_the_reason(served: Served, jobs: Jobs) -> None:
    """The operation and the comparison say the same, and it can be resumed."""
    where, run = comparing(served)
    jobs.processes[0].kill()
    problem = ended(served, where, "failed")["problem"]
    assert problem["detail"] == f"{run} made no comparison: the job was killed by SIGKILL"
    assert (problem["title"], problem["exit_code"]) == ("no comparison", 2)
    assert f"anabranch verify resume {LINK}" in problem["hint"]
    found = compared(served)
    assert (found["run"]["run"], found["run"]["state"], found["running"]) == (run, "failed", False)
    assert found["run"]["why"] == "the job was killed by SIGKILL"
    until(lambda: [one["exit_code"] for one in served.get(f"{THE_LINK}/processes")] == [-9])
    assert served.ask("POST", "/api/v1/verify/resume/plan", ON_LINK, role="operator").status == 200


@pytest.mark.parametrize(("state", "verdict"), [("done", "different"), ("stopped", "unknown")])
def test_an_operation_ends_with_what_its_comparison_found(
    both: Lab, served: Served, jobs: Jobs, state: str, verdict: str
) -> None:
    """As soon as that is told, whatever Spark still has to end."""
    where, run = comparing(served)
    both.on(both.target, lambda cluster: tell(cluster, run, RunState(state), verdict))
    report = ended(served, where)["report"]
    assert (report["run"], report["state"], report["verdict"]) == (run, state, verdict)
    assert report["process"] == jobs.processes[0].pid and jobs.processes[0].poll() is None


@pytest.mark.test
def test_a_comparison_outlives_the_service_and_its_death_is_noted_by_the_next_one(
    both: Lab, jobs: Jobs, tmp_path: Path
) -> None:
    """Nobody saw the code that it ended with; nobody waits for three minutes either."""
    contexts, store = {"old": both.here.context(), "new": both.there.context()}, str(tmp_path / "store.db")
    with serving(store, contexts, tmp_path, name="first") as served:
        until(lambda: served.instance.acting.acts and len(served.instance.board.seen) == 2)
        where, run = comparing(served)
    assert jobs.processes[0].poll() is None
    with serving(store, contexts, tmp_path, name="second") as served:
        until(lambda: served.instance.acting.acts and len(served.instance.board.seen) == 2)
        report = ended(served, where)["report"]
        assert (report["run"], report["state"], report["verdict"]) == (run, "running", None)
        assert compared(served)["running"]
        jobs.processes[0].kill()
        until(lambda: compared(served)["run"]["state"] == "failed")
        assert compared(served)["run"]["why"] == processes.UNSEEN
