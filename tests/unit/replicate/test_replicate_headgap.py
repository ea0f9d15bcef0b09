"""Whether the head of a target log can be padded, asked of brokers that do not know the topic yet."""

import asyncio
import uuid
from collections.abc import Iterable
from typing import Any

import pytest

from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster, Metadata, TopicMeta
from anabranch.kafka.connection import Transport
from anabranch.kafka.errors import BrokerRefusedError
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.replicate import headgap

pytestmark = pytest.mark.unit

TOPIC, PLACE = TopicId(uuid.UUID(int=9)), TopicPartition("t", 0)


class Starting(Cluster):
    """A cluster whose broker has just started, and knows no topic."""

    def __init__(self) -> None:
        super().__init__(Transport("starting", "User:ANONYMOUS"), [])

    async def metadata(self, topics: Iterable[str] | None, operations: bool = False) -> Metadata:
        nothing = {one: TopicMeta(one, uuid.UUID(int=0), False, 3, {}, None) for one in topics or ()}
        return Metadata("id", 1, {}, nothing)


def test_a_broker_that_does_not_know_the_topic_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one that was asked for the configs did: that ends this attempt, and not the run."""

    async def configs(*_: Any) -> dict[str, dict[str, admin.Config]]:
        return {"t": {"cleanup.policy": admin.Config("delete", False)}}

    monkeypatch.setattr(admin, "topic_configs", configs)
    lane = LaneAssignment(LaneKey("l", TOPIC, 0), PLACE, PLACE, TOPIC, LaneStart(), ModePolicy.AUTO)
    with pytest.raises(BrokerRefusedError):
        asyncio.run(headgap.why_not(Starting(), lane, 5))
