"""Control topics that have other ids than those that a link was begun with, and who has the say about that."""

from __future__ import annotations

import asyncio
import uuid
from typing import cast

import pytest

from anabranch.copier.planning.planner import Planner
from anabranch.kafka.cluster import Cluster, ClusterMetadata, PartitionMeta, TopicMeta
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.topics import TopicId
from anabranch.state.codecs import topics
from anabranch.state.topics.recreated import ControlTopicsRecreatedError, finding, recreated, topic_ids

pytestmark = pytest.mark.unit

LINK = "old-new"
OURS, THEIRS = TopicId(uuid.UUID(int=1)), TopicId(uuid.UUID(int=2))


class Told:
    """Brokers, each with what it tells of the control topics: id and error code by name; the first one is asked."""

    name = "new"

    def __init__(self, *brokers: dict[str, tuple[TopicId, int]]) -> None:
        part = PartitionMeta(1, 0, (1,), (1,), 0)
        self.brokers = dict.fromkeys(range(1, len(brokers) + 1), ("127.0.0.1", 1))
        self.told = {
            node: {
                name: TopicMeta(name, topic_id.uuid, False, code, {0: part}, None)
                for name, (topic_id, code) in {**dict.fromkeys(topics.ALL, (TopicId.ZERO, 3)), **told}.items()
            }
            for node, told in enumerate(brokers, 1)
        }

    async def metadata(self, names: list[str], node: int = 1) -> ClusterMetadata:
        """What one of them tells."""
        return ClusterMetadata("a", 1, self.brokers, {name: self.told[node][name] for name in names})

    async def partition(self, topic: str, index: int) -> tuple[TopicMeta, PartitionMeta]:
        """What the first one tells."""
        meta = self.told[1][topic]
        return meta, meta.partitions[index]


def test_what_no_broker_tells_an_id_of_is_not_compared() -> None:
    """Brokers of an old protocol version give none, and a topic that is missing has none: that is told elsewhere."""
    begun = {topics.CLAIMS: OURS, topics.RUNS: OURS, topics.PROGRESS: OURS, topics.GAP_RECORDS: OURS}
    told = {topics.CLAIMS: (OURS, 0), topics.RUNS: (TopicId.ZERO, 0), topics.GAP_RECORDS: (THEIRS, 5)}
    cluster = cast(Cluster, Told(told))
    now = asyncio.run(topic_ids(cluster))
    assert now == {topics.CLAIMS: OURS}
    assert asyncio.run(recreated(cluster, begun, now)) == ()
    assert asyncio.run(recreated(cluster, {}, {topics.RUNS: OURS})) == ()


def test_a_topic_is_another_one_only_where_no_broker_knows_the_links_own() -> None:
    """The broker that is asked may have old metadata: all are."""

    def found(*brokers: TopicId) -> tuple[str, ...]:
        cluster = cast(Cluster, Told(*({topics.CLAIMS: (one, 0)} for one in brokers)))
        return asyncio.run(recreated(cluster, {topics.CLAIMS: OURS}, asyncio.run(topic_ids(cluster))))

    assert found(OURS, THEIRS) == found(THEIRS, OURS) == ()
    assert found(THEIRS) == found(THEIRS, THEIRS) == (topics.CLAIMS,)


def test_a_plan_refuses_other_topics_with_the_words_of_the_finding() -> None:
    """One and several are named, with the command that shows what it means."""
    spec = LinkSpec(LINK, ClusterRef("old", "a"), ClusterRef("new", "b"))
    record = LinkRecord(WantedState(spec), ("a",), 0, {topics.CLAIMS: OURS, topics.RUNS: OURS, topics.LINKS: OURS})
    target = Told({topics.CLAIMS: (THEIRS, 0), topics.RUNS: (THEIRS, 0), topics.LINKS: (OURS, 0)})
    planner = Planner(LINK, cast(Cluster, Told({})), cast(Cluster, target))
    with pytest.raises(ControlTopicsRecreatedError) as refused:
        asyncio.run(planner._compare_control_topics(record))
    assert refused.value.topics == (topics.CLAIMS, topics.RUNS)
    told = finding(LINK, refused.value.topics)
    assert (refused.value.message, refused.value.hint) == (f"cluster new: {told.what}", told.fix)
    assert "topics __anabranch_claims, __anabranch_runs were deleted and made again" in told.what
    assert "topic __anabranch_runs was deleted" in finding(LINK, [topics.RUNS]).what
    assert told.fix.endswith(f"anabranch link accept {LINK}")
