"""What brokers say together of a topic that one of them does not know."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.kafka.admin import create_topic, delete_topic
from anabranch.kafka.cluster import Cluster, TopicMeta
from anabranch.kafka.presence import Presence, UnknownTopicError, ask_all, judged, locate
from anabranch.kafka.settling import until_led
from anabranch.kafka.simulated import SimulatedCluster
from anabranch.model.cluster import ClusterContext
from anabranch.sandbox import ClusterSpec
from tests.simulated import Simulated
from tests.unit.asking import on

pytestmark = pytest.mark.unit

OURS, THEIRS = uuid.UUID(int=1), uuid.UUID(int=2)


def meta(topic_id: uuid.UUID, error: int = 0) -> TopicMeta:
    """An answer without partitions."""
    return TopicMeta("t", topic_id, False, error, {}, None)


ANSWERS = {
    "ours": meta(OURS),
    "theirs": meta(THEIRS),
    "unaware": meta(uuid.UUID(int=0), 3),
    "refusing": meta(uuid.UUID(int=0), 29),
    "silent": None,
}


@given(st.lists(st.sampled_from(sorted(ANSWERS)), min_size=1, max_size=5))
def test_a_topic_is_gone_or_made_again_only_by_the_word_of_all(said: list[str]) -> None:
    """Whichever brokers lag: one that knows the topic is enough, and one that says nothing leaves it open."""
    found = judged("t", OURS, {node: ANSWERS[word] for node, word in enumerate(said)})
    assert (found.there is not None) == ("ours" in said)
    assert found.is_gone == (set(said) == {"unaware"})
    assert found.is_made_again == ("theirs" in said and set(said) <= {"theirs", "unaware"})
    assert len(found.unaware) == said.count("unaware") and len(found.refusing) == said.count("refusing")
    assert not (found.is_gone and found.is_made_again)


def test_what_brokers_say_is_told_in_words() -> None:
    """Their numbers, and the other id."""
    found = judged("t", OURS, {1: ANSWERS["unaware"], 2: ANSWERS["theirs"], 3: None, 4: None})
    assert found.told == f"topic t: unknown to broker 1; known under id {THEIRS} now; brokers 3, 4 did not say"


def test_all_brokers_are_asked_and_the_one_that_knows_counts() -> None:
    """Also for where the leader is; a topic that none knows is named, and one that was made again is handed over."""
    with Simulated(ClusterSpec(name="old", brokers=3), 1) as simulated:

        def forget(cluster: SimulatedCluster) -> None:
            later = cluster.timers.monotonic() + 60.0
            cluster.topics["t"].known.update({1: later, 3: later})

        async def ask(cluster: Cluster) -> tuple[Presence, int | None]:
            await create_topic(cluster, "t", 1, 3, {})
            await until_led(cluster, ["t"])
            first, _ = await cluster.partition("t", 0)
            simulated.served.do(forget)
            found = (await ask_all(cluster, {"t": first.id}))["t"]
            _, led = await locate(cluster, "t", 0, first.id)
            await delete_topic(cluster, "t")
            with pytest.raises(UnknownTopicError) as unknown:
                await locate(cluster, "t", 0, first.id)
            assert unknown.value.by_all and "brokers 1, 2, 3" in unknown.value.message
            await create_topic(cluster, "t", 1, 3, {})
            await until_led(cluster, ["t"])
            again, none = await locate(cluster, "t", 0, first.id)
            assert again.id != first.id and none is None
            return found, led and led.leader

        context = ClusterContext("old", tuple(simulated.bootstrap.split(",")))
        found, leader = on(context, ask)
    assert (found.unaware, found.silent) == ((1, 3), ()) and found.there is not None
    assert leader in {1, 2, 3}
