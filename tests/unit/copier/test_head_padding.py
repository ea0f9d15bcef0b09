"""Whether the head of a target log can be padded, asked of brokers that do not know the topic yet."""

import asyncio
import uuid
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.copier.target import head_padding
from anabranch.copier.target.partition import TargetPartition
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster, ClusterMetadata, TopicMeta
from anabranch.kafka.connection import Transport
from anabranch.kafka.errors import BrokerRefusedError
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.protocol.ownership import Ownership

pytestmark = pytest.mark.unit

TOPIC, PLACE = TopicId(uuid.UUID(int=9)), TopicPartition("t", 0)


class Starting(Cluster):
    """A cluster whose broker has just started, and knows no topic."""

    def __init__(self) -> None:
        super().__init__(Transport("starting", "User:ANONYMOUS"), [])

    async def metadata(self, topics: Iterable[str] | None, operations: bool = False) -> ClusterMetadata:
        nothing = {one: TopicMeta(one, uuid.UUID(int=0), False, 3, {}, None) for one in topics or ()}
        return ClusterMetadata("id", 1, {}, nothing)


def test_a_broker_that_does_not_know_the_topic_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one that was asked for the configs did: that ends this attempt, and not the run."""

    async def configs(*_: Any) -> dict[str, dict[str, admin.Config]]:
        return {"t": {"cleanup.policy": admin.Config("delete", False)}}

    monkeypatch.setattr(admin, "topic_configs", configs)
    lane = LaneAssignment(LaneKey("l", TOPIC, 0), PLACE, PLACE, TOPIC, LaneStart(), ModePolicy.AUTO)
    with pytest.raises(BrokerRefusedError):
        asyncio.run(head_padding.why_not(Starting(), lane, 5))


def test_padding_that_is_cancelled_leaves_no_batch_in_flight() -> None:
    """One alone is in flight until the target is known to take it: it must not be appended behind the next takeover."""
    aborted: list[str] = []

    async def play() -> None:
        sent = asyncio.Event()

        def submit(*_: Any) -> asyncio.Future[Any]:
            sent.set()
            return asyncio.get_running_loop().create_future()

        wire = SimpleNamespace(offers=lambda _: 9, submit=submit, abort=aborted.append)
        place = SimpleNamespace(connection=wire, lane="l", topic="t", topic_id=TOPIC.uuid, partition=0)
        claim = Claim("l", 1, LaneMode.IDENTITY, "me", None, now_ms(), ClaimState.CLAIMED, 9, 0)
        ownership = Ownership("l", LaneMode.IDENTITY, claim, 0, 1, 86_400_000, 0, 0, 0, 0, None, frozenset(), "")
        gate = WriteGate(lambda: 0.0)
        gate.renew(0.0)
        task = asyncio.create_task(head_padding.pad(cast(TargetPartition, place), ownership, gate, lambda _: None))
        await sent.wait()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(play())
    assert len(aborted) == 1
