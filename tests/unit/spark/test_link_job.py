"""How the job of a link ends: which exit code says what, and how long it waits for a cluster that is away."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # comes with pyspark

from anabranch.config.jobsettings import STATED_PYTHON
from anabranch.config.jobspec import LinkJob
from anabranch.errors import AnabranchError
from anabranch.kafka.errors import AuthenticationError, UnreachableError
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneProgress
from anabranch.model.runevents import CopiedByRun
from anabranch.spark.jobs import link
from anabranch.spark.jobs import link_driver as job
from anabranch.spark.jobs.events import EventLog
from anabranch.spark.jobs.link_options import LinkOptions
from anabranch.spark.quickjvm import QuickJvm

pytestmark = pytest.mark.unit


class Clock:
    """Time that passes where somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        """Seconds."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """They pass."""
        self.now += seconds


class Idle:
    """A survey of a link that has no lanes."""

    def look(self, within_s: float | None = None) -> bool:
        """Nothing is new."""
        return True

    def lanes(self) -> list[LaneProgress]:
        """None."""
        return []

    def is_to_stop(self) -> bool:
        """No."""
        return False


class Failed:
    """A query that Spark has ended."""

    newest = -1

    def __init__(self, *_: Any) -> None:
        self.is_active = False

    def goes_on(self) -> bool:
        """No."""
        return False

    def failure(self) -> Exception | None:
        """Why."""
        return RuntimeError("a task failed four times")

    def ended(self) -> list[Any]:
        """No micro-batch."""
        return []

    def stop(self) -> None:
        """It is."""


@pytest.fixture
def spec(tmp_path: Path) -> str:
    """The file that the job is given."""
    file = tmp_path / "job.json"
    ends = (ClusterContext("old", ("o:1",)), ClusterContext("new", ("n:1",)))
    file.write_text(LinkJob("old-new", "run-1", *ends, 60.0).to_json())
    return str(file)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The job's time."""
    made = Clock()
    monkeypatch.setattr(job, "time", made)
    return made


def exit_code(spec: str) -> int:
    """The exit code of a run below ``spark-submit``."""
    return job.run(LinkOptions(Path(spec)), EventLog(sys.stderr), QuickJvm(None))


def away(monkeypatch: pytest.MonkeyPatch, error: AnabranchError) -> None:
    """Whoever looks at the clusters gets this error."""

    def look() -> None:
        raise error

    monkeypatch.setattr(job, "Survey", lambda _: SimpleNamespace(look=look))


def test_a_cluster_that_is_away_is_waited_for_five_minutes_and_is_exit_code_4_then(
    spec: str, clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said once that it waits."""
    away(monkeypatch, UnreachableError("old", ("o:1: refused",)))
    assert exit_code(spec) == 4
    assert 300 <= clock.now < 305
    starting, waiting, ended, hint = capsys.readouterr().err.splitlines()
    assert starting.endswith("old-new: run-1 starts on the master of spark-submit")
    assert "old-new: waiting: " in waiting and "cannot be reached" in waiting
    assert ended.startswith("error: ") and "cannot be reached" in ended and hint.startswith("hint: ")


def test_what_a_person_must_mend_is_not_waited_for(spec: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong password stays wrong."""
    away(monkeypatch, AuthenticationError("old", "User:link", "PLAIN", "wrong credentials"))
    assert (exit_code(spec), clock.now) == (4, 0.0)


def test_a_query_that_failed_and_a_jvm_that_is_gone_are_exit_code_5(
    spec: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what Spark said."""
    here = SimpleNamespace(master="local[1]", getConf=lambda: SimpleNamespace(contains=lambda _: False))
    nothing = SimpleNamespace(start=lambda: None, stop=lambda: None, sparkContext=here, version="4")
    monkeypatch.setattr(job, "Survey", lambda _: Idle())
    monkeypatch.setattr(job, "session", lambda *_: nothing)
    monkeypatch.setattr(job, "GroupSyncThread", lambda *_: nothing)
    monkeypatch.setattr(job, "signal", SimpleNamespace(signal=lambda *_: None, SIGTERM=15, SIGINT=2))
    monkeypatch.setattr(job, "RestartingQuery", Failed)
    monkeypatch.setattr(job, "cores", lambda _: 1)
    assert exit_code(spec) == 5
    assert "a task failed four times" in capsys.readouterr().err

    def gone(*_: Any) -> None:
        raise Py4JError("the gateway is closed")

    monkeypatch.setattr(job, "session", gone)
    assert exit_code(spec) == 5
    assert "Spark's JVM is gone: the gateway is closed" in capsys.readouterr().err

    class Thrown(Py4JJavaError):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

        def __str__(self) -> str:
            return "An error occurred while calling o76.load.\n: java.io.IOException: no room\n\tat java.base/x"

    def threw(*_: Any) -> None:
        raise Thrown

    monkeypatch.setattr(job, "session", threw)
    assert exit_code(spec) == 5
    assert "error: the link's query ended: no room\nhint: " in capsys.readouterr().err


def test_what_a_killed_worker_copied_is_in_the_last_event() -> None:
    """No micro-batch has its figures, what is persisted has; where that is not read the batches' count stays."""
    copied = job._Copied(264_276, 1_000)
    copied.settle(None)
    assert copied.stopped(0).message.startswith("stopped cleanly: 264,276 records")
    copied.settle(CopiedByRun(350_000, 2_000))
    assert copied.stopped(0).message.startswith("stopped cleanly: 350,000 records")


@pytest.mark.parametrize(("held", "said"), [(0, "stopped cleanly: 0"), (2, "takes over: 2: 0"), (None, "not known: 0")])
def test_the_last_event_counts_lanes_that_were_not_given_back(held: int | None, said: str) -> None:
    """A target that is away at Ctrl-C: nothing is lost, and nothing looks fine."""
    event = job._Copied().stopped(held)
    assert said in event.message and event.fields["held"] == held


def test_who_ends_a_run_that_waits_for_executors_ends_it(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its handlers only take notes, for a loop that has not begun."""
    here = SimpleNamespace(master="yarn")
    spark = SimpleNamespace(stop=lambda: None, sparkContext=here, version="4")
    handlers: list[int] = []

    def waits(*_: Any) -> None:
        assert handlers == []
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "Survey", lambda _: Idle())
    monkeypatch.setattr(job, "session", lambda *_: spark)
    monkeypatch.setattr(
        job, "signal", SimpleNamespace(signal=lambda number, _: handlers.append(number), SIGTERM=15, SIGINT=2)
    )
    monkeypatch.setattr(job, "cores", lambda _: 0)
    monkeypatch.setattr(job.ready, "check", waits)
    assert exit_code(spec) == job.INTERRUPTED


@pytest.mark.parametrize(
    ("options", "environment", "forks"),
    [
        ({"master": "local[2,8]"}, {}, True),
        ({"master": "local"}, {"PYSPARK_PYTHON": sys.executable}, True),
        ({"master": "local[2]", "settings": {STATED_PYTHON: sys.executable}}, {"PYSPARK_PYTHON": "/other"}, True),
        ({"master": "local[2]"}, {"PYSPARK_PYTHON": "/other"}, False),
        ({"master": "local[2]", "settings": {STATED_PYTHON: "/other"}}, {}, False),
        ({"master": "local-cluster[1,1,512]"}, {}, False),
        ({"master": "yarn"}, {}, False),
        ({}, {}, False),
    ],
)
def test_spark_s_python_is_forked_only_where_it_is_the_driver_s(
    options: dict[str, Any], environment: dict[str, str], forks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has asked for another one gets that, and hears what it lacks."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert link._runs_this_python(LinkOptions(Path("job.json"), **options)) is forks
