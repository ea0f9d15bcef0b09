"""Two links that first plan one target topic at one moment: one of them fills it, never both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from anabranch.copier.planning.planner import LanePlan, Planner
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.security import open_cluster
from anabranch.model.link import LinkRecord, LinkSpec, MirroredTopic, WantedState
from anabranch.model.plugins import PluginSpec
from anabranch.model.reasons import Severity
from anabranch.state.topics.control import Links
from tests.unit.link_lab import LINK, Lab, lab

pytestmark = pytest.mark.test

NAMES = ("link-a", "link-b")


@pytest.fixture
def both() -> Iterator[Lab]:
    """Two clusters, and two links of one source topic that give it one new name on the target."""
    with lab() as made:

        async def put(cluster: Cluster) -> None:
            links = Links(cluster)
            await links.sync()
            spec = links.links[LINK].wanted.spec
            template = PluginSpec("template", {"template": "new-{topic}"})
            for name in NAMES:
                await links.put(_record(replace(spec, id=name, naming=template)))

        made.on(made.target, put)
        yield made


def _record(spec: LinkSpec) -> LinkRecord:
    return LinkRecord(WantedState(spec), (spec.source.cluster_id,), 1)


async def planned(both: Lab, *names: str) -> list[LanePlan]:
    """What the links plan, at one time."""
    clusters = [open_cluster(context) for _ in names for context in (both.source, both.target)]
    try:
        pairs = zip(names, clusters[::2], clusters[1::2], strict=True)
        return list(await asyncio.gather(*(Planner(*pair).plan() for pair in pairs)))
    finally:
        for cluster in clusters:
            cluster.close()


def test_two_links_that_plan_one_topic_at_one_moment_do_not_both_fill_it(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both find nobody, and both store it: who was later in the log gives way, is told why, and stays refused."""
    put, waiting = Links.put_topic, asyncio.Barrier(2)

    async def put_together(links: Links, topic: MirroredTopic) -> None:
        await waiting.wait()
        await put(links, topic)
        await waiting.wait()

    with monkeypatch.context() as patched:
        patched.setattr(Links, "put_topic", put_together)
        plans = asyncio.run(planned(both, *NAMES))
    filling = [name for name, plan in zip(NAMES, plans, strict=True) if plan.lanes]
    assert len(filling) == 1
    (refused,) = [plan for plan in plans if not plan.lanes]
    assert [finding.severity for finding in refused.findings] == [Severity.ERROR]
    assert f"link {filling[0]} fills new-orders too" in refused.findings[0].what
    again = asyncio.run(planned(both, *NAMES))
    assert [bool(plan.lanes) for plan in again] == [bool(plan.lanes) for plan in plans]


def test_a_link_that_ended_before_it_could_give_way_does_so_later(both: Lab) -> None:
    """It had stored the topic, and nothing else: nobody must take that for lanes that were begun."""
    (first,) = asyncio.run(planned(both, NAMES[0]))

    async def store(cluster: Cluster) -> None:
        links = Links(cluster)
        await links.sync()
        (mine,) = links.topics_of(NAMES[0])
        await links.put_topic(replace(mine, link=NAMES[1]))

    both.on(both.target, store)
    (second,) = asyncio.run(planned(both, NAMES[1]))
    assert first.lanes and not second.lanes
