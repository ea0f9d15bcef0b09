"""The driver's look for what is new, and the leases that are made of what it finds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from anabranch.config.jobspec import LinkJob
from anabranch.copier.planning.planner import LanePlan, Planner
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster, ClusterMetadata
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.settling import until_led
from anabranch.model.reports import LinkPlan
from anabranch.spark.jobs import link_driver
from anabranch.spark.link import survey as surveys
from anabranch.spark.link.leases import AGAIN_S, LeasePlanner
from anabranch.spark.link.survey import Survey
from anabranch.state.topics.control import Progress
from tests.unit.link_lab import LINK, A, Lab, lab

pytestmark = pytest.mark.test


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test."""
    with lab() as made:
        yield made


@pytest.fixture
def job(both: Lab) -> LinkJob:
    """A run of the link."""
    return LinkJob(LINK, "run-1", both.source, both.target, 300.0)


@pytest.fixture
def driver(job: LinkJob) -> Iterator[tuple[LeasePlanner, Survey]]:
    """What plans leases and what looks for news, of one run that has begun."""
    planner, survey = LeasePlanner(job, 2), Survey(job)
    survey.look()
    planner.leases(1)
    survey.look()
    yield planner, survey
    planner.close()
    survey.close()


def persisted(both: Lab) -> LinkPlan:
    """The plan that workers read."""

    async def read(cluster: Cluster) -> LinkPlan:
        progress = Progress(cluster)
        await progress.sync()
        return progress.plans[LINK]

    return both.on(both.target, read)


class StoppedLate:
    """A query whose last leases are told of as it is stopped, since they were being planned as its end was told."""

    newest = -1
    is_active = True

    def __init__(self, both: Lab, leased: LinkPlan) -> None:
        self._both = both
        self._leased = leased

    def ended(self) -> Iterator[Any]:
        """No micro-batch has ended."""
        yield from ()

    def stop(self) -> None:
        """Nobody plans after that."""

        async def put(cluster: Cluster) -> None:
            await Progress(cluster).plan(replace(self._leased, batch=self._leased.batch + 1))

        self._both.on(self._both.target, put)


def test_the_last_word_of_a_run_is_that_it_ends(
    both: Lab, driver: tuple[LeasePlanner, Survey], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one without lanes, which nobody reports on, is taken for one that runs for two leases more."""
    monkeypatch.setattr(link_driver, "STOP_S", 0.0)
    query: Any = StoppedLate(both, persisted(both))
    link_driver._finish(query, driver[1], link_driver._Copied())
    assert persisted(both).ends


def grow(both: Lab) -> None:
    """One more partition of the source's topic, which is one more lane."""

    async def more(cluster: Cluster) -> None:
        await admin.grow_topic(cluster, A.topic, 4)
        await until_led(cluster, [A.topic])

    both.on(both.source, more)


def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning meets a broker that is away."""

    async def plan(_: Planner) -> LanePlan:
        raise ConnectionLostError("old", "broker 1", "it does not answer")

    monkeypatch.setattr(Planner, "plan", plan)


def test_what_nothing_new_was_found_for_is_left_alone(both: Lab, driver: tuple[LeasePlanner, Survey]) -> None:
    """Leases are not over because somebody looked, nor because a lane has begun."""
    assert persisted(both).batch == 1
    driver[1].look()
    assert persisted(both).batch == 1


def test_a_lane_that_the_lease_planner_has_missed_is_asked_for_again(
    both: Lab, driver: tuple[LeasePlanner, Survey], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The survey saw it, the planner went on with its last plan: leases are short, it says so, and is asked again."""
    planner, survey = driver
    before = persisted(both)
    grow(both)
    survey.look()
    told = persisted(both)
    assert (told.batch > 1, told.lanes) == (True, before.lanes + 1)
    with monkeypatch.context() as patched:
        failing(patched)
        leases = planner.leases(told.batch + 1)
    assert {lease.seconds for lease in leases} == {AGAIN_S}
    missed = persisted(both)
    assert (missed.batch, missed.lanes) == (told.batch + 1, before.lanes)
    assert "it does not answer" in missed.findings[-1].what
    survey.look()
    assert persisted(both) == missed  # it was just told
    monkeypatch.setattr(surveys, "AGAIN_S", -1.0)
    survey.look()
    assert persisted(both).lanes == before.lanes + 1
    leases = planner.leases(persisted(both).batch + 1)
    assert sum(len(lease.lanes) for lease in leases) == before.lanes + 1
    assert {lease.seconds for lease in leases} == {300.0}


def test_a_topic_that_becomes_compacted_ends_its_lease(both: Lab, driver: tuple[LeasePlanner, Survey]) -> None:
    """The lanes are the same, their mode is not."""

    async def compact(cluster: Cluster) -> None:
        await admin.alter_topic_configs(cluster, A.topic, {"cleanup.policy": "compact"})

    both.on(both.source, compact)
    driver[1].look()
    assert persisted(both).batch > 1


def test_a_survey_that_fails_for_long_says_so_and_takes_it_back(
    both: Lab, driver: tuple[LeasePlanner, Survey], monkeypatch: pytest.MonkeyPatch
) -> None:
    """New topics are not noticed meanwhile: whoever looks at the link reads it."""
    survey = driver[1]
    before = persisted(both)
    with monkeypatch.context() as patched:
        failing(patched)
        with pytest.raises(ConnectionLostError):
            survey.look()
        assert persisted(both) == before
        survey._planned_at = time.monotonic() - surveys.QUIET_S - 1
        for _ in range(2):
            with pytest.raises(ConnectionLostError):
                survey.look()
    said = persisted(both)
    assert replace(said, findings=before.findings) == before
    assert said.findings[-1].what.startswith("new topics and changed configurations are not noticed")
    assert len(said.findings) == len(before.findings) + 1
    survey.look()
    after = persisted(both)
    assert replace(after, looked_at_ms=before.looked_at_ms) == before
    assert (after.looked_at_ms or 0) > (before.looked_at_ms or 0)


def test_leases_are_ended_for_others_of_the_same_lanes(both: Lab, job: LinkJob) -> None:
    """As many tasks as can run are planned anew; where nothing is leased yet there is nothing to end."""
    planner, survey = LeasePlanner(job, 1), Survey(job)
    try:
        survey.look()
        assert not survey.replan()
        assert len(planner.leases(1)) == 1
        survey.look()
        before = persisted(both)
        assert survey.replan()
        after = persisted(both)
        assert after.batch > before.batch and (after.digest, after.lanes) == (before.digest, before.lanes)
        planner.slots = 2
        leases = planner.leases(after.batch + 1)
        assert len(leases) == 2 and persisted(both).batch == after.batch + 1
    finally:
        planner.close()
        survey.close()


def test_a_run_that_ends_beside_another_leaves_that_its_plan(both: Lab, driver: tuple[LeasePlanner, Survey]) -> None:
    """Or the other would notice nothing new until its leases end, and the link would look as if it ended."""
    _, survey = driver
    mine = persisted(both)
    other = Survey(LinkJob(LINK, "run-2", both.source, both.target, 300.0))
    other.look()
    other.finish()
    other.close()
    assert persisted(both).ends and persisted(both).owner == "run-2"
    survey.look()
    assert persisted(both) == mine
    grow(both)
    survey.look()
    assert persisted(both).lanes == mine.lanes + 1


def test_a_source_that_hangs_holds_up_nothing_but_the_look(
    both: Lab, driver: tuple[LeasePlanner, Survey], monkeypatch: pytest.MonkeyPatch
) -> None:
    """How the link stands is read meanwhile; the look goes on once it answers, but not after a run was told to end."""
    survey = driver[1]
    hangs = True

    async def metadata(self: Cluster, *asked: Any, **how: Any) -> ClusterMetadata:
        while hangs and self is survey._source:
            await asyncio.sleep(0.01)
        return await ask(self, *asked, **how)

    ask = Cluster.metadata
    monkeypatch.setattr(Cluster, "metadata", metadata)
    grow(both)
    before = persisted(both)
    assert not survey.look(0.05)
    status = survey.status()
    assert status is not None and status.plan == before
    assert not survey.look(0.05)
    hangs = False
    assert survey.look()
    assert persisted(both).lanes == before.lanes + 1
    hangs = True
    assert not survey.look(0.05)
    survey.finish()
    hangs = False
    survey.status()
    assert persisted(both).ends
