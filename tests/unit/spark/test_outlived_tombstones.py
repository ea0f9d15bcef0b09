"""Keys whose tombstones the source may have dropped before a lane came to them: told until somebody has looked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from anabranch.config.jobspec import LinkJob
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.model.clock import now_ms
from anabranch.model.reports import LinkPlan
from anabranch.spark.link.leases import LeasePlanner
from anabranch.spark.link.survey import Survey
from anabranch.state.codecs.verified import LaneVerified, RunState, VerifyRun
from anabranch.state.topics.control import Progress
from anabranch.state.topics.verified import VerifiedTopic
from tests.unit.link_lab import LINK, SOURCE_END, A, Lab, lab

pytestmark = pytest.mark.test

HOUR_MS = 3_600_000


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters; the link's topic is compacted."""
    with lab() as made:

        async def compact(cluster: Cluster) -> None:
            await admin.alter_topic_configs(cluster, A.topic, {"cleanup.policy": "compact"})

        made.on(made.source, compact)
        yield made


def plan(both: Lab, run: str, batch: int) -> LinkPlan:
    """What is persisted once a run has planned and looked."""
    job = LinkJob(LINK, run, both.source, both.target, 300.0)
    planner, survey = LeasePlanner(job, 1), Survey(job)
    try:
        survey.look()
        planner.leases(batch)
        survey.look()
        return persisted(both)
    finally:
        survey.finish()
        planner.close()
        survey.close()


def persisted(both: Lab) -> LinkPlan:
    """The plan that stands there."""

    async def read(cluster: Cluster) -> LinkPlan:
        progress = Progress(cluster)
        await progress.sync()
        return progress.plans[LINK]

    return both.on(both.target, read)


def report(both: Lab, hours_ago: float, copied: int = SOURCE_END) -> None:
    """The first lane is at its source's end, and was persisted so many hours ago."""
    then = now_ms() - round(hours_ago * HOUR_MS)
    lane = replace(
        both.lanes[0], position=copied, stable=copied, high_watermark=copied, source_seen_ms=then, updated_at_ms=then
    )

    async def file(cluster: Cluster) -> None:
        await Progress(cluster).persist([lane])

    both.on(both.target, file)


def compare(both: Lab, upto: int) -> None:
    """A comparison has come so far, from the lane's start."""
    key = str(both.lanes[0].lane)

    async def file(cluster: Cluster) -> None:
        verified = VerifiedTopic(cluster)
        await verified.ensure()
        run = VerifyRun(LINK, "verify-1", RunState.DONE, 1, 2, upto, upto, upto, 1, 0, {}, {key: (upto, upto)})
        await verified.persist(run, [LaneVerified(key, "verify-1", (0, upto), (0, upto), (), now_ms())])

    both.on(both.target, file)


def compared(both: Lab) -> list[str]:
    """The lanes of which a comparison need not begin anew."""

    async def read(cluster: Cluster) -> list[str]:
        verified = VerifiedTopic(cluster)
        await verified.sync()
        return list(verified.lanes)

    return both.on(both.target, read)


def told(found: LinkPlan) -> bool:
    """Whether the plan names the lane's partition."""
    return any(f"{A} has been behind" in one.what for one in found.findings)


def test_it_is_told_over_restarts_until_a_comparison_has_passed_there(both: Lab) -> None:
    """That the lane has caught up mends nothing; nor does what was compared before it was late."""
    key = str(both.lanes[0].lane)
    report(both, 0.0)
    compare(both, SOURCE_END)
    first = plan(both, "run-1", 1)
    assert (first.outlived, told(first), compared(both)) == ({}, False, [key])

    report(both, 25.0)
    late = plan(both, "run-2", 2)
    assert (late.outlived, told(late)) == ({key: None}, True)
    assert compared(both) == [], "the next comparison begins at the lane's start"
    ended = persisted(both)
    assert (ended.ends, ended.outlived) == (True, {key: None})

    report(both, 0.0, SOURCE_END + 8)
    caught_up = plan(both, "run-3", 3)
    assert (caught_up.outlived, told(caught_up)) == ({key: SOURCE_END + 8}, True)

    compare(both, SOURCE_END + 7)
    assert told(plan(both, "run-4", 4)), "it was not compared far enough"
    compare(both, SOURCE_END + 8)
    over = plan(both, "run-5", 5)
    assert (over.outlived, told(over)) == ({}, False)
