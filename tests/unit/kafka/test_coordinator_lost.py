"""A transaction coordinator whose broker is gone is looked for again."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.admin import DeleteGroupsRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Transport
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.groups import coordinators
from anabranch.kafka.partitions import transactional_producer_id

pytestmark = pytest.mark.unit


class Moving(Cluster):
    """A cluster whose broker 1 coordinates everything until it is gone, and broker 2 from then on."""

    def __init__(self) -> None:
        super().__init__(Transport("moving", "User:ANONYMOUS"), [])
        self.alive = True

    async def call(self, request: Any, node: int | None = None, timeout: float = 30.0, cap: int | None = None) -> Any:
        if isinstance(request, FindCoordinatorRequest):
            found = SimpleNamespace(error_code=0, node_id=1 if self.alive else 2, host="h", port=1)
            return SimpleNamespace(coordinators=[found])
        if node == 1 and not self.alive:
            raise ConnectionLostError(self.name, "1", "gone")
        return SimpleNamespace(error_code=0, producer_id=7, producer_epoch=node)


def test_a_coordinator_that_was_lost_is_looked_for_again() -> None:
    """A broker that is gone cannot say that another one coordinates now: asked for ever, the lane would stand still."""
    cluster = Moving()
    assert asyncio.run(transactional_producer_id(cluster, "x")) == (0, 7, 1)
    cluster.alive = False
    with pytest.raises(ConnectionLostError):
        asyncio.run(transactional_producer_id(cluster, "x"))
    assert asyncio.run(transactional_producer_id(cluster, "x")) == (0, 7, 2)


class Handing(Cluster):
    """A cluster whose broker 1 has handed a group over to broker 2, and says so."""

    def __init__(self) -> None:
        super().__init__(Transport("handing", "User:ANONYMOUS"), [])
        self.asked: list[int | None] = []

    async def call(self, request: Any, node: int | None = None, timeout: float = 30.0, cap: int | None = None) -> Any:
        if isinstance(request, FindCoordinatorRequest):
            found = SimpleNamespace(error_code=0, node_id=2 if self.asked else 1, host="h", port=1)
            return SimpleNamespace(coordinators=[found])
        self.asked.append(node)
        return SimpleNamespace(error_code=16 if node == 1 else 0)


def test_a_group_that_was_handed_over_is_asked_for_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """NOT_COORDINATOR means that nothing was done: the coordinator is looked for again, and the request sent there."""
    monkeypatch.setattr(coordinators, "_PAUSE_S", 0.0)
    monkeypatch.setattr(coordinators, "TIMEOUT_S", 0.05)
    cluster, request = Handing(), DeleteGroupsRequest(groups_names=["g"])
    answer = asyncio.run(coordinators.ask_group(cluster, "g", request, lambda found: int(found.error_code)))
    assert (answer.error_code, cluster.asked) == (0, [1, 2])
