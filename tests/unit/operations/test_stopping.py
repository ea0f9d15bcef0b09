"""``link stop``: whom it asks, when it says that a run has ended, and what it says where that has not."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.model.clock import now_ms
from anabranch.model.link import UnknownLinkError
from anabranch.model.reports import LinkPlan, StopReport
from anabranch.operations.links.stop import StillRunningError
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
        await Progress(cluster).file([replace(both.lanes[0], owner=owner, updated_at_ms=now_ms())])

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
