"""A token server that does not answer: whoever waits for a token waits, and nothing else does."""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.message import Message
from typing import Any

import pytest

from anabranch.errors import AnabranchError
from anabranch.kafka import connection as connection_module
from anabranch.kafka import security
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import passing
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClientCredentialsLogin, ClusterContext, Security, SecurityProtocol
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.sandbox import ClusterSpec
from qa.timeouts import TIMEOUT_S
from tests.simulated import Simulated

pytestmark = pytest.mark.unit

TURNS, MANY = 20, 50


@pytest.fixture
def silent() -> Iterator[str]:
    """Where a server takes connections and says nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/token"


@pytest.fixture
def guarded(silent: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClusterContext]:
    """A cluster that wants a token of that server."""
    monkeypatch.setenv("ANABRANCH_TOKEN_SECRET", "secret")
    login = ClientCredentialsLogin(silent, "client", SecretRef(SecretKind.ENV, "ANABRANCH_TOKEN_SECRET"))
    with Simulated(ClusterSpec(name="guarded"), 1) as simulated:
        address = (simulated.bootstrap,)
        yield ClusterContext("guarded", address, Security(SecurityProtocol.SASL_PLAINTEXT, login=login))


def test_while_a_token_is_waited_for_the_event_loop_goes_on(
    guarded: ClusterContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is asked in a thread: the loop turns while that thread is held, however long the server is away."""
    asked, given_up = threading.Event(), threading.Event()

    def held(*_: Any, **__: Any) -> Any:
        assert threading.current_thread() is not threading.main_thread()
        asked.set()
        assert given_up.wait(TIMEOUT_S)
        raise TimeoutError("timed out")

    monkeypatch.setattr(security.urllib.request, "urlopen", held)

    async def ask(cluster: Cluster) -> tuple[int, AnabranchError]:
        waiting = asyncio.create_task(cluster.metadata([]))
        while not asked.is_set():
            await asyncio.sleep(0)
        turns = 0
        for _ in range(TURNS):
            await asyncio.sleep(0)
            turns += not waiting.done()
        given_up.set()
        with pytest.raises(AnabranchError) as failed:
            await waiting
        return turns, failed.value

    turns, error = asyncio.run(_on(guarded, ask))
    assert turns == TURNS
    assert passing(error), "it is asked again later"


def test_a_token_server_that_says_nothing_is_away(guarded: ClusterContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told so, and passes by itself."""
    monkeypatch.setattr(security, "_TOKEN_TIMEOUT_S", 0.02)
    monkeypatch.setattr(connection_module, "OPEN_S", 20.0)

    async def ask(cluster: Cluster) -> AnabranchError:
        with pytest.raises(AnabranchError) as failed:
            await cluster.metadata([])
        return failed.value

    error = asyncio.run(_on(guarded, ask))
    assert "no token" in error.message and "127.0.0.1" in error.message
    assert passing(error)


def test_however_many_wait_for_a_token_names_are_looked_up(
    guarded: ClusterContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop's own threads look names up, for the connections to the other cluster too."""
    given_up, asked, submit = threading.Event(), list[None](), ThreadPoolExecutor.submit

    def held(*_: Any, **__: Any) -> Any:
        assert given_up.wait(TIMEOUT_S)
        raise TimeoutError("timed out")

    def counted(pool: ThreadPoolExecutor, *what: Any, **more: Any) -> Any:
        asked.append(None)
        return submit(pool, *what, **more)

    monkeypatch.setattr(security.urllib.request, "urlopen", held)
    monkeypatch.setattr(ThreadPoolExecutor, "submit", counted)

    async def ask(cluster: Cluster) -> None:
        address = cluster.transport, "guarded", *security.addresses(guarded)[0], cluster.pool
        opening = [asyncio.create_task(Connection.open(*address)) for _ in range(MANY)]
        async with asyncio.timeout(TIMEOUT_S):
            while len(asked) < MANY:
                await asyncio.sleep(0.001)
            await asyncio.get_running_loop().getaddrinfo("127.0.0.1", 1)
        assert not any(task.done() for task in opening)
        given_up.set()
        await asyncio.gather(*opening, return_exceptions=True)

    asyncio.run(_on(guarded, ask))


@pytest.mark.parametrize(
    ("status", "passes"),
    [
        *((status, False) for status in (400, 401, 403, 404)),
        *((status, True) for status in (408, 425, 429, 500, 502, 503, 504)),
    ],
)
def test_a_token_server_that_has_no_time_is_no_refusal(
    status: int, passes: bool, guarded: ClusterContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many requests pass by, and so does whatever is told to a process whose run was let in before."""

    def answered(request: urllib.request.Request, **_: Any) -> Any:
        raise urllib.error.HTTPError(request.full_url, status, "no", Message(), None)

    monkeypatch.setattr(security.urllib.request, "urlopen", answered)

    async def ask(cluster: Cluster) -> AnabranchError:
        with pytest.raises(AnabranchError) as failed:
            await cluster.metadata([])
        return failed.value

    error = asyncio.run(_on(guarded, ask))
    assert f"HTTP Error {status}" in error.message
    assert passing(error) is passes
    assert passing(asyncio.run(_on(guarded, ask, was_let_in=True)))


async def _on(context: ClusterContext, ask: Any, was_let_in: bool = False) -> Any:
    async with open_cluster(context, was_let_in=was_let_in) as cluster:
        return await ask(cluster)
