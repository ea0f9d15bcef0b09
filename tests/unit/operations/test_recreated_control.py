"""Control topics that were deleted and made again while no run of the link lived: noticed, told, and accepted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from anabranch.config.maps_file import StoredMap
from anabranch.copier.planning.planner import LanePlan, Planner
from anabranch.kafka.admin import delete_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.security import open_cluster
from anabranch.model.decisions import Cause
from anabranch.model.link import ClusterRef, LinkSpec
from anabranch.model.plugins import PluginSpec
from anabranch.model.topics import TopicId
from anabranch.offsets.offset_map import OffsetMap
from anabranch.operations.links import accept
from anabranch.operations.links.accept import NothingToAcceptError
from anabranch.operations.links.pending_decisions import HistoryLostError
from anabranch.state.codecs import topics
from anabranch.state.topics.control import ensure_topics
from anabranch.state.topics.recreated import ControlTopicsRecreatedError, topic_ids
from qa import links
from qa.blocking import between
from tests.unit.asking import on
from tests.unit.link_lab import LINK, RUNS, TO_A, TO_B, A, B, Lab, lab

pytestmark = pytest.mark.test


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test."""
    with lab() as made:
        yield made


def plan(made: Lab) -> LanePlan:
    """What a run that begins plans first."""

    async def ask(target: Cluster) -> LanePlan:
        async with open_cluster(made.source) as source:
            return await Planner(LINK, source, target).plan()

    return on(made.target, ask)


def recreate(made: Lab, *names: str) -> None:
    """Somebody deletes control topics, and makes them again."""

    async def ask(target: Cluster) -> None:
        for name in names:
            await delete_topic(target, name)
        await ensure_topics(target)

    on(made.target, ask)


def ids(made: Lab) -> dict[str, TopicId]:
    """The control topics of now."""
    return on(made.target, topic_ids)


def told(made: Lab) -> str:
    """What ``link show`` finds."""
    return " | ".join(f"{one.what}: {one.fix}" for one in links.show(made.target, LINK).findings)


def test_a_run_refuses_claims_that_are_not_the_links_until_that_is_accepted(both: Lab) -> None:
    """An old record is given the ids by its first plan; then another id is an error that names the way out."""
    assert links.show(both.target, LINK).record.control_topics == {}
    assert plan(both).lanes
    begun = links.show(both.target, LINK).record.control_topics
    assert (begun, set(begun)) == (ids(both), set(topics.ALL))
    assert plan(both).lanes and told(both) == ""
    recreate(both, topics.CLAIMS)
    with pytest.raises(ControlTopicsRecreatedError) as refused:
        plan(both)
    assert (refused.value.link, refused.value.topics) == (LINK, (topics.CLAIMS,))
    assert topics.CLAIMS in told(both) and f"anabranch link accept {LINK}" in told(both)
    assert links.show(both.target, LINK).record.control_topics == begun, "a refused plan stores nothing"
    shown = links.plan_accept(both.source, both.target, LINK)
    assert (shown.recreated, {one.cause for one in shown.pending}) == ((topics.CLAIMS,), {Cause.CLAIMS_LOST})
    between(both.source, both.target, lambda here, there: accept.apply(here, there, shown))
    assert links.show(both.target, LINK).record.control_topics == ids(both) != begun
    assert plan(both).lanes and told(both) == ""


def test_where_only_the_records_know_a_link_is_made_again_behind_its_copy(both: Lab) -> None:
    """Of claims, runs and progress nothing is left: never a start; the link that adopts the copy goes on."""
    plan(both)
    recreate(both, topics.CLAIMS, topics.RUNS, topics.PROGRESS)
    with pytest.raises(ControlTopicsRecreatedError) as refused:
        plan(both)
    assert refused.value.topics == (topics.CLAIMS, topics.PROGRESS, topics.RUNS)
    with pytest.raises(HistoryLostError) as lost:
        links.accept(both.source, both.target, LINK)
    assert "link delete" in lost.value.hint and "link create --adopt" in lost.value.hint
    links.delete(both.target, LINK)
    maps = []
    for one, here, there in zip(both.lanes, (A, B), (TO_A, TO_B), strict=True):
        ranges = OffsetMap(10, 0)
        for run in RUNS:
            ranges = ranges.append(run)
        maps.append(StoredMap(one.lane, here, there, ranges))
    spec = LinkSpec(
        LINK,
        ClusterRef("old", ""),
        ClusterRef("new", ""),
        filter=PluginSpec("regex", {"include": [A.topic]}),
        naming=PluginSpec("prefix"),
    )
    links.create(both.source, both.target, spec, maps)
    assert links.show(both.target, LINK).record.control_topics == ids(both)
    assert plan(both).lanes and told(both) == ""
    with pytest.raises(NothingToAcceptError):
        links.plan_accept(both.source, both.target, LINK)


def test_what_accepting_makes_again_is_the_links_own(both: Lab) -> None:
    """Also where the broker that is asked does not know the new topic yet: the id of the old one is not kept."""
    plan(both)
    on(both.target, lambda cluster: delete_topic(cluster, topics.GAP_RECORDS))

    async def late(cluster: Cluster) -> dict[str, TopicId]:
        return {name: one for name, one in (await topic_ids(cluster)).items() if name != topics.GAP_RECORDS}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accept, "topic_ids", late)
        done = links.accept(both.source, both.target, LINK)
    assert (done.remake, done.recreated) == ((topics.GAP_RECORDS,), ())
    assert plan(both).lanes
    assert links.show(both.target, LINK).record.control_topics == ids(both)
