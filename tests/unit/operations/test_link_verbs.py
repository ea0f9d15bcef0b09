"""Verbs about a link on simulated clusters: deleting, pausing, creating."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from anabranch.copier.planning.planner import LanePlan, Planner
from anabranch.groups.baseline import Baseline, BaselinePartition, Coverage
from anabranch.kafka.admin import alter_topic_configs, delete_topic, grow_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.security import open_cluster
from anabranch.kafka.settling import until_led
from anabranch.model.groups import Commit, GroupKind
from anabranch.model.link import ClusterRef, LinkSpec, UnknownLinkError
from anabranch.model.plans import PlanChangedError
from anabranch.model.plugins import PluginSpec
from anabranch.model.preconditions import COMPRESSION
from anabranch.model.reasons import Severity
from anabranch.model.start import StartKind, StartPosition
from anabranch.operations.links import change, delete
from anabranch.operations.links import create as creating
from anabranch.operations.links.create import LinkExistsError, LinkRefusedError
from anabranch.state.codecs import topics as control_topics
from anabranch.state.topics.control import Links, MappedRanges, Progress, present
from anabranch.state.topics.journal import Journal
from anabranch.state.topics.positions import Positions
from qa import links
from qa.blocking import between
from tests.unit.link_lab import LINK, OTHER, TO_A, A, Lab, lab

pytestmark = pytest.mark.unit


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test."""
    with lab() as made:
        yield made


def test_a_deletion_is_carried_out_as_it_was_shown_and_forgets_everything(both: Lab) -> None:
    """Shown, nothing is done; where the link changed since, nothing either; done, no control topic tells of it."""
    made = Baseline(LINK, "shop", GroupKind.CLASSIC, (BaselinePartition(A, Commit(12), 10, Coverage.COVERED),), 1)

    async def mark(cluster: Cluster) -> None:
        await Positions(cluster).put_baselines([made, replace(made, link="other")])

    both.on(both.target, mark)
    shown = links.plan_delete(both.target, LINK)
    assert links.plan_delete(both.target, LINK).hash == shown.hash
    assert links.show(both.target, LINK).lanes
    links.pause(both.target, LINK)
    with pytest.raises(PlanChangedError):
        both.on(both.target, lambda cluster: delete.apply(cluster, shown))
    assert links.show(both.target, LINK).wanted.paused
    again = links.plan_delete(both.target, LINK)
    done = both.on(both.target, lambda cluster: delete.apply(cluster, again))
    assert (done.plan.hash, done.findings) == (again.hash, ())
    with pytest.raises(UnknownLinkError):
        links.show(both.target, LINK)

    async def left(cluster: Cluster) -> list[object]:
        stored, runs, progress, positions = Links(cluster), MappedRanges(cluster), Progress(cluster), Positions(cluster)
        for part in (stored, runs, progress, positions):
            await part.sync()
        claims = await Journal(cluster).read()
        assert set(positions.baselines["other"]) == {"shop"}
        lanes = [str(lane.lane) for lane in both.lanes]
        segments = [one for one in runs.segments.values() if one]
        marks = list(positions.baselines.get(LINK, {}))
        return [*stored.links, *stored.mirrored, *segments, *progress.lanes, *marks, *map(claims.claims, lanes)]

    assert [one for one in both.on(both.target, left) if one] == []


def test_workers_read_of_each_change_by_its_revision(both: Lab) -> None:
    """Pausing, going on and another rate limit each raise it, and keep what they do not change."""
    before = links.show(both.target, LINK).wanted
    links.pause(both.target, LINK)
    paused = links.show(both.target, LINK).wanted
    assert (paused.paused, paused.revision, paused.spec) == (True, before.revision + 1, before.spec)
    links.set_wanted(both.target, LINK, rate_limit=1000)
    links.resume(both.target, LINK)
    after = links.show(both.target, LINK).wanted
    assert (after.paused, after.revision) == (False, before.revision + 3)
    assert after.spec == replace(before.spec, rate_limit=1000)


def test_a_change_is_made_to_what_it_was_planned_for(both: Lab) -> None:
    """Where somebody changed the link since, nothing is stored; planned only, nothing either."""

    async def pause_planned_before(cluster: Cluster) -> None:
        planned = await change.plan(cluster, LINK, change.PAUSE)
        assert (planned.before.paused, planned.after.paused) == (False, True)
        faster, other = [
            await change.plan(cluster, LINK, change.WantedChanges(rate_limit=rate)) for rate in (1000, 2000)
        ]
        assert len({planned.hash, faster.hash, other.hash}) == 3, "who approves one approves no other one"
        assert (await change.apply(cluster, faster)).wanted == faster.after
        await change.apply(cluster, planned)

    with pytest.raises(PlanChangedError, match=f"link '{LINK}' changed since plan"):
        both.on(both.target, pause_planned_before)
    wanted = links.show(both.target, LINK).wanted
    assert (wanted.paused, wanted.spec.rate_limit) == (False, 1000)


def test_a_link_is_stored_once_and_only_when_it_is_wanted(both: Lab) -> None:
    """Planned, it is not there; created, another one of its name is refused and changes nothing."""
    spec = LinkSpec(
        "second", ClusterRef("old", ""), ClusterRef("new", ""), PluginSpec("regex", {"include": [OTHER.topic]})
    )

    planned = links.probe(both.source, both.target, spec)
    assert planned.ok
    with pytest.raises(UnknownLinkError):
        links.show(both.target, "second")
    both.on(both.source, lambda cluster: grow_topic(cluster, OTHER.topic, 2))
    with pytest.raises(PlanChangedError):
        between(both.source, both.target, lambda here, there: creating.apply(here, there, planned))
    with pytest.raises(UnknownLinkError):
        links.show(both.target, "second")
    done = links.create(both.source, both.target, spec)
    stored = links.show(both.target, "second").spec
    assert done.record.wanted.spec == stored
    for attempt in (links.probe, links.create):
        with pytest.raises(LinkExistsError):
            attempt(both.source, both.target, replace(spec, rate_limit=5))
    assert links.show(both.target, "second").spec == stored
    with pytest.raises(LinkRefusedError, match="link 'third' was not created: 1 error was found"):
        links.create(both.source, both.target, replace(spec, id="third", replication_factor=9, shared_topics=True))
    with pytest.raises(UnknownLinkError):
        links.show(both.target, "third")
    assert stored.source.cluster_id != stored.target.cluster_id


@pytest.mark.test
def test_a_plan_holds_while_the_group_goes_on_that_the_link_begins_at(both: Lab) -> None:
    """What it has committed by then is stored; another start, or a topic more, is another plan."""
    only = PluginSpec("regex", {"include": [OTHER.topic]})
    start = StartPosition(StartKind.GROUP, group="shop")
    spec = LinkSpec("second", ClusterRef("old", ""), ClusterRef("new", ""), only, start=start)
    both.commit(both.source, "shop", {OTHER: Commit(3)})
    planned = links.probe(both.source, both.target, spec)
    both.commit(both.source, "shop", {OTHER: Commit(5)})
    hashes = {planned.hash, links.probe(both.source, both.target, spec).hash}
    hashes |= {links.probe(both.source, both.target, replace(spec, start=StartPosition())).hash}
    wider = PluginSpec("regex", {"include": [OTHER.topic, A.topic]})
    hashes |= {links.probe(both.source, both.target, replace(spec, filter=wider, shared_topics=True)).hash}
    assert len(hashes) == 3
    between(both.source, both.target, lambda here, there: creating.apply(here, there, planned))
    assert links.show(both.target, "second").spec.start.offsets == {OTHER: 5}


@pytest.mark.test
@pytest.mark.parametrize("begun", [True, False])
def test_a_second_link_into_the_same_topic_is_refused_unless_it_is_meant(both: Lab, begun: bool) -> None:
    """It would copy all again, and both would be complete; also where the first has not made its topic yet."""
    spec = LinkSpec(
        "second",
        ClusterRef("old", ""),
        ClusterRef("new", ""),
        PluginSpec("regex", {"include": [A.topic]}),
        PluginSpec("template", {"template": "{source}.{topic}"}),
    )
    both.on(both.target, lambda cluster: grow_topic(cluster, TO_A.topic, 3))
    if not begun:
        spec = replace(spec, filter=PluginSpec("regex", {"include": [OTHER.topic]}))
        links.set_wanted(both.target, LINK, filter=PluginSpec("regex", {"include": [A.topic, OTHER.topic]}))

    def create(wanted: LinkSpec) -> None:
        links.create(both.source, both.target, wanted)

    with pytest.raises(LinkRefusedError) as refused:
        create(spec)
    topic = A.topic if begun else OTHER.topic
    assert [one.spec.id for one in links.list_links(both.target)] == [LINK]
    assert f"topic {topic}: link {LINK} fills old.{topic} too" in "; ".join(one.what for one in refused.value.errors)
    create(replace(spec, naming=PluginSpec("prefix", {"separator": "-"}), id="third"))
    create(replace(spec, shared_topics=True))
    assert links.show(both.target, "second").spec.shared_topics


@pytest.mark.test
@pytest.mark.parametrize("shared", [True, False])
def test_a_topic_that_another_link_fills_is_planned_only_where_that_is_meant(both: Lab, shared: bool) -> None:
    """It may turn up after the link was created; the link's other topics go on."""

    async def put(cluster: Cluster) -> None:
        await grow_topic(cluster, TO_A.topic, 3)
        await until_led(cluster, [TO_A.topic])
        stored = Links(cluster)
        await stored.sync()
        record = stored.links[LINK]
        include = PluginSpec("regex", {"include": [A.topic, OTHER.topic]})
        spec = replace(record.wanted.spec, id="second", filter=include, shared_topics=shared)
        await stored.put(replace(record, wanted=replace(record.wanted, spec=spec)))

    both.on(both.target, put)

    async def plan_it() -> LanePlan:
        async with open_cluster(both.source) as here, open_cluster(both.target) as there:
            return await Planner("second", here, there).plan()

    made = asyncio.run(plan_it())
    assert {lane.source.topic for lane in made.lanes} == ({A.topic, OTHER.topic} if shared else {OTHER.topic})
    assert [f"link {LINK} fills old.{A.topic} too" in one.what for one in made.findings] == ([] if shared else [True])


def test_a_target_topic_that_is_compressed_again_is_told_as_a_link_is_made_and_runs(both: Lab) -> None:
    """For information, and with the command that ends it; a topic that is as it should be is not named."""

    async def set_up(cluster: Cluster) -> None:
        await grow_topic(cluster, TO_A.topic, 3)
        await until_led(cluster, [TO_A.topic])
        await alter_topic_configs(cluster, TO_A.topic, {COMPRESSION: "zstd"})

    async def plan_it() -> LanePlan:
        async with open_cluster(both.source) as here, open_cluster(both.target) as there:
            return await Planner(LINK, here, there).plan()

    both.on(both.target, set_up)
    wanted = PluginSpec("regex", {"include": [A.topic, OTHER.topic]})
    spec = LinkSpec("second", ClusterRef("old", ""), ClusterRef("new", ""), wanted, PluginSpec("prefix", {}))
    probed = links.probe(both.source, both.target, replace(spec, shared_topics=True))
    for findings in (probed.findings, asyncio.run(plan_it()).findings):
        (found,) = [one for one in findings if COMPRESSION in one.what]
        assert found.severity is Severity.INFO
        assert f"target topic {TO_A.topic}: {COMPRESSION}=zstd" in found.what
        assert found.fix.endswith(f"--topic {TO_A.topic} --add-config {COMPRESSION}=producer")


def test_a_link_is_shown_and_deleted_where_control_topics_were_deleted(both: Lab) -> None:
    """It is there as long as the topic that names it; nothing is made again by looking."""
    for name in (control_topics.GAP_RECORDS, control_topics.CLAIMS, control_topics.PROGRESS):
        both.on(both.target, lambda cluster, name=name: delete_topic(cluster, name))
        assert links.show(both.target, LINK).spec.id == LINK
    plan = links.plan_delete(both.target, LINK)
    assert plan.forget[control_topics.CLAIMS] == 0 and plan.forget[control_topics.RUNS] == 2
    assert both.on(both.target, present) == [control_topics.LINKS, control_topics.RUNS]
    assert both.on(both.target, lambda cluster: delete.apply(cluster, plan)).plan.hash == plan.hash
    with pytest.raises(UnknownLinkError):
        links.show(both.target, LINK)
