"""A topic that all brokers call unknown: the plan goes on, and after a while without what nobody began of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.copier.planning.planner import LanePlan, Planner
from anabranch.kafka import presence
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.security import open_cluster
from anabranch.model.plugins import PluginSpec
from anabranch.model.reasons import Severity
from anabranch.state.topics.control import Links
from tests.unit.link_lab import LINK, OTHER, TO_A, A, B, lab

pytestmark = pytest.mark.test


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_deleted_topic_holds_up_no_other(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lanes stay in the plan as they were while it is in doubt, with what its brokers say.

    Then they end, but for those that were begun of a topic that the source has no more: they stand with a worker.
    """
    with lab() as made:

        async def both(cluster: Cluster) -> None:
            links = Links(cluster)
            await links.sync()
            record = links.links[LINK]
            filters = PluginSpec("regex", {"include": [A.topic, OTHER.topic]})
            spec = replace(record.wanted.spec, filter=filters)
            await links.put(replace(record, wanted=replace(record.wanted, spec=spec)))

        async def plans(source: Cluster, target: Cluster) -> list[LanePlan]:
            planner = Planner(LINK, source, target)
            found = [await planner.plan(), await planner.plan()]
            served, topic = (made.here, A.topic) if side == "source" else (made.there, TO_A.topic)
            served.served.do(lambda one: one.delete(topic))
            found.append(await planner.plan())
            monkeypatch.setattr(presence, "GONE_S", 0.0)
            return [*found, await planner.plan()]

        made.on(made.target, both)

        async def ask(source: Cluster) -> list[LanePlan]:
            async with open_cluster(made.target) as target:
                return await plans(source, target)

        _, before, doubted, after = made.on(made.source, ask)
    assert set(doubted.lanes) == set(before.lanes)
    assert {lane.source.topic for lane in doubted.lanes} == {A.topic, OTHER.topic}
    assert [one.severity for one in doubted.findings if "unknown to broker" in one.what] == [Severity.WARNING]
    stay = {A, B, OTHER} if side == "source" else {OTHER}
    assert {lane.source for lane in after.lanes} == stay
