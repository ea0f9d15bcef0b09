"""Which of the plans that are persisted say that somebody has looked at the source since: what `link wait` goes by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from anabranch.config.jobspec import LinkJob
from anabranch.copier.planning.planner import LanePlan, Planner
from anabranch.copier.planning.target_topics import TargetTopics
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import ConnectionLostError, PermissionDeniedError
from anabranch.kafka.settling import until_led
from anabranch.model.caughtup import Goal, remaining_of
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneKey, LaneProgress
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, MirroredTopic, WantedState
from anabranch.model.plugins import PluginSpec
from anabranch.model.reports import LinkPlan
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.operations.links import caughtup
from anabranch.spark.link import survey as surveys
from anabranch.spark.link.leases import LeasePlanner
from anabranch.spark.link.survey import Survey
from anabranch.state.topics.control import Links, ensure_topics
from qa import links
from qa.blocking import between
from tests.unit.link_lab import LINK, A, Lab, append, lab

pytestmark = pytest.mark.test

NEW, HOME = TopicPartition("orders-new", 0), TopicPartition("new.orders", 0)
"""A topic that the link copies once it is planned, and one that looks like a copy of the target's own ``orders``."""


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, with a link that takes topics of these names."""

    async def widen(cluster: Cluster) -> None:
        stored = Links(cluster)
        await stored.sync()
        record = stored.links[LINK]
        spec = replace(record.wanted.spec, filter=PluginSpec("regex", {"include": ["orders.*", HOME.topic]}))
        await stored.put(replace(record, wanted=replace(record.wanted, spec=spec)))

    with lab() as made:
        made.on(made.target, widen)
        yield made


@pytest.fixture
def driver(both: Lab) -> Iterator[tuple[LeasePlanner, Survey]]:
    """What plans leases and what looks for news, of one run that has begun."""
    job = LinkJob(LINK, "run-1", both.source, both.target, 300.0)
    planner, survey = LeasePlanner(job, 2), Survey(job)
    survey.look()
    planner.leases(1)
    survey.look()
    yield planner, survey
    planner.close()
    survey.close()


def make(both: Lab, at: TopicPartition) -> None:
    """A topic of the source that holds records."""

    async def create(cluster: Cluster) -> None:
        await admin.create_topic(cluster, at.topic, 1, 1, {})
        await until_led(cluster, [at.topic])
        await append(cluster, at, 3)

    both.on(both.source, create)


def goal(both: Lab) -> Goal:
    """What the source holds now."""
    return between(both.source, both.target, lambda here, there: caughtup.goal(here, there, LINK))


def not_begun(both: Lab, aim: Goal) -> set[TopicPartition]:
    """What `link wait` would wait for although nobody copies it."""
    return set(remaining_of(aim, links.show(both.target, LINK)).not_begun)


async def fails(_: Planner) -> LanePlan:
    """Planning meets a broker that is away."""
    raise ConnectionLostError("old", "broker 1", "it does not answer")


class Stored:
    """The last plan of each link, and no lanes, in memory."""

    def __init__(self) -> None:
        self.plans: dict[str, LinkPlan] = {}
        self.lanes: dict[LaneKey, LaneProgress] = {}

    async def plan(self, plan: LinkPlan) -> None:
        """Store a plan."""
        self.plans[plan.link] = plan


@pytest.mark.unit
def test_a_plan_that_is_persisted_again_keeps_the_time_of_its_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan says when the source was read for it; one that ends a run says nothing of that."""

    async def plan(_: Planner) -> LanePlan:
        return LanePlan(LinkRecord(WantedState(spec), ("A",), 0), {}, (), 7, (HOME.topic,), {}, None)

    spec = LinkSpec(LINK, ClusterRef("old", "A"), ClusterRef("new", "B"))
    old, new = (ClusterContext(name, ("127.0.0.1:1",)) for name in ("old", "new"))
    job, stored = LinkJob(LINK, "run-1", old, new, 300.0), Stored()
    planner, survey = LeasePlanner(job, 1), Survey(job)
    for made in (planner, survey):
        monkeypatch.setattr(made._planner, "progress", stored)
    monkeypatch.setattr(Planner, "plan", plan)
    planner.leases(1)
    monkeypatch.setattr(Planner, "plan", fails)
    for file in (partial(planner.leases, 2), survey.replan):
        before = stored.plans[LINK]
        file()
        after = stored.plans[LINK]
        assert after.batch > before.batch
        assert (after.looked_at_ms, after.left_out) == (7, (HOME.topic,))
    survey.finish()
    assert (stored.plans[LINK].ends, stored.plans[LINK].looked_at_ms) == (True, None)
    planner.close()
    survey.close()


def test_what_is_persisted_without_a_look_at_the_source_says_nothing_of_new_topics(
    both: Lab, driver: tuple[LeasePlanner, Survey], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leases that are made of the last plan, leases that end for others of the same lanes, and the end of a run."""

    planner, survey = driver
    make(both, NEW)
    aim = goal(both)
    monkeypatch.setattr(Planner, "plan", fails)
    waits = {}
    for file in (partial(planner.leases, 2), survey.replan, survey.finish):
        file()
        waits[str(file)] = NEW in not_begun(both, aim)
    assert all(waits.values()), waits


def test_a_topic_that_could_not_be_planned_is_not_copied(
    both: Lab, driver: tuple[LeasePlanner, Survey], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that the target refuses to make, and one that was deleted and made again on the source."""

    async def refuses(*_: object) -> None:
        raise PermissionDeniedError("new", "User:link", "Create", f"topic {NEW.topic}")

    planner, survey = driver
    make(both, NEW)
    both.on(both.source, lambda cluster: admin.delete_topic(cluster, A.topic))
    make(both, A)
    aim = goal(both)
    monkeypatch.setattr(TargetTopics, "provide", refuses)
    survey.look()
    assert {NEW, A} <= not_begun(both, aim)
    monkeypatch.undo()
    planner.leases(2)
    assert A in not_begun(both, aim)


def fill_from_the_target(both: Lab, at: TopicPartition) -> None:
    """A link of the opposite direction that fills a topic of the source."""

    async def fill(cluster: Cluster) -> None:
        await ensure_topics(cluster)
        stored, answer = Links(cluster), await cluster.metadata([at.topic])
        spec = LinkSpec("new-old", ClusterRef("new", other), ClusterRef("old", answer.cluster_id))
        await stored.put(LinkRecord(WantedState(spec), (other,), 1))
        filled = TopicId(answer.topics[at.topic].id)
        await stored.put_topic(MirroredTopic("new-old", "theirs", TopicId.ZERO, at.topic, filled, {}))

    async def cluster_id(cluster: Cluster) -> str:
        return (await cluster.metadata([])).cluster_id

    other = both.on(both.target, cluster_id)
    both.on(both.source, fill)


def test_a_topic_that_is_left_out_on_purpose_is_not_waited_for(both: Lab, driver: tuple[LeasePlanner, Survey]) -> None:
    """As soon as a plan that was made after the goal was read says so: what looks like a copy, and what is one."""
    make(both, HOME)
    both.on(both.target, lambda cluster: admin.create_topic(cluster, "orders", 1, 1, {}))
    make(both, NEW)
    fill_from_the_target(both, NEW)
    aim = goal(both)
    assert {HOME, NEW} <= not_begun(both, aim)
    driver[0].leases(2)
    assert not {HOME, NEW} & not_begun(both, aim)


def test_a_topic_that_was_left_out_before_is_waited_for_until_the_next_look(
    both: Lab, driver: tuple[LeasePlanner, Survey], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leases last for minutes; whoever waits meanwhile is told what the survey sees all the time."""
    make(both, NEW)
    fill_from_the_target(both, NEW)
    driver[0].leases(2)
    aim = goal(both)
    driver[1].look()
    assert NEW in not_begun(both, aim), "what was stored just now is not stored again"
    monkeypatch.setattr(surveys, "LOOKED_S", 0.0, raising=False)
    driver[1].look()
    assert NEW not in not_begun(both, aim)
