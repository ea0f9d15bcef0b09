"""Who is asked where one broker does not know, does not answer or refuses; and what is told in the end."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from typing import Any, cast

import pytest
from kafka.protocol.admin import DescribeConfigsResponse
from kafka.protocol.consumer import FetchResponse

from anabranch.errors import AnabranchError
from anabranch.kafka import fetch, silence
from anabranch.kafka.admin import Config, topic_configs
from anabranch.kafka.cluster import Cluster, ClusterMetadata, told_by
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.errors import (
    AuthenticationError,
    BrokerRefusedError,
    ConnectionLostError,
    PermissionDeniedError,
    UnreachableError,
)
from anabranch.kafka.fetch_one import fetched
from anabranch.kafka.same_cluster import OtherClusterError, check_cluster
from anabranch.kafka.silence import answering
from tests.unit.kafka.scripted import METADATA, Asked, Scripted, frame_of

pytestmark = pytest.mark.unit

CONFIGS = 32
LOST = ConnectionLostError("scripted", "2", "gone")


def configs(**codes: int) -> Any:
    """The settings of topics, or a code for each."""
    row = DescribeConfigsResponse.DescribeConfigsResult
    entry = row.DescribeConfigsResourceResult
    entries = [
        entry(name="cleanup.policy", value="compact", config_source=1),
        entry(name="retention.ms", value=None, config_source=5),
    ]
    results = [
        row(error_code=code, error_message="why", resource_type=2, resource_name=name, configs=[] if code else entries)
        for name, code in codes.items()
    ]
    return DescribeConfigsResponse(results=results)


SETTINGS = {"cleanup.policy": Config("compact", True), "retention.ms": Config(None, False)}


def settings(answers: Mapping[int | None, Any]) -> tuple[dict[str, dict[str, Config]], list[int | None]]:
    """The settings of topic t as these brokers tell them, and who was asked."""

    def answer(asked: Asked) -> Any:
        if asked.request.API_KEY != CONFIGS:
            return None
        found = answers[asked.node]
        if isinstance(found, AnabranchError):
            raise found
        return found

    cluster = Scripted(answer, brokers=(3, 1, 2))
    found = asyncio.run(topic_configs(cluster, ["t"]))
    return found, [one.node for one in cluster.asked]


def test_settings_are_told_with_whether_the_topic_has_set_them() -> None:
    """A topic that we may not ask about is absent."""
    assert settings({None: configs(t=0)}) == ({"t": SETTINGS}, [None])
    assert settings({None: configs(t=29)}) == ({}, [None])


def test_a_topic_that_one_broker_does_not_know_is_asked_of_the_others() -> None:
    """One after the other, until one tells; those that do not know it either or are away are passed over."""
    asked = {None: configs(t=3), 1: configs(t=3), 2: LOST, 3: configs(t=0)}
    assert settings(asked) == ({"t": SETTINGS}, [None, 1, 2, 3])


def test_a_topic_that_no_broker_knows_is_an_error() -> None:
    """The one of the first."""
    with pytest.raises(BrokerRefusedError, match="topic t") as refused:
        settings({None: configs(t=3), 1: configs(t=3), 2: LOST, 3: configs(t=42)})
    assert refused.value.code == 3


@pytest.mark.parametrize(("code", "error"), [(42, BrokerRefusedError), (31, PermissionDeniedError)])
def test_settings_that_are_refused_are_asked_of_nobody_else(code: int, error: type[AnabranchError]) -> None:
    """The others would say the same."""
    with pytest.raises(error):
        settings({None: configs(t=code)})


def metadata(fails: int, node: int | None = None) -> tuple[ClusterMetadata, list[int | None]]:
    """What is told where so many connections are lost first, and who was asked."""
    asked: list[int | None] = []

    def answer(one: Asked) -> Any:
        if one.request.API_KEY == METADATA:
            asked.append(one.node)
            if len(asked) <= fails:
                raise LOST
        return None

    return asyncio.run(Scripted(answer, brokers=(1, 2)).metadata([], node=node)), asked


@pytest.mark.parametrize("node", [None, 2])
def test_metadata_is_asked_for_again_where_a_connection_was_lost(node: int | None) -> None:
    """Three times in all; of the broker that was meant, where one was."""
    for fails in (0, 1, 2):
        found, asked = metadata(fails, node)
        assert (found.brokers.keys(), found.controller, found.cluster_id) == ({1, 2}, 1, "id")
        assert asked == [node] * (fails + 1)
    with pytest.raises(ConnectionLostError):
        metadata(3, node)


def test_a_broker_that_does_not_say_what_it_knows_tells_nothing() -> None:
    """It is no error of whoever asks several; what is none of the cluster's is."""

    def cluster(error: Exception) -> Scripted:
        def answer(one: Asked) -> Any:
            raise error

        return Scripted(answer)

    for error in (LOST, BrokerRefusedError("scripted", "Metadata", "it", 42), TimeoutError()):
        assert asyncio.run(told_by(cluster(error), 1, ["t"])) is None
    with pytest.raises(ZeroDivisionError):
        asyncio.run(told_by(cluster(ZeroDivisionError()), 1, ["t"]))
    told = asyncio.run(told_by(Scripted(lambda _: None), 1, ["t"]))
    assert told is not None and told.cluster_id == "id"


def test_a_broker_that_the_cluster_does_not_name_cannot_be_asked() -> None:
    """It is named, and nothing is opened."""

    class Few(Cluster):
        async def metadata(self, *_: Any, **__: Any) -> ClusterMetadata:
            return ClusterMetadata("id", 1, {}, {})

    with pytest.raises(ConnectionLostError, match="broker 7 lost: not in the cluster's metadata"):
        asyncio.run(Few(Transport("c", "User:me"), []).connection(7))


def test_another_cluster_than_the_links_is_refused() -> None:
    """With both of their ids."""
    check_cluster("old", "a", ClusterMetadata("a", 1, {}, {}))
    with pytest.raises(OtherClusterError) as refused:
        check_cluster("old", "a", ClusterMetadata("b", 1, {}, {}))
    assert (refused.value.context, refused.value.wanted, refused.value.found) == ("old", "a", "b")


# -- whether a cluster that seems to be gone answers ---------------------------------------------------


def answers_of(monkeypatch: pytest.MonkeyPatch, rounds: list[Mapping[str, Exception | None]]) -> tuple[str, ...]:
    """Which of two addresses answer, where each round of asking ends so; the time is over after the last one."""
    clock = [0.0]
    asked: dict[str, int] = {}
    aborted: list[str] = []

    class Opened:
        def abort(self, reason: str) -> None:
            aborted.append(reason)

    async def opens(transport: Any, node: str, host: str, port: int, pool: Any, timeout: float) -> Opened:
        assert timeout > 0
        at = asked.get(host, 0)
        asked[host] = at + 1
        if at + 1 >= len(rounds):
            clock[0] = 100.0
        error = rounds[at][host]
        if error is not None:
            raise error
        return Opened()

    monkeypatch.setattr(silence, "_AGAIN_S", 0.0)
    monkeypatch.setattr(silence, "monotonic", lambda: clock[0])
    monkeypatch.setattr(Connection, "open", opens)
    cluster = Cluster(Transport("c", "User:me"), [("a", 1), ("b", 2)])
    found = asyncio.run(answering(cluster, 100.0))
    assert set(asked.values()) == {len(rounds)}
    assert len(aborted) == sum(one is None for one in rounds[-1].values())
    return found


REFUSES = AuthenticationError("c", "User:me", "PLAIN", "wrong")


def test_a_cluster_is_silent_only_once_each_address_was_asked_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the time is over."""
    nobody = {"a": LOST, "b": LOST}
    assert answers_of(monkeypatch, [nobody, nobody, nobody]) == ()


@pytest.mark.parametrize("answer", [None, REFUSES, UnreachableError("c", ())])
def test_a_cluster_that_answers_anywhere_is_not_silent(
    answer: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by refusing who we are; nobody is asked any longer then."""
    assert answers_of(monkeypatch, [{"a": LOST, "b": LOST}, {"a": LOST, "b": answer}]) == ("b:2",)
    assert answers_of(monkeypatch, [{"a": answer, "b": None}]) == ("a:1", "b:2")


# -- a fetch of one partition --------------------------------------------------------------------------


def one_fetch(*answers: Any) -> tuple[int, bytes, int, list[float]]:
    """Code, records and high watermark of a fetch that is answered so, and what the connection is told of throttles."""
    left, throttles = list(answers), list[float]()

    class Wire:
        def offers(self, _: int) -> int:
            return 12

        def submit(self, *_: Any) -> Any:
            async def frame() -> Any:
                return frame_of(left.pop(0), 12)

            return frame()

        def throttled(self, seconds: float) -> None:
            throttles.append(seconds)

    wanted = fetch.PartitionFetch("t", uuid.UUID(int=5), 3, 8, 100, 7, 1000)

    async def run() -> tuple[int, bytes, int]:
        async with fetched(cast(Connection, Wire()), wanted, max_wait_ms=0, max_bytes=9) as found:
            assert found.partition == 3
            return found.code, bytes(found.records), found.high_watermark

    return *asyncio.run(run()), throttles


def partition(code: int) -> Any:
    """An answer about the partition."""
    row = FetchResponse.FetchableTopicResponse
    part = row.PartitionData(partition_index=3, error_code=code, high_watermark=9, records=b"abc")
    return FetchResponse(throttle_time_ms=250, responses=[row(topic="t", partitions=[part])])


def test_a_code_of_the_whole_answer_is_the_partitions() -> None:
    """It has no records then, and no ends."""
    assert one_fetch(FetchResponse(error_code=70, throttle_time_ms=1_500)) == (70, b"", -1, [1.5])


@pytest.mark.parametrize("code", [0, 6])
def test_an_answer_about_the_partition_is_taken_as_it_is(code: int) -> None:
    """And one that says nothing of it, as a throttled client gets it, is waited after and asked for again."""
    assert one_fetch(partition(code)) == (code, b"abc", 9, [0.25])
    assert one_fetch(FetchResponse(throttle_time_ms=1), partition(code)) == (code, b"abc", 9, [0.001, 0.25])
