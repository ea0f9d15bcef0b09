"""``links.run``: one way for command line and service, which differ in what they allow."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from anabranch.model.cluster import ClusterContext
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.plans import PlanChangedError
from anabranch.model.reports import LinkPlan, LinkStatus
from anabranch.model.runevents import LogFormat
from anabranch.operations.documents import plain
from anabranch.operations.jobs import launcher
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.jobs.submission import Submission
from anabranch.operations.links.run import LinkRunsError, RunOptions, RunPlan, apply, plan
from anabranch.operations.links.status import LinkStatusReader

pytestmark = pytest.mark.unit

SPEC = LinkSpec("old-new", ClusterRef("old", "A"), ClusterRef("new", "B"), lease_seconds=45)
STATUS = LinkStatus(LinkRecord(WantedState(SPEC), ("A",), 0), (), None, 0)
RUNS = replace(STATUS, plan=LinkPlan("old-new", "run-7", 1, 0, 2))
BOTH = ClusterContext("old", ("o:1",)), ClusterContext("new", ("n:1",))
HOW = Submission("local[2]")
TIED = RunOptions(beside=True, lease_seconds=5, detached=False, log_format=LogFormat.JSON)


class Target:
    """A target with one link, and the launcher; keeps how jobs were started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.status = STATUS
        self.started: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

        async def of(_reader: LinkStatusReader, _link: str) -> LinkStatus:
            return self.status

        monkeypatch.setattr(LinkStatusReader, "of", of)
        monkeypatch.setattr(launcher, "start_link", self._start)

    def plan(self, *options: RunOptions) -> RunPlan:
        """What would be started."""
        return asyncio.run(plan(cast(Any, None), "old-new", HOW.master, *options))

    def apply(self, planned: RunPlan) -> StartedJob:
        """Start it."""
        return asyncio.run(apply(cast(Any, None), BOTH, planned, HOW, Path("logs")))

    def _start(self, *given: Any, **named: Any) -> StartedJob:
        self.started.append((given, named))
        return StartedJob("run-8", Path("log"), cast(Any, None))


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Target:
    """With a link that does not run."""
    return Target(monkeypatch)


def test_a_run_is_refused_beside_another_where_none_is_allowed(target: Target) -> None:
    """As it is planned, and where one has begun since."""
    planned = target.plan()
    target.status = RUNS
    with pytest.raises(LinkRunsError, match="run-7"):
        target.plan()
    with pytest.raises(LinkRunsError, match="run-7"):
        target.apply(planned)
    assert target.started == []


def test_a_run_beside_another_names_it_in_its_plan(target: Target) -> None:
    """So that whoever allows it can warn; what is written out of a plan is as before."""
    target.status = RUNS
    planned = target.plan(TIED)
    assert (planned.runs, planned.planner, planned.lease_seconds) == (("run-7",), "run-7", 5)
    assert plain(planned).keys() == {"link", "source", "target", "master", "lease_seconds", "hash"}
    target.status = STATUS  # the other one ends meanwhile
    assert target.apply(planned).run == "run-8"


def test_a_run_is_started_as_it_was_planned(target: Target) -> None:
    """Detached with the link's own leases, or tied with others."""
    old, new = BOTH
    target.apply(target.plan())
    target.apply(target.plan(TIED))
    assert target.started == [
        ((new, old, "old-new", HOW, 45, Path("logs")), {"log_format": LogFormat.TEXT, "detached": True}),
        ((new, old, "old-new", HOW, 5, Path("logs")), {"log_format": LogFormat.JSON, "detached": False}),
    ]


def test_a_run_of_a_link_that_was_changed_since_is_refused(target: Target) -> None:
    """What was planned is not what would be started."""
    planned = target.plan()
    target.status = replace(STATUS, record=LinkRecord(WantedState(replace(SPEC, lease_seconds=60)), ("A",), 0))
    with pytest.raises(PlanChangedError):
        target.apply(planned)
    assert target.started == []
