"""What opens a connection: versions, a login, and what is said where a broker refuses either."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import pytest
from kafka.protocol.admin import DeleteGroupsRequest
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse
from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from anabranch.kafka.connection import Connection, Sasl, Transport
from anabranch.kafka.errors import AuthenticationError, ConnectionLostError, UnsupportedApiError
from anabranch.kafka.frames import FramePool
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.unit

T = TypeVar("T")
VERSIONS, HANDSHAKE, AUTHENTICATE, METADATA = 18, 17, 36, 3
REQUESTS = {
    VERSIONS: ApiVersionsRequest,
    HANDSHAKE: SaslHandshakeRequest,
    AUTHENTICATE: SaslAuthenticateRequest,
    METADATA: MetadataRequest,
}
KNOWN = [(VERSIONS, 0, 3), (HANDSHAKE, 0, 1), (AUTHENTICATE, 0, 2), (METADATA, 4, 8)]


def offered(rows: Sequence[tuple[int, int, int]] = KNOWN) -> Any:
    """What a broker takes: of each request the oldest and the newest version."""
    row = ApiVersionsResponse.ApiVersion
    return ApiVersionsResponse(
        api_keys=[row(api_key=key, min_version=low, max_version=high) for key, low, high in rows]
    )


class Broker(asyncio.Transport):
    """The other end: gives these answers one after the other, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self.asked: list[tuple[int, int, Any]] = []
        self.aborted = False
        self.connection: Connection | None = None
        self._answers = list(answers)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Take any."""

    def abort(self) -> None:
        """End."""
        self.aborted = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Read the request, and answer it a moment later."""
        raw = bytes(data)
        key, version = int.from_bytes(raw[4:6]), int.from_bytes(raw[6:8])
        kind = REQUESTS[key]
        body = raw[14 + int.from_bytes(raw[12:14]) :]
        body = body[1:] if kind.flexible_version_q(version) else body
        self.asked.append((key, version, kind.decode(body, version=version)))
        answer = self._answers.pop(0)
        if isinstance(answer, bytes):
            told = answer
        else:
            written = 0 if key == VERSIONS and answer.error_code == 35 else version
            flexible = kind.flexible_version_q(version) and key != VERSIONS
            told = raw[8:12] + (b"\0" if flexible else b"") + answer.encode(version=written)
            told = len(told).to_bytes(4) + told
        asyncio.get_running_loop().call_soon(self.send, told)

    def send(self, data: bytes) -> None:
        """It arrives."""
        assert self.connection is not None
        while data:
            view = self.connection.get_buffer(-1)
            size = min(len(view), len(data))
            view[:size] = data[:size]
            self.connection.buffer_updated(size)
            data = data[size:]


def opened(
    broker: Broker,
    sasl: Sasl | None = None,
    ask: Callable[[Connection], Awaitable[T]] | None = None,
    tls: ssl.SSLContext | None = None,
) -> T | None:
    """Open a connection to a broker, and ask something."""

    async def run() -> T | None:
        loop = asyncio.get_running_loop()

        async def connect(factory: Callable[[], Any], *_: Any, **__: Any) -> tuple[None, Any]:
            made = broker.connection = factory()
            made.connection_made(broker)
            return None, made

        loop.create_connection = connect  # type: ignore[assignment,method-assign]
        connection = await Connection.open(Transport("c", "User:me", tls, sasl), "n", "h", 9092, FramePool())
        found = None if ask is None else await ask(connection)
        connection.abort("over")
        return found

    return asyncio.run(run())


def test_the_versions_that_a_broker_offers_are_learnt_first() -> None:
    """In the newest format."""
    broker = Broker(offered())

    async def ask(connection: Connection) -> dict[int, tuple[int, int]]:
        return connection.versions

    assert opened(broker, None, ask) == {key: (low, high) for key, low, high in KNOWN}
    assert [(key, version) for key, version, _ in broker.asked] == [(VERSIONS, 3)]
    assert broker.asked[0][2].client_software_name == "anabranch"


def test_a_broker_that_does_not_know_the_newest_format_is_asked_in_the_oldest() -> None:
    """Its refusal is written in that."""
    broker = Broker(ApiVersionsResponse(error_code=35), offered([(METADATA, 1, 5)]))

    async def ask(connection: Connection) -> tuple[int, int]:
        return connection.offers(METADATA), connection.offers(VERSIONS)

    assert opened(broker, None, ask) == (5, -1)
    assert [version for _, version, _ in broker.asked] == [3, 0]


@pytest.mark.parametrize(
    ("offer", "cap", "chosen"), [((4, 8), None, 8), ((4, 8), 6, 6), ((4, 8), 9, 8), ((6, 99), 6, 6)]
)
def test_the_newest_version_that_both_sides_know_is_spoken(
    offer: tuple[int, int], cap: int | None, chosen: int
) -> None:
    """And none above what the caller reads."""
    broker = Broker(offered([(METADATA, *offer)]), MetadataResponse(cluster_id="it"))

    async def ask(connection: Connection) -> str:
        return str((await connection.call(MetadataRequest(topics=[]), cap=cap)).cluster_id)

    assert opened(broker, None, ask) == "it"
    assert broker.asked[1][:2] == (METADATA, chosen)


@pytest.mark.parametrize(
    ("rows", "told"), [([(METADATA, 9, 12)], "v9 to v12"), ([], "not"), ([(METADATA, 0, -1)], "not")]
)
def test_a_version_that_only_one_side_knows_is_not_spoken(rows: Sequence[tuple[int, int, int]], told: str) -> None:
    """What the broker offers instead is told, and nothing is sent."""
    broker = Broker(offered(rows))

    async def ask(connection: Connection) -> UnsupportedApiError:
        with pytest.raises(UnsupportedApiError) as refused:
            await connection.call(MetadataRequest(topics=[]), cap=8)
        return refused.value

    error = opened(broker, None, ask)
    assert error is not None
    assert (error.offered, error.request) == (told, "MetadataRequest")
    assert len(broker.asked) == 1


def test_an_api_that_is_too_new_for_a_broker_names_what_is_needed() -> None:
    """By the versions that could be spoken."""
    broker = Broker(offered())

    async def ask(connection: Connection) -> str:
        with pytest.raises(UnsupportedApiError) as refused:
            await connection.call(DeleteGroupsRequest(groups_names=[]), cap=1)
        return refused.value.needed

    assert opened(broker, None, ask) == "v0 to v1"


class Talk:
    """A conversation of some words; a ``None`` is one that cannot be said."""

    def __init__(self, *words: str | None) -> None:
        self.words = list(words)
        self.heard: list[bytes] = []

    def auth_bytes(self) -> bytes:
        word = self.words.pop(0)
        if word is None:
            raise ValueError("what the broker said is wrong")
        return word.encode()

    def receive(self, data: bytes) -> None:
        self.heard.append(data)
        if data == b"forged":
            raise ValueError("the broker's signature is wrong")

    def is_done(self) -> bool:
        return not self.words


def word(text: str, **more: Any) -> Any:
    """What the broker says in it."""
    return SaslAuthenticateResponse(auth_bytes=text.encode(), **more)


def logged_in(talk: Talk, *answers: Any) -> Broker:
    """Open a connection with a login."""
    broker = Broker(offered(), *answers)
    hosts = []

    def conversation(host: str) -> Talk:
        hosts.append(host)
        return talk

    opened(broker, Sasl("PLAIN", conversation))
    assert hosts == ["h"]
    return broker


HELLO = SaslHandshakeResponse(mechanisms=["PLAIN"])


def test_a_login_goes_on_until_the_conversation_is_done() -> None:
    """What one side says is told to the other, in turn."""
    talk = Talk("first", "second", "third")
    broker = logged_in(talk, HELLO, word("a"), word("b"), word("c"))
    assert talk.heard == [b"a", b"b", b"c"]
    assert broker.asked[1][2].mechanism == "PLAIN"
    assert [bytes(one.auth_bytes) for key, _, one in broker.asked if key == AUTHENTICATE] == [
        b"first",
        b"second",
        b"third",
    ]


def test_a_login_that_holds_for_good_is_not_made_again() -> None:
    """A broker that limits none says 0, or nothing."""
    broker = Broker(offered(), HELLO, word("a", session_lifetime_ms=0))

    async def ask(connection: Connection) -> bool:
        for _ in range(20):
            await asyncio.sleep(0)
        return connection.is_renewing

    assert opened(broker, Sasl("PLAIN", lambda _: Talk("first")), ask) is False
    assert [key for key, _, _ in broker.asked] == [VERSIONS, HANDSHAKE, AUTHENTICATE]


def test_a_login_is_made_again_before_its_time_is_over() -> None:
    """Not at once, and not so late that the broker closes the connection meanwhile."""
    life_s = 1_000 * TIMEOUT_S
    broker = Broker(offered(), HELLO, word("a", session_lifetime_ms=round(1_000 * life_s)))

    async def ask(connection: Connection) -> float:
        assert connection._renewal is not None
        return connection._renewal.when() - asyncio.get_running_loop().time()

    after_s = opened(broker, Sasl("PLAIN", lambda _: Talk("first")), ask)
    assert after_s is not None
    assert 0.85 * life_s - TIMEOUT_S < after_s <= 0.95 * life_s


@pytest.mark.parametrize(
    ("talk", "answers", "reason"),
    [
        (Talk(None), (), "what the broker said is wrong"),
        (
            Talk("first"),
            (SaslHandshakeResponse(error_code=33, mechanisms=["GSSAPI", "SCRAM-SHA-512"]),),
            "the listener offers GSSAPI, SCRAM-SHA-512",
        ),
        (Talk("first"), (SaslHandshakeResponse(error_code=33, mechanisms=[]),), "the listener offers none"),
        (Talk("first"), (HELLO, word("", error_code=58, error_message="no such user")), "no such user"),
        (Talk("first"), (HELLO, word("", error_code=58)), "wrong credentials"),
        (Talk("first", "second"), (HELLO, word("a"), word("", error_code=58)), "wrong credentials"),
        (Talk("first"), (HELLO, word("forged")), "the broker's signature is wrong"),
        (Talk("first", None), (HELLO, word("a")), "what the broker said is wrong"),
    ],
)
def test_a_login_that_fails_says_why(talk: Talk, answers: Sequence[Any], reason: str) -> None:
    """Whoever refuses whom; such a connection is not used, and not left open."""
    broker = Broker(offered(), *answers)
    with pytest.raises(AuthenticationError) as refused:
        opened(broker, Sasl("PLAIN", lambda _: talk))
    error = refused.value
    assert (error.cluster, error.principal, error.mechanism, error.reason) == ("c", "User:me", "PLAIN", reason)
    assert broker.aborted


@pytest.mark.parametrize(
    ("alert", "told"),
    [
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "certificate required"),
        ("SSLV3_ALERT_CERTIFICATE_EXPIRED", "certificate expired"),
        ("TLSV1_ALERT_UNKNOWN_CA", "unknown ca"),
    ],
)
@pytest.mark.parametrize("later", [True, False], ids=["after the handshake", "within the handshake"])
def test_a_broker_that_does_not_take_our_certificate_is_said_to_refuse_us(alert: str, told: str, later: bool) -> None:
    """With TLS 1.3 it says so when the handshake is over for us; else it would count as a broker that is away."""
    error = ssl.SSLError(1, "alert")
    error.reason = alert

    async def run() -> None:
        loop = asyncio.get_running_loop()

        async def connect(factory: Callable[[], Any], *_: Any, **__: Any) -> tuple[None, Any]:
            if not later:
                raise error
            made = factory()
            made.connection_made(Silent())
            loop.call_soon(made.connection_lost, error)
            return None, made

        loop.create_connection = connect  # type: ignore[assignment,method-assign]
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        await Connection.open(Transport("c", "User:me", tls), "n", "h", 9092, FramePool())

    with pytest.raises(AuthenticationError) as refused:
        asyncio.run(run())
    assert refused.value.mechanism == "TLS"
    assert refused.value.reason == f"the broker did not take our certificate: {told}"


def failing(error: BaseException, tls: ssl.SSLContext | None = None) -> Connection:
    """Open a connection that cannot be made."""

    async def run() -> Connection:
        async def connect(*_: Any, **__: Any) -> None:
            raise error

        asyncio.get_running_loop().create_connection = connect  # type: ignore[assignment,method-assign]
        return await Connection.open(Transport("c", "User:me", tls), "n", "h", 9092, FramePool())

    return asyncio.run(run())


def ssl_error(reason: str | None, text: str = "it") -> ssl.SSLError:
    """What the library of TLS raises."""
    error = ssl.SSLError(1, text)
    error.reason = reason  # type: ignore[assignment]
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.EHOSTUNREACH, "Connect call failed ('h', 9092)"), os.strerror(errno.EHOSTUNREACH)),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed"), os.strerror(errno.ECONNREFUSED)),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "Name or service not known"),
        (OSError("Multiple exceptions"), "Multiple exceptions"),
        (OSError(), "connection ended"),
        (TimeoutError(), "no answer in time"),
        (ssl_error("TLSV1_ALERT_PROTOCOL_VERSION"), "tlsv1 alert protocol version"),
        (ssl_error("CERTIFICATE_VERIFY_FAILED"), "certificate verify failed"),
        (ssl_error(None, "unexpected eof"), "unexpected eof"),
    ],
)
def test_a_connection_that_cannot_be_made_says_why_in_the_systems_words(error: OSError, reason: str) -> None:
    """An alert that is not about our certificate refuses nobody: it is a broker that is not reached."""
    with pytest.raises(ConnectionLostError) as lost:
        failing(error)
    assert (lost.value.cluster, lost.value.node, lost.value.reason) == ("c", "h:9092", reason)


class Silent(Broker):
    """Answers nothing."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Take it."""


def test_what_is_no_answer_of_kafka_ends_the_connection() -> None:
    """A web server's words are no length: nothing so large is waited for, nor anything so small."""
    for text in (b"HTTP/1.1 400 Bad Request\r\n", b"\0\0\0\3abc"):
        broker = Broker(text)
        with pytest.raises(ConnectionLostError, match="is this a Kafka listener"):
            opened(broker)
        assert broker.aborted


def test_an_answer_that_nobody_asked_for_ends_the_connection() -> None:
    """Nobody knows which later one it would be taken for."""
    broker = Broker(offered())

    async def ask(connection: Connection) -> str:
        broker.send(b"\0\0\0\5\0\0\0\2x")
        assert connection.closed is not None
        with pytest.raises(ConnectionLostError):
            await connection.call(MetadataRequest(topics=[]))
        return connection.closed.reason

    assert opened(broker, None, ask) == "an answer to no request"
    assert broker.aborted


def test_whoever_sends_much_is_held_up_while_the_kernel_takes_no_more() -> None:
    """And let go when it does, or when the connection has ended."""

    async def ask(connection: Connection) -> list[bool]:
        seen = [connection.writable.is_set()]
        for step in (connection.pause_writing, connection.resume_writing, connection.pause_writing):
            step()
            seen.append(connection.writable.is_set())
        connection.abort("gone")
        return [*seen, connection.writable.is_set()]

    assert opened(Broker(offered()), None, ask) == [True, False, True, False, True]


def test_who_watches_a_connection_is_told_once_that_it_has_ended() -> None:
    """With the reason that came first."""
    told: list[str] = []

    async def ask(connection: Connection) -> None:
        connection.on_close.append(lambda error: told.append(error.reason))
        connection.abort("first")
        connection.connection_lost(None)

    opened(Broker(offered()), None, ask)
    assert told == ["first"]
