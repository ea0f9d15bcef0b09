"""What kind of group it is, by the words of brokers."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.errors import (
    IllegalGroupNameError,
    PartitionsRefusedError,
    UnstableCommitsError,
    check_group,
)
from anabranch.kafka.groups.kinds import is_streams, kind_of, state_of, streams_prefixes
from anabranch.model.groups import Commit, GroupKind, GroupState, Member
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

AT = TopicPartition("flights", 3)


def test_a_kind_is_told_by_type_and_protocol() -> None:
    """Types are written in either case; a classic group of an unknown protocol commits like any other."""
    told = {
        ("classic", "consumer"): GroupKind.CLASSIC,
        ("", "consumer"): GroupKind.CLASSIC,
        ("Consumer", "consumer"): GroupKind.CONSUMER,
        ("classic", ""): GroupKind.SIMPLE,
        ("classic", "connect"): GroupKind.CONNECT,
        ("classic", "sr"): GroupKind.SCHEMAS,
        ("share", "share"): GroupKind.SHARE,
        ("Streams", "streams"): GroupKind.STREAMS,
        ("classic", "of-our-own"): GroupKind.CLASSIC,
    }
    assert {words: kind_of(*words) for words in told} == told


def test_states_are_read_in_both_spellings_and_a_new_one_is_unknown() -> None:
    """A state that a later Kafka adds counts as active."""
    assert state_of("PreparingRebalance") is GroupState.PREPARING_REBALANCE
    assert state_of("COMPLETING_REBALANCE") is GroupState.COMPLETING_REBALANCE
    assert state_of("NotReady") is GroupState.NOT_READY
    assert state_of("Hibernating") is GroupState.UNKNOWN
    assert GroupState.UNKNOWN.is_active


def test_a_streams_application_is_told_by_its_assignor_or_its_threads() -> None:
    """While it rebalances a group names no assignor, and its members' client ids do."""
    thread = Member("m", "orders-1f2e-StreamThread-2-consumer", "/10.0.0.1")
    assert is_streams("stream", ())
    assert is_streams("", [Member("m", "a", "/h"), thread])
    assert not is_streams("range", [Member("m", "StreamThread-x", "/h")])


def test_a_sleeping_streams_application_is_told_by_its_topics() -> None:
    """Application ids and the names of stores may hold dashes: each cut is a candidate, a name alone is none."""
    topics = ["my-app-KSTREAM-STORE-0001-changelog", "sums-by-key-repartition", "orders-changelog", "flights"]
    found = streams_prefixes(topics)
    assert {"my-app", "sums"} <= found
    assert not {"orders", "flights", "sums-by-key"} & found


@given(st.lists(st.text()))
def test_any_topic_name_is_looked_at(topics: list[str]) -> None:
    """No name breaks the look; every candidate begins some topic."""
    assert all(any(topic.startswith(f"{name}-") for topic in topics) for name in streams_prefixes(topics))


def test_errors_name_partitions_and_survive_a_process_boundary() -> None:
    """A refusal says how many partitions of how many, and keeps what was done."""
    refused = PartitionsRefusedError("new", "g", "commit", {AT: 3}, (TopicPartition("flights", 0),))
    assert "1 of 2 partitions: flights-3 (UNKNOWN_TOPIC_OR_PARTITION)" in refused.message
    unstable = UnstableCommitsError("old", {"g": (AT,)}, {"h": {AT: Commit(2)}})
    assert "g (flights-3)" in unstable.message
    for error in (refused, unstable):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.message, vars(again)) == (type(error), error.message, vars(error))


def test_a_name_that_brokers_take_for_no_groups_is_a_refusal_with_a_next_step() -> None:
    """INVALID_GROUP_ID is the user's, and not the cluster's."""
    cluster = SimpleNamespace(name="new", check=lambda *_: pytest.fail("it is said in words"))
    with pytest.raises(IllegalGroupNameError, match="cluster new takes '' for no name of a group") as caught:
        check_group(cast(Cluster, cluster), 24, "Describe", "")
    assert caught.value.exit_code == 3
    assert "name a group" in caught.value.hint
