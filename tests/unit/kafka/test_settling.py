"""Topics that were made just now are waited for, and so is a block of producer ids."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest

from anabranch.kafka import settling
from anabranch.kafka.cluster import Cluster, ClusterMetadata, PartitionMeta, TopicMeta
from anabranch.kafka.connection import Transport
from anabranch.kafka.errors import BrokerRefusedError, PermissionDeniedError
from anabranch.kafka.partitions import new_producer_id
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

UNKNOWN, NO_LEADER, NOT_LEADER, DENIED, LOADING = 3, 5, 6, 29, 14


class Told(Cluster):
    """A cluster that gives these codes one after the other, the last one for ever."""

    def __init__(self, *codes: int) -> None:
        super().__init__(Transport("told", "User:ANONYMOUS"), [])
        self.codes = list(codes)
        self.asked = 0

    def code(self) -> int:
        """The next one."""
        self.asked += 1
        return self.codes.pop(0) if len(self.codes) > 1 else self.codes[0]

    async def metadata(self, topics: Any, operations: bool = False) -> ClusterMetadata:
        code = self.code() if self.codes[0] != NOT_LEADER else 0
        parts = {} if code else {0: PartitionMeta(1, 0, (1,), (1,), 0)}
        return ClusterMetadata(
            "id", 1, {}, {name: TopicMeta(name, uuid.uuid4(), False, code, parts, None) for name in topics}
        )

    async def call(self, request: Any, node: int | None = None, timeout: float = 30.0, cap: int | None = None) -> Any:
        return SimpleNamespace(error_code=self.code(), producer_id=77)


@pytest.fixture(autouse=True)
def leaders(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leaders' answers are the cluster's next codes."""

    async def ends(cluster: Told, partitions: Collection[TopicPartition]) -> None:
        assert list(partitions) == [TopicPartition("made", 0)]
        cluster.check(cluster.code(), "Describe", "partition made-0")

    monkeypatch.setattr(settling, "ends", ends)
    monkeypatch.setattr(settling, "_PAUSE_S", 0)


def test_a_topic_is_waited_for_until_its_leader_answers() -> None:
    """Not known yet, known without a leader, and told by metadata before its leader has made it."""
    cluster = Told(UNKNOWN, NO_LEADER, NOT_LEADER, NOT_LEADER, 0)
    asyncio.run(settling.until_led(cluster, ["made"]))
    assert cluster.codes == [0]
    assert cluster.asked > 4


def test_what_was_said_last_is_raised_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits in vain is told why."""
    monkeypatch.setattr(settling, "SETTLE_S", 0.0)
    with pytest.raises(BrokerRefusedError) as raised:
        asyncio.run(settling.until_led(Told(NOT_LEADER), ["made"]))
    assert raised.value.code == NOT_LEADER


def test_who_may_not_ask_does_not_wait() -> None:
    """What comes next says what is not allowed, and of what."""
    cluster = Told(DENIED)
    asyncio.run(settling.until_led(cluster, ["made"]))
    assert cluster.asked == 1


def test_a_block_of_producer_ids_is_waited_for() -> None:
    """A broker that has none left answers 14 until the controller has given it more; other codes are raised at once."""
    assert asyncio.run(new_producer_id(Told(LOADING, LOADING, 0))) == 77
    refused = Told(31)
    with pytest.raises(PermissionDeniedError):
        asyncio.run(new_producer_id(refused))
    assert refused.asked == 1
