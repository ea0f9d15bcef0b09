"""A topic is gone once all brokers have said so for a while: where they could not be asked, the while begins again."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.planning import remembered_topics
from anabranch.copier.planning.planner import Planner
from anabranch.copier.source import missing
from anabranch.errors import ClusterError
from anabranch.kafka import log as log_module
from anabranch.kafka import presence
from anabranch.kafka.cluster import Cluster, ClusterMetadata, PartitionMeta, TopicMeta
from anabranch.kafka.connection import Transport
from anabranch.kafka.errors import UNKNOWN_TOPIC, ConnectionLostError
from anabranch.kafka.log import KeyedLog, LogChangedError, _Read
from anabranch.kafka.presence import GONE_S, Presence, UnknownTopicError
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition

pytestmark = pytest.mark.unit

NAME, ID = "orders", uuid.UUID(int=7)
META = TopicMeta(NAME, ID, False, 0, {0: PartitionMeta(1, 0, (1,), (1,), 0)}, None)
CLUSTER = Cluster(Transport("old", "User:me"), [])
UNKNOWN, AWAY = Presence(NAME, unaware=(1,)), ConnectionLostError("old", "1", "gone")
Look = Callable[[], Awaitable[bool]]
"""Asks once; whether the topic counts as gone now."""


class Scene:
    """A clock, and what brokers say at it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.says: Presence | ClusterError = UNKNOWN

    async def ask_all(self, cluster: Cluster, wanted: Mapping[str, uuid.UUID]) -> dict[str, Presence]:
        """In place of asking brokers."""
        if isinstance(self.says, ClusterError):
            raise self.says
        return dict.fromkeys(wanted, self.says)


def a_lane(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Look:
    """A lane whose source topic is looked for."""
    monkeypatch.setattr(missing, "PAUSE_S", 0.0)
    monkeypatch.setattr(presence, "time", SimpleNamespace(monotonic=lambda: scene.now))
    monkeypatch.setattr(missing, "ask_all", scene.ask_all)
    at = TopicPartition(NAME, 0)
    key = LaneKey("link", TopicId(ID), 0)
    lane = Lane(LaneAssignment(key, at, at, TopicId(ID), LaneStart(), ModePolicy.AUTO))

    async def look() -> bool:
        await missing.look_for(CLUSTER, [lane], lambda *_: None)
        return lane.phase is LanePhase.STOPPED

    return look


def a_plan(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Look:
    """A topic that was planned before."""
    monkeypatch.setattr(presence, "time", SimpleNamespace(monotonic=lambda: scene.now))
    monkeypatch.setattr(remembered_topics, "ask_all", scene.ask_all)
    planner = Planner("link", CLUSTER, CLUSTER)
    asyncio.run(planner._source_topics.put_back(ClusterMetadata("old", 1, {}, {NAME: META}), {NAME: ID}))
    there = ClusterMetadata("old", 1, {}, {})

    async def plan() -> None:
        if isinstance(scene.says, ClusterError):
            raise scene.says
        there.topics.clear()
        await planner._source_topics.put_back(there, {NAME: ID})

    monkeypatch.setattr(planner, "_plan", plan)

    async def look() -> bool:
        try:
            await planner.plan()
        except ClusterError:
            return False
        return NAME not in there.topics

    return look


def a_control_topic(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Look:
    """A log that was read before."""
    for module in (log_module, presence):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: scene.now))
    log = KeyedLog(CLUSTER, NAME)
    log.position, log._read = 3, _Read(ID, 0, 0, 0)

    async def locate(*asked: Any) -> Any:
        if isinstance(scene.says, ClusterError):
            raise scene.says
        raise UnknownTopicError("old", "Metadata", NAME, UNKNOWN_TOPIC, "", by_all=True)

    monkeypatch.setattr(log_module, "locate", locate)

    async def look() -> bool:
        try:
            await log.read()
        except LogChangedError:
            return True
        except ClusterError:
            return False
        return False

    return look


@pytest.mark.parametrize("who", [a_lane, a_plan, a_control_topic])
def test_two_moments_are_no_while(
    who: Callable[[Scene, pytest.MonkeyPatch], Look], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brokers that know no topics as they start, are away, and start again, have not said it all the time."""
    scene = Scene()
    look = who(scene, monkeypatch)

    async def said(after: float, says: Presence | ClusterError) -> bool:
        scene.now, scene.says = scene.now + after, says
        return await look()

    async def play() -> list[bool]:
        return [
            await said(1.0, UNKNOWN),
            await said(GONE_S - 1.0, AWAY),
            await said(2.0, UNKNOWN),
            await said(GONE_S - 1.0, UNKNOWN),
            await said(1.0, UNKNOWN),
        ]

    assert asyncio.run(play()) == [False, False, False, False, True]
