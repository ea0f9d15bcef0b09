"""What `connections.max.idle.ms` does to a client's connections: which are closed, when, and which are not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from anabranch.kafka import fetch
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.frames import Frame
from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa.brokers import STEADY
from qa.timeouts import TIMEOUT_S
from tests.contract.conftest import EVERY, new_log, running
from tests.contract.lab import Log

pytestmark = pytest.mark.full

IDLE_S = 2.0


@pytest.fixture(scope="module", params=[one for one in EVERY if "4.0.0" not in str(one.values[0])])
def impatient(request: pytest.FixtureRequest) -> Iterator[SandboxCluster]:
    """A one-broker cluster that closes connections after two seconds."""
    version, _, simulated = request.param.partition("-")
    overrides = STEADY | {"connections.max.idle.ms": str(int(IDLE_S * 1000))}
    spec = ClusterSpec(f"idle-{version.replace('.', '-')}", version=version, overrides=overrides)
    with running(spec, simulated=bool(simulated)) as found:
        yield found


@pytest.fixture
async def log(impatient: SandboxCluster, request: pytest.FixtureRequest) -> AsyncIterator[Log]:
    """A fresh topic's only partition."""
    async with new_log(impatient, request) as made:
        yield made


async def ended_after(connection: Connection) -> float:
    """How long it takes until the broker has closed a connection, in seconds."""
    begun = time.monotonic()
    async with asyncio.timeout(TIMEOUT_S):
        while connection.closed is None:
            await asyncio.sleep(0.02)
    assert connection.closed.reason == "closed by the broker"
    return time.monotonic() - begun


async def test_a_connection_on_which_nothing_is_asked_is_closed_after_that_time(log: Log) -> None:
    """Not before; and a new one is served at once."""
    assert await log.true_end() == 0
    assert await ended_after(log.connection) > IDLE_S * 0.9
    await log.reconnect()
    assert await log.true_end() == 0


async def test_a_connection_that_asks_now_and_then_stays(log: Log) -> None:
    """However long it is open."""
    for _ in range(6):
        await asyncio.sleep(IDLE_S / 2)
        assert await log.true_end() == 0


def waiting(log: Log, seconds: float) -> asyncio.Future[Frame]:
    """A fetch on an empty log, which is answered after so long."""
    wanted = fetch.PartitionFetch(log.topic, log.meta.id, 0, log.leader_epoch, 0, -1, 1 << 20)
    return fetch.submit(log.connection, [wanted], max_wait_ms=int(seconds * 1000), max_bytes=1 << 20)


async def test_a_connection_that_waits_longer_than_that_for_an_answer_is_closed(log: Log) -> None:
    """As one on which nothing was asked: the answer never comes."""
    with pytest.raises(ConnectionLostError, match="closed by the broker"):
        await waiting(log, 3 * IDLE_S)


async def test_an_answer_counts_as_well_as_a_question(log: Log) -> None:
    """The time begins again with it."""
    (await waiting(log, IDLE_S * 0.6)).release()
    assert await ended_after(log.connection) > IDLE_S * 0.9
