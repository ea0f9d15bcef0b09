"""What an application's topics are called there, and back."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.cluster import Security
from anabranch.model.routing import Route
from anabranch.sdk.names import Names, place_of, renamed
from tests.chance import examples

pytestmark = pytest.mark.unit
topics = st.text("ab.", min_size=1, max_size=3)


def names(**topics: str) -> Names:
    """Of a route that names topics so."""
    return Names.of(Route("orders", "old", ("old:9092",), Security(), topics, True, True, "", 1, 1))


@examples(300)
@given(st.lists(st.tuples(topics, topics), unique_by=(lambda one: one[0], lambda one: one[1])))
def test_a_name_there_leads_back_to_its_topic(pairs: list[tuple[str, str]]) -> None:
    """And a topic of one name stays the object that it was."""
    route = dict(pairs)
    both = names(**route)
    assert both.are_plain == all(topic == there for topic, there in pairs)
    for topic, there in pairs:
        asked = TopicPartition(topic, 1, 5)
        sent = both.to(asked)
        assert place_of(sent) == (there, 1) and sent.offset == 5
        assert (sent is asked) == (topic == there)
        if there not in route or topic == there:
            assert place_of(both.back(sent)) == (topic, 1)


def test_what_a_partition_holds_is_kept_under_another_name() -> None:
    """Its offset, its metadata and its epoch; one with an error is told as it was."""
    both = names(a="old.a")
    sent = both.to(TopicPartition("a", 1, 5, "m", 3))
    assert (sent.topic, sent.partition, sent.offset, sent.metadata, sent.leader_epoch) == ("old.a", 1, 5, "m", 3)
    bare = renamed(TopicPartition("a", 1), "b")
    assert (bare.topic, bare.metadata, bare.leader_epoch) == ("b", None, None)
    failed: Any = type("Failed", (), {"topic": "old.a", "error": KafkaError(3)})()
    assert both.back(failed) is failed
