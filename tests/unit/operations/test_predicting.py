"""What `link create` foretells of lanes and of target topics that exist."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.settling import until_led
from anabranch.model.lane import LaneMode
from anabranch.model.link import ClusterRef, LinkSpec, ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.model.reasons import Severity
from anabranch.model.reports import ProbeReport
from anabranch.model.topics import TopicPartition
from anabranch.state.topics.control import Links
from qa import links
from tests.unit.link_lab import LINK, OTHER, TO_A, A, append, lab

pytestmark = pytest.mark.test

SPEC = LinkSpec("second", ClusterRef("old", ""), ClusterRef("new", ""), PluginSpec("regex", {"include": [".*"]}))


async def make(cluster: Cluster, topics: dict[str, dict[str, str]]) -> None:
    """Topics of one partition with these configs."""
    for name, configs in topics.items():
        await create_topic(cluster, name, 1, 1, configs)
    await until_led(cluster, list(topics))


def test_the_mode_of_each_lane_and_changes_of_target_topics_are_foretold() -> None:
    """By age, compaction and what the target holds; a policy that changes is a warning, other settings are not."""
    with lab() as both:
        both.on(both.source, lambda cluster: make(cluster, {"empty": {}, "state": {"cleanup.policy": "compact"}}))
        both.on(both.target, lambda cluster: make(cluster, {"empty": {}, "state": {}}))

        def plan(spec: LinkSpec) -> ProbeReport:
            return links.probe(both.source, both.target, spec)

        report = plan(SPEC)
        why = {topic.source: [lane.why for lane in topic.lanes] for topic in report.topics}
        assert why["empty"] == [""]
        assert "compacted" in why["state"][0]
        assert len(why[A.topic]) == 3
        assert all("d old" in one for one in (*why[A.topic], *why[OTHER.topic]))
        modes = {lane.mode for topic in report.topics for lane in topic.lanes if not lane.why}
        assert modes == {LaneMode.IDENTITY}
        told = {one.severity: one.what for one in report.findings if "is changed" in one.what}
        assert (
            "topic state exists on the target and is changed: cleanup.policy delete -> compact"
            in told[Severity.WARNING]
        )
        assert "topic empty exists" in told[Severity.INFO]
        asked = plan(replace(SPEC, mode=ModePolicy.MAPPED))
        assert {lane.why for topic in asked.topics for lane in topic.lanes} == {"the link asks for mapped lanes"}


def test_records_that_a_target_topic_holds_already_are_told() -> None:
    """As of a link that was deleted and is made again: all would be there twice.  Not where that is asked for."""

    def told(spec: LinkSpec) -> list[tuple[Severity, str]]:
        found = links.probe(both.source, both.target, spec).findings
        return [(one.severity, one.what) for one in found if "holds records" in one.what]

    spec = replace(SPEC, filter=PluginSpec("regex", {"include": ["empty"]}), shared_topics=True)
    with lab() as both:
        for cluster in (both.source, both.target):
            both.on(cluster, lambda found: make(found, {"empty": {}}))
        assert told(spec) == []
        assert told(replace(spec, shared_topics=False)) == []
        both.on(both.target, lambda found: append(found, TopicPartition("empty", 0), 1))
        (one,) = told(replace(spec, shared_topics=False))
        what = "topic empty holds records on the target already (1 offset), which no link knows as its copies"
        assert one == (Severity.WARNING, what)
        assert told(spec) == []


def test_what_an_opposite_link_fills_is_named_as_left_out() -> None:
    """What it has filled, and what it would fill: neither is a topic of the link, nor changed on the target."""

    async def forget(cluster: Cluster) -> None:
        stored = Links(cluster)
        await stored.sync()
        for topic in stored.topics_of(LINK):
            await stored.forget_topic(topic)

    with lab() as both:  # whose link fills old.orders of what is the source now
        names = PluginSpec("regex", {"include": [TO_A.topic, "own"]})
        back = LinkSpec("new-old", ClusterRef("new", ""), ClusterRef("old", ""), names)
        both.on(both.source, lambda cluster: make(cluster, {TO_A.topic: {"cleanup.policy": "compact"}}))
        both.on(both.target, lambda cluster: make(cluster, {"own": {}}))
        for severity, why in (
            (Severity.INFO, "the opposite link fills it from the target cluster"),
            (Severity.WARNING, f"link {LINK} would fill it from the target's own topic {A.topic}"),
        ):
            report = links.probe(both.target, both.source, back)
            assert [topic.source for topic in report.topics] == ["own"]
            told = [(one.severity, one.what) for one in report.findings if TO_A.topic in one.what]
            assert told == [(severity, f"topic {TO_A.topic} is left out: {why}")]
            both.on(both.target, forget)
