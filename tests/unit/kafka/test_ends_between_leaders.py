"""Ends are asked again where brokers do not agree yet on who leads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from anabranch.kafka import between_leaders, start
from anabranch.kafka import ends as module
from anabranch.kafka.cluster import Cluster, ClusterMetadata, PartitionMeta, TopicMeta
from anabranch.kafka.connection import Transport
from anabranch.kafka.ends import ends
from anabranch.kafka.errors import BrokerRefusedError
from anabranch.kafka.partitions import EARLIEST, OffsetAnswer
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

AT = TopicPartition("orders", 0)
NO_LEADER, NOT_LEADER, FENCED_EPOCH, UNKNOWN_EPOCH = 5, 6, 74, 75


class Disagreeing(Cluster):
    """Metadata tells of a leader; what that answers itself is in ``codes``, the last one for ever."""

    def __init__(self, *codes: int) -> None:
        super().__init__(Transport("old", "User:ANONYMOUS"), [])
        self.codes = list(codes)
        self.looked = 0

    async def metadata(self, topics: Any, operations: bool = False) -> ClusterMetadata:
        self.looked += 1
        parts = {0: PartitionMeta(1, self.looked, (1,), (1,), 0)}
        return ClusterMetadata("id", 1, {}, {name: TopicMeta(name, "id", False, 0, parts, None) for name in topics})

    async def connection(self, node: int, purpose: str = "") -> Any:
        return self


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader's, at once."""

    async def list_offsets(cluster: Disagreeing, wanted: dict[Any, tuple[int, int]], *, isolation: int = 0) -> Any:
        assert [epoch for _, epoch in wanted.values()] == [cluster.looked]
        code = cluster.codes.pop(0) if len(cluster.codes) > 1 else cluster.codes[0]
        return {key: OffsetAnswer(code, at, -1) if code else OffsetAnswer(0, 7, -1) for key, (at, _) in wanted.items()}

    monkeypatch.setattr(module, "list_offsets", list_offsets)
    monkeypatch.setattr(start, "list_offsets", list_offsets)
    monkeypatch.setattr(between_leaders, "_PAUSE_S", 0)


@pytest.mark.parametrize("code", [NOT_LEADER, FENCED_EPOCH, UNKNOWN_EPOCH])
def test_ends_are_asked_again_where_brokers_do_not_agree_who_leads(code: int) -> None:
    """With the metadata of then."""
    cluster = Disagreeing(code, code, code, code, 0)
    assert asyncio.run(ends(cluster, [AT])) == {AT: (7, 7)}
    assert cluster.looked == 3
    cluster = Disagreeing(code, code, 0)
    assert asyncio.run(start.ask_offsets(cluster, {AT: EARLIEST})) == {AT: 7}
    assert cluster.looked == 3


def test_ends_that_nobody_tells_are_refused_as_they_were_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some seconds."""
    monkeypatch.setattr(between_leaders, "_AGAIN_S", 0.0)
    with pytest.raises(BrokerRefusedError) as raised:
        asyncio.run(ends(Disagreeing(UNKNOWN_EPOCH), [AT]))
    assert raised.value.code == UNKNOWN_EPOCH


def test_other_refusals_are_told_at_once() -> None:
    """A partition without a leader may be so for long."""
    cluster = Disagreeing(NO_LEADER)
    with pytest.raises(BrokerRefusedError):
        asyncio.run(ends(cluster, [AT]))
    assert cluster.looked == 1


def asked(*told: Exception | int) -> tuple[Callable[[], Awaitable[int]], list[Exception | int]]:
    """A question that ends so, one time after the other; and what is left of it."""
    left = list(told)

    async def ask() -> int:
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    return ask, left


def refused(code: int) -> BrokerRefusedError:
    """A broker's answer."""
    return BrokerRefusedError("c", "ListOffsets", "t-0", code)


def test_what_passes_between_leaders_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the brokers agree; any other refusal is raised at once, also behind one that passes."""
    monkeypatch.setattr(between_leaders, "_PAUSE_S", 0.0)
    ask, left = asked(refused(6), refused(6), 5, 7)
    assert asyncio.run(between_leaders.until_agreed(ask)) == 5
    assert left == [7]
    ask, left = asked(refused(6), refused(42), 5)
    with pytest.raises(BrokerRefusedError) as other:
        asyncio.run(between_leaders.until_agreed(ask))
    assert (other.value.code, left) == (42, [5])


def test_brokers_that_do_not_agree_for_long_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what the last one said."""
    monkeypatch.setattr(between_leaders, "_PAUSE_S", 0.0)
    monkeypatch.setattr(between_leaders, "_AGAIN_S", -1.0)
    ask, left = asked(refused(6), 5)
    with pytest.raises(BrokerRefusedError):
        asyncio.run(between_leaders.until_agreed(ask))
    assert left == [5]
