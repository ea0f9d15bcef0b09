"""Many who want one connection at once."""

import asyncio
from typing import Any, cast

import pytest

from anabranch.kafka import cluster as module
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.errors import ConnectionLostError, UnreachableError

pytestmark = pytest.mark.unit


TURNS = 100
"""Of the event loop: in so many each task comes to where it waits."""


class Broker:
    """One that is silent until it answers; counts who tried."""

    closed = None

    def __init__(self) -> None:
        self.tries = 0
        self.answers = False

    async def open(self, *_: Any) -> Connection:
        """In place of ``Connection.open``."""
        self.tries += 1
        for _ in range(TURNS):
            await asyncio.sleep(0)
        if not self.answers:
            raise ConnectionLostError("c", "h:1", "no answer in time")
        return cast(Connection, self)


@pytest.mark.parametrize("node", [1, None])
def test_who_waits_for_a_broker_that_does_not_answer_waits_for_one_attempt(
    node: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt takes ten seconds: one after the other they would hold up every takeover of a worker for minutes."""
    broker = Broker()
    monkeypatch.setattr(module.Connection, "open", broker.open)

    async def play() -> tuple[list[Any], int, int]:
        cluster = Cluster(Transport("c", "User:ANONYMOUS"), [("h", 1)])
        if node is not None:
            cluster._known.brokers = {node: ("h", 1)}

        async def want() -> list[Any]:
            asked = (cluster.any_connection() if node is None else cluster.connection(node) for _ in range(16))
            return await asyncio.gather(*asked, return_exceptions=True)

        lost = await want()
        tries = broker.tries
        broker.answers = True
        assert await want() == [broker] * 16
        return lost, tries, broker.tries

    lost, tries, after = asyncio.run(play())
    assert [type(one) for one in lost] == [ConnectionLostError if node else UnreachableError] * 16
    assert (tries, after) == (2, 3)
