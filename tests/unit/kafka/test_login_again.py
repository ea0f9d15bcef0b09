"""A login that is made again before its time is over, and one that is refused after it was taken."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from kafka.protocol.metadata import MetadataRequest

from anabranch.config.context_file import read_context
from anabranch.kafka.cluster import REFUSED_S, Cluster
from anabranch.kafka.connection import Connection, Sasl
from anabranch.kafka.errors import AuthenticationError, ConnectionLostError, LoginLostError, NoTokenError, passing
from anabranch.kafka.security import addresses, transport_of
from anabranch.kafka.simulated import ClusterPlan, SimulatedCluster
from qa.simulation.world import World

pytestmark = pytest.mark.test

T = TypeVar("T")
LIFETIME_S = 60.0
SECRET = "ANABRANCH_LOGIN_AGAIN"


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET, "right")


def play(what: Callable[[Cluster, SimulatedCluster], Awaitable[T]], mechanism: str = "PLAIN") -> T:
    """What comes of asking a cluster whose logins hold for a minute; all clocks are virtual."""
    world = World(1)
    plan = ClusterPlan(
        "guarded",
        addresses=[("guarded-1", 9092)],
        users={"me": "right"},
        overrides={"connections.max.reauth.ms": f"{LIFETIME_S * 1000:.0f}"},
        seed=1,
    )
    simulated = world.cluster(plan)
    sasl = {"mechanism": mechanism, "username": "me", "password_env": SECRET}
    fields = {"bootstrap": ["guarded-1:9092"], "security": {"protocol": "SASL_PLAINTEXT", "sasl": sasl}}
    context = read_context("guarded", fields, "here")

    async def run() -> T:
        async with Cluster(transport_of(context), addresses(context)) as cluster:
            return await what(cluster, simulated)

    with world.entered():
        found: T = world.ask(lambda: asyncio.run(run()), 4000.0)
        return found


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_connection_outlives_its_login(mechanism: str) -> None:
    """What is sent meanwhile waits for the new one, and each request has its own answer."""

    async def ask(cluster: Cluster, simulated: SimulatedCluster) -> tuple[bool, int]:
        connection = await cluster.any_connection()
        answers = 0
        for _ in range(200):
            await asyncio.gather(*(cluster.metadata([]) for _ in range(3)))
            answers += 3
            await asyncio.sleep(random.uniform(0, LIFETIME_S / 20))
        return await cluster.any_connection() is connection, answers

    assert play(ask, mechanism) == (True, 600)


def test_an_idle_connection_outlives_its_login() -> None:
    """Nobody asks anything for ten of its lifetimes."""

    async def ask(cluster: Cluster, simulated: SimulatedCluster) -> bool:
        connection = await cluster.any_connection()
        for _ in range(20):
            await asyncio.sleep(LIFETIME_S / 2)
        await cluster.metadata([])
        return connection.closed is None

    assert play(ask)


def test_what_is_sent_while_the_login_is_made_again_leaves_after_it() -> None:
    """A broker takes anything else for a part of the login, and closes the connection."""

    async def ask(cluster: Cluster, simulated: SimulatedCluster) -> int:
        connection = await cluster.any_connection()
        met = 0
        while met < 3:
            await asyncio.sleep(0.8 * LIFETIME_S)
            while not connection.is_renewing:
                await asyncio.sleep(0.002)
            await cluster.metadata([])
            assert connection.closed is None
            met += 1
        return met

    assert play(ask, "SCRAM-SHA-256") == 3


def test_a_password_that_is_refused_later_is_tried_again_and_not_too_often() -> None:
    """A broker that cannot look a user up says the same; a directory locks out who is refused in a row."""

    async def ask(cluster: Cluster, simulated: SimulatedCluster) -> tuple[int, bool]:
        tried = 0
        opens = Connection.open

        async def counted(*arguments: Any, **more: Any) -> Connection:
            nonlocal tried
            tried += 1
            return await opens(*arguments, **more)

        connection = await cluster.any_connection()
        simulated.access.users["me"] = "another"
        connection.abort("for the test")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Connection, "open", counted)
            for _ in range(100):
                with pytest.raises(LoginLostError) as lost:
                    await cluster.any_connection()
                await asyncio.sleep(4 * REFUSED_S / 100)
        simulated.access.users["me"] = "right"
        await asyncio.sleep(REFUSED_S)
        await cluster.metadata([])
        return tried, passing(lost.value)

    tried, passes = play(ask)
    assert passes
    assert tried <= 5


def test_a_password_that_was_never_taken_is_an_error_at_once() -> None:
    """Nobody waits for what cannot come right by itself."""

    async def ask(cluster: Cluster, simulated: SimulatedCluster) -> AuthenticationError:
        simulated.access.users["me"] = "another"
        with pytest.raises(AuthenticationError) as refused:
            await cluster.any_connection()
        return refused.value

    error = play(ask)
    assert type(error) is AuthenticationError
    assert not passing(error)


@pytest.mark.parametrize("away_s", [3.0, 1000.0])
def test_a_token_that_cannot_be_had_is_asked_for_until_the_login_is_over(away_s: float) -> None:
    """Nothing is held up meanwhile; then the connection ends, as the broker would end it."""

    async def ask(cluster: Cluster, simulated: SimulatedCluster) -> tuple[bool, float]:
        inner = cluster.transport.sasl
        assert inner is not None
        loop = asyncio.get_running_loop()
        away_from = loop.time() + 1.0

        def conversation(host: str) -> Any:
            if away_from < loop.time() < away_from + LIFETIME_S + away_s - 10.0:
                raise NoTokenError("guarded", "https://tokens", "away")
            return inner.conversation(host)

        cluster.transport = replace(cluster.transport, sasl=Sasl(inner.mechanism, conversation))
        connection = await cluster.any_connection()
        began = loop.time()
        while connection.closed is None and loop.time() < began + 3 * LIFETIME_S:
            try:
                await cluster.metadata([])
            except ConnectionLostError:
                break
            await asyncio.sleep(0.05)
        return connection.closed is None, loop.time() - began

    holds, seconds = play(ask)
    assert holds is (away_s < 10.0)
    assert holds or 0.9 * LIFETIME_S <= seconds <= LIFETIME_S + 1.0


def test_a_login_that_is_refused_when_it_is_made_again_ends_the_connection() -> None:
    """What waits for it is not sent, and told as lost; it is not left waiting."""

    async def ask(cluster: Cluster, simulated: SimulatedCluster) -> tuple[str, list[str]]:
        connection = await cluster.any_connection()
        simulated.access.users["me"] = "another"
        while not connection.is_renewing and connection.closed is None:
            await asyncio.sleep(0.002)
        held = await asyncio.gather(
            *(connection.call(MetadataRequest(topics=[])) for _ in range(2)), return_exceptions=True
        )
        assert connection.closed is not None
        return connection.closed.reason, [type(one).__name__ for one in held]

    reason, held = play(ask)
    assert reason.startswith("the login could not be made again: cluster guarded refused")
    assert held == ["ConnectionLostError"] * 2


def test_a_connection_that_ends_while_its_login_is_made_again_leaves_nobody_waiting() -> None:
    """Whoever was held up is told, and nothing of it is sent."""

    async def ask(cluster: Cluster, simulated: SimulatedCluster) -> list[str]:
        connection = await cluster.any_connection()
        while not connection.is_renewing:
            await asyncio.sleep(0.002)
        held = [asyncio.ensure_future(connection.call(MetadataRequest(topics=[]))) for _ in range(2)]
        await asyncio.sleep(0)
        assert connection.in_flight == 3
        connection.abort("for the test")
        told = await asyncio.gather(*held, return_exceptions=True)
        await asyncio.sleep(LIFETIME_S)
        assert connection.in_flight == 0
        assert not connection.is_renewing
        return [str(getattr(one, "reason", one)) for one in told]

    assert play(ask, "SCRAM-SHA-256") == ["for the test"] * 2
