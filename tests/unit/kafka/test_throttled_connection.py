"""A broker that throttles a client says for how long, and reads nothing from the connection meanwhile (KIP-219)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import MOST_THROTTLED_S, Connection, Transport
from anabranch.kafka.frames import FramePool
from anabranch.kafka.log import PURPOSE, KeyedLog
from anabranch.kafka.settling import until_led
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.sandbox import ClusterSpec
from tests.simulated import Simulated
from tests.unit.asking import on

pytestmark = pytest.mark.unit


def ends(steps: Callable[[Connection, Callable[[], object]], None]) -> bool:
    """Whether a connection ends that looks for late answers after these steps; ``send`` sends what is late at once."""

    async def play() -> bool:
        connection = Connection(Transport("c", "User:x"), "n", "h", FramePool())
        connection._wire = cast(Any, SimpleNamespace(write=lambda _: None, abort=lambda: None))
        steps(connection, lambda: connection.submit(0, 9, True, (b"",), -1.0))
        connection._check_deadline()
        return connection.closed is not None

    return asyncio.run(play())


def test_what_waits_on_a_throttled_connection_has_that_much_longer() -> None:
    """Else the answer that comes late would end the connection, and with it the ownership of its lanes."""

    def throttled(connection: Connection, send: Callable[[], object]) -> None:
        send()
        connection.throttled(60.0)

    assert ends(lambda _, send: (send(), None)[1])
    assert not ends(throttled)


def test_what_is_sent_on_a_throttled_connection_has_longer_too() -> None:
    """It is read only when the time is over; without a throttle nothing changes."""

    def throttled(connection: Connection, send: Callable[[], object]) -> None:
        connection.throttled(60.0)
        send()

    def free(connection: Connection, send: Callable[[], object]) -> None:
        connection.throttled(0.0)
        send()

    assert not ends(throttled)
    assert ends(free)


def test_a_broker_is_not_waited_for_without_an_end() -> None:
    """What it says is a number on the wire."""

    async def play() -> float:
        connection = Connection(Transport("c", "User:x"), "n", "h", FramePool())
        connection.throttled(2e6)
        return connection._throttled_until - time.monotonic()

    assert asyncio.run(play()) <= MOST_THROTTLED_S


def test_an_append_to_a_control_topic_tells_its_connection() -> None:
    """The connection is that of the reads, which come next."""
    with Simulated(ClusterSpec(name="one")) as simulated:

        async def play(cluster: Cluster) -> float:
            await create_topic(cluster, "control", 1, 1, {})
            await until_led(cluster, ["control"])
            simulated.served.do(lambda one: setattr(one, "produce_throttle_ms", 60_000))
            assert await KeyedLog(cluster, "control").append([(b"k", b"v")], now_ms()) == 0
            _, part = await cluster.partition("control", 0)
            connection = await cluster.connection(part.leader, PURPOSE)
            return connection._throttled_until - time.monotonic()

        assert on(ClusterContext("one", (simulated.bootstrap,)), play) > 30
