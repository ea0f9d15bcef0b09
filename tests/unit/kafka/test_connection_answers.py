"""Answers on one connection, fed by hand: each goes to its own request, or the connection ends."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable

import pytest

from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.frames import FramePool
from anabranch.kafka.security import transport_of
from anabranch.model.cluster import ClusterContext, Security, SecurityProtocol, Tls
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S

pytestmark = pytest.mark.unit


class Socket(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.aborted = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Take any."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send it."""

    def abort(self) -> None:
        """End."""
        self.aborted = True


def on(test: Callable[[Connection, Socket], Awaitable[None]]) -> None:
    """Run a test on a connection that is open."""

    async def run() -> None:
        connection, socket = Connection(Transport("c", "User:ANONYMOUS"), "1", "h", FramePool()), Socket()
        connection.connection_made(socket)
        await test(connection, socket)
        connection.abort("over")

    asyncio.run(run())


def arrive(connection: Connection, correlation: int, body: bytes) -> None:
    """An answer comes, a byte at a time."""
    for byte in (4 + len(body)).to_bytes(4) + correlation.to_bytes(4) + body:
        connection.get_buffer(1)[:1] = bytes((byte,))
        connection.buffer_updated(1)


def test_each_answer_goes_to_its_request() -> None:
    """In their order, whatever pieces they arrive in."""

    async def test(connection: Connection, _: Socket) -> None:
        asked = [connection.submit(1, 1, False, [b"x"], LONG_TIMEOUT_S) for _ in range(2)]
        arrive(connection, 1, b"one")
        arrive(connection, 2, b"two")
        assert [bytes((await one).view[4:]) for one in asked] == [b"one", b"two"]

    on(test)


@pytest.mark.parametrize("correlation", [0, 2, 7])
def test_an_answer_to_another_request_ends_the_connection(correlation: int) -> None:
    """Nothing that comes on it can be believed: what was asked has an unknown outcome."""

    async def test(connection: Connection, socket: Socket) -> None:
        asked = [connection.submit(1, 1, False, [b"x"], LONG_TIMEOUT_S) for _ in range(2)]
        arrive(connection, correlation, b"other")
        for one in asked:
            with pytest.raises(ConnectionLostError):
                await asyncio.wait_for(one, TIMEOUT_S)
        assert socket.aborted
        assert connection.in_flight == 0
        with pytest.raises(ConnectionLostError):
            connection.submit(1, 1, False, [b"x"], LONG_TIMEOUT_S)

    on(test)


def test_who_waits_is_told_that_the_connection_ended() -> None:
    """Each of them, at once."""

    async def test(connection: Connection, _: Socket) -> None:
        asked = [connection.submit(1, 1, False, [b"x"], LONG_TIMEOUT_S) for _ in range(3)]
        connection.connection_lost(None)
        assert all(one.done() for one in asked)
        for one in asked:
            with pytest.raises(ConnectionLostError):
                one.result()

    on(test)


def test_certificate_and_host_name_of_a_broker_are_checked() -> None:
    """Without a file of authorities by those of the system: never not at all."""
    security = Security(SecurityProtocol.SSL, Tls())
    tls = transport_of(ClusterContext("c", ("h:1",), security)).tls
    assert tls is not None
    assert (tls.verify_mode, tls.check_hostname) == (ssl.CERT_REQUIRED, True)
