"""``link stop``: whom it asks, when it says that a run has ended, and what it says where that has not."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from anabranch.config.jobspec import LinkJob
from anabranch.kafka.cluster import Cluster
from anabranch.model.clock import now_ms
from anabranch.model.link import UnknownLinkError
from anabranch.model.reports import LinkPlan, StopReport, StopRequest
from anabranch.operations.links.stop import StillRunningError
from anabranch.spark.link.survey import Survey
from anabranch.state.topics.control import Progress
from qa.links import stop
from tests.unit.link_lab import LINK, Lab, lab

pytestmark = pytest.mark.test

RUN = "run-9"


@pytest.fixture
def both() -> Iterator[Lab]:
    """Two clusters and a link, which was last heard of long ago."""
    with lab() as made:
        yield made


def told(both: Lab) -> Progress:
    """What drivers and workers read."""

    async def read(cluster: Cluster) -> Progress:
        progress = Progress(cluster)
        await progress.sync()
        return progress

    return both.on(both.target, read)


def plans(both: Lab, plan: LinkPlan) -> None:
    """The driver files what it plans."""

    async def file(cluster: Cluster) -> None:
        await Progress(cluster).plan(plan)

    both.on(both.target, file)


def reports(both: Lab, owner: str) -> None:
    """A worker files where its first lane stands."""

    async def file(cluster: Cluster) -> None:
        await Progress(cluster).persist([replace(both.lanes[0], owner=owner, updated_at_ms=now_ms())])

    both.on(both.target, file)


def test_a_link_that_does_not_run_is_left_alone(both: Lab) -> None:
    """Twice is as once, and one that is not there is an error."""
    assert stop(both.target, LINK, 60) == stop(both.target, LINK, 60) == StopReport(LINK, (), ended=True)
    assert told(both).stops == {}
    with pytest.raises(UnknownLinkError):
        stop(both.target, "another", 60)


def test_each_run_that_is_heard_of_is_asked_and_stays_asked(both: Lab) -> None:
    """The one that plans, and another whose workers report: nobody is said to have ended who still runs."""
    plans(both, LinkPlan(LINK, RUN, 1, now_ms(), 2))
    reports(both, "run-8/host-1-a")
    assert stop(both.target, LINK, 0) == StopReport(LINK, ("run-8", RUN), ended=False)
    asked = told(both)
    assert asked.is_to_stop(LINK, RUN) and asked.is_to_stop(LINK, "run-8") and not asked.is_to_stop(LINK, "run-7")
    with pytest.raises(StillRunningError, match=f"has not ended within 0.5 s: run-8, {RUN}"):
        stop(both.target, LINK, 0.5)


def test_a_run_has_ended_when_nothing_is_heard_of_it_any_more(both: Lab) -> None:
    """Its driver files that it ends, and then nothing."""
    plan = LinkPlan(LINK, RUN, 1, now_ms(), 2)
    plans(both, plan)

    def drive() -> None:
        while not told(both).is_to_stop(LINK, RUN):
            time.sleep(0.01)
        plans(both, replace(plan, ends=True, planned_at_ms=now_ms() - 60_000))

    driver = threading.Thread(target=drive)
    driver.start()
    assert stop(both.target, LINK, 60) == StopReport(LINK, (RUN,), ended=True)
    driver.join()
    assert told(both).is_to_stop(LINK, RUN), "somebody else may have asked with this record by now"


def test_a_run_that_nobody_hears_of_ends_with_the_one_that_is_heard_of(both: Lab) -> None:
    """The link runs twice, and one run has no lane: its driver reads that it is meant, and names it for its workers."""
    silent = Survey(LinkJob(LINK, "run-2", both.source, both.target, 300.0))
    late = Survey(LinkJob(LINK, "run-3", both.source, both.target, 300.0))
    try:
        silent.status()
        plans(both, LinkPlan(LINK, RUN, 1, now_ms(), 2))
        assert stop(both.target, LINK, 0).runs == (RUN,)
        late.status()
        assert not silent.is_to_stop() and not told(both).is_to_stop(LINK, "run-2")
        silent.status()
        assert silent.is_to_stop() and told(both).is_to_stop(LINK, "run-2")
        late.status()
        assert not late.is_to_stop(), "it began after that was asked"
        assert stop(both.target, LINK, 0).runs == (RUN,)
        late.status()
        assert late.is_to_stop() and told(both).is_to_stop(LINK, "run-3")
    finally:
        silent.close()
        late.close()


def test_a_run_that_adds_its_name_is_waited_for(both: Lab) -> None:
    """Nobody says that the link has ended while it reports."""
    plans(both, LinkPlan(LINK, RUN, 1, now_ms(), 2))

    def drive() -> None:
        while not told(both).is_to_stop(LINK, RUN):
            time.sleep(0.01)
        request = told(both).stops[LINK] | {"run-2"}
        both.on(both.target, lambda cluster: Progress(cluster).stop(request))
        plans(both, LinkPlan(LINK, "run-2", 1, now_ms(), 2))

    driver = threading.Thread(target=drive)
    driver.start()
    with pytest.raises(StillRunningError, match=r"within 4 s: run-2"):
        stop(both.target, LINK, 4)
    driver.join()


def test_who_asks_for_other_runs_at_the_same_time_takes_nothing_back(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that were asked lately stay named, those that somebody's request has left out are named again."""
    plans(both, LinkPlan(LINK, RUN, 1, now_ms(), 2))
    put = Progress.stop

    async def replaced(self: Progress, request: StopRequest) -> None:
        monkeypatch.setattr(Progress, "stop", put)
        await put(self, request)
        await put(self, StopRequest(LINK, ("run-7",), request.asked_at_ms))

    monkeypatch.setattr(Progress, "stop", replaced)
    with pytest.raises(StillRunningError):
        stop(both.target, LINK, 1)
    assert told(both).is_to_stop(LINK, RUN) and told(both).is_to_stop(LINK, "run-7")
    plans(both, LinkPlan(LINK, "run-8", 1, now_ms(), 2))
    first = told(both).stops[LINK]
    stop(both.target, LINK, 0)
    assert told(both).stops[LINK].asked_at_ms > first.asked_at_ms
    assert {RUN, "run-7", "run-8"} < set(told(both).stops[LINK].runs)
