"""One connection to one broker: framing, correlation, deadlines, TLS and SASL, on asyncio.

Responses arrive in the order of the requests (the broker serves a connection one request at a time), so
in-flight requests are a queue.  A request that runs out of time ends the connection: its outcome is unknown
and nothing that is sent later may overtake it (LANE protocol, R1).  The time for which a quota throttles the connection
does not count.  The bytes of large responses are received
straight into pooled frames.

Where a broker limits how long a login holds, the login is made again on the same connection before that time is over
(KIP-368): else the broker would close it with whatever is in flight.  What is sent meanwhile waits for it, and is sent
in its order.
"""

from __future__ import annotations

import asyncio
import os
import random
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

from kafka.protocol.api_header import RequestHeader, ResponseClassRegistry
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from anabranch.errors import AnabranchError
from anabranch.kafka.errors import AuthenticationError, ConnectionLostError, UnsupportedApiError, UntrustedClusterError
from anabranch.kafka.frames import Frame, FramePool

CLIENT_ID = "anabranch"
MAX_RESPONSE_BYTES = 1 << 30
OPEN_S = 10.0
MOST_THROTTLED_S = 600.0
_SCRATCH = 1 << 14
_API_VERSIONS = 18
_LOGIN = frozenset({17, 36})  # SaslHandshake, SaslAuthenticate
_RENEWED_AT = (0.85, 0.95)
"""The share of a login's life after which it is made again: drawn, so that not all connections do it at once."""
_TRY_AGAIN_S = 1.0
_HEADER = struct.Struct(">ihhih")
_DECODING = threading.Lock()

Part = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Sasl:
    """How to authenticate: the mechanism's name and a maker of one conversation for a host.

    Where the conversation asks somebody else, as for a token, it is held in a thread of ``asking``: not of the loop's
    own, which looks names up and would wait behind a server that is away.
    """

    mechanism: str
    conversation: Callable[[str], Any]
    asking: Executor | None = None


@dataclass(frozen=True, slots=True)
class Transport:
    """What a connection needs to know of a cluster's security."""

    cluster: str
    principal: str
    tls: ssl.SSLContext | None = None
    sasl: Sasl | None = None


class _InFlight(NamedTuple):
    correlation: int
    flexible: bool
    future: asyncio.Future[Frame]
    deadline: float


class Connection(asyncio.BufferedProtocol):
    """A connected, authenticated broker connection; made by ``Connection.open``."""

    def __init__(self, transport: Transport, node: str, host: str, pool: FramePool) -> None:
        self.security = transport
        self.node = node
        self.host = host
        self.versions: dict[int, tuple[int, int]] = {}
        self.closed: ConnectionLostError | None = None
        self.on_close: list[Callable[[ConnectionLostError], None]] = []
        self._pool = pool
        self._wire: asyncio.Transport | None = None
        self._cause: BaseException | None = None
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_InFlight] = deque()
        self._correlation = 0
        self._scratch = bytearray(_SCRATCH)
        self._scratch_view = memoryview(self._scratch)
        self._have = 0
        self._frame: Frame | None = None
        self._filled = 0
        self._watch: asyncio.TimerHandle | None = None
        self._client = CLIENT_ID.encode()
        self._throttled_until = 0.0
        self._held: list[tuple[_InFlight, bytes]] | None = None
        self._renewal: asyncio.TimerHandle | None = None
        self._renewing: asyncio.Task[None] | None = None
        self.writable = asyncio.Event()
        self.writable.set()

    # -- opening and closing ---------------------------------------------------------------------------

    @classmethod
    async def open(
        cls, transport: Transport, node: str, host: str, port: int, pool: FramePool, timeout: float | None = None
    ) -> Connection:
        """Connect, learn the broker's versions, authenticate; raises ConnectionLostError or AuthenticationError.

        ``timeout`` is for all of it, in seconds; ``OPEN_S`` where it is not given.
        """
        timeout = OPEN_S if timeout is None else timeout
        loop = asyncio.get_running_loop()
        connection: Connection | None = None
        try:
            async with asyncio.timeout(timeout):
                _, connection = await loop.create_connection(
                    lambda: cls(transport, node, host, pool),
                    host,
                    port,
                    ssl=transport.tls,
                    server_hostname=host if transport.tls else None,
                )
                await connection._learn_versions(timeout)
                if transport.sasl is not None:
                    await connection._authenticate(transport.sasl, timeout)
        except ssl.SSLCertVerificationError as error:
            reason = f"certificate of {host}:{port}: {error.verify_message}"
            raise UntrustedClusterError(transport.cluster, transport.principal, "TLS", reason) from error
        except (OSError, TimeoutError) as error:
            if connection is not None:
                connection.abort("not ready in time")
            _raise_if_our_certificate(transport, error)
            reason = "no answer in time" if isinstance(error, TimeoutError) else _reason(error)
            shaken = isinstance(error, ssl.SSLError | ConnectionError) and not isinstance(error, ConnectionRefusedError)
            if shaken and connection is None and transport.tls is not None:
                reason += ", in the TLS handshake; the port may be one without TLS"
            raise ConnectionLostError(transport.cluster, f"{host}:{port}", reason) from error
        except ConnectionLostError as error:
            # With TLS 1.3 the broker judges our certificate after the handshake has succeeded for us.
            if connection is not None:
                _raise_if_our_certificate(transport, connection._cause)
                if transport.tls is None and not connection.versions:
                    reason = f"{error.reason}, before it answered anything; the port may be one with TLS"
                    raise ConnectionLostError(error.cluster, error.node, reason) from error
            raise
        except BaseException:
            if connection is not None:
                connection.abort("not opened")
            raise
        return connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport and ask for large kernel buffers."""
        assert isinstance(transport, asyncio.Transport)
        self._wire = transport
        transport.set_write_buffer_limits(high=1 << 20)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Fail everything that waits; the outcome of each is unknown."""
        self._cause = exc
        if self._frame is not None:
            self._frame.release()
            self._frame = None
        self._end(str(exc) or "connection reset" if exc else "closed by the broker")

    def pause_writing(self) -> None:
        """The kernel takes no more for now."""
        self.writable.clear()

    def resume_writing(self) -> None:
        """The kernel takes bytes again."""
        self.writable.set()

    def abort(self, reason: str) -> None:
        """End at once; whatever is in flight has an unknown outcome."""
        self._end(reason)
        if self._wire is not None:
            self._wire.abort()

    def _end(self, reason: str) -> None:
        if self.closed is not None:
            return
        self.closed = ConnectionLostError(self.security.cluster, self.node, reason)
        self.writable.set()
        for timer in (self._watch, self._renewal):
            if timer is not None:
                timer.cancel()
        held, self._held = self._held or [], None
        for waiting in [*self._waiting, *(one for one, _ in held)]:
            if not waiting.future.done():
                waiting.future.set_exception(self.closed)
                waiting.future.exception()  # whoever awaits still gets it; nobody waiting is no news
        self._waiting.clear()
        callbacks, self.on_close = self.on_close, []
        for callback in callbacks:
            callback(self.closed)

    # -- receiving -------------------------------------------------------------------------------------

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 (the protocol's signature)
        """Where the next bytes go: the frame being filled, else the scratch buffer."""
        if self._frame is not None:
            return self._frame.view[self._filled :]
        return self._scratch_view[self._have :]

    def buffer_updated(self, nbytes: int) -> None:
        """Cut what arrived into frames and answer their requests."""
        if self._frame is not None:
            self._filled += nbytes
            if self._filled == len(self._frame.view):
                frame, self._frame = self._frame, None
                self._deliver(frame)
            return
        self._have += nbytes
        start = 0
        while self._have - start >= 4:
            size = int.from_bytes(self._scratch_view[start : start + 4])
            if not 4 <= size <= MAX_RESPONSE_BYTES:
                self.abort(f"a response of {size:,} bytes: is this a Kafka listener, and is its protocol right?")
                return
            frame = self._pool.take(size)
            here = min(size, self._have - start - 4)
            frame.view[:here] = self._scratch_view[start + 4 : start + 4 + here]
            start += 4 + here
            if here < size:
                self._frame, self._filled = frame, here
                break
            self._deliver(frame)
        rest = self._have - start
        if rest and start:
            self._scratch[:rest] = self._scratch[start : self._have]
        self._have = rest

    def _deliver(self, frame: Frame) -> None:
        if not self._waiting:
            frame.release()
            self.abort("an answer to no request")
            return
        waiting = self._waiting.popleft()
        if int.from_bytes(frame.view[:4], signed=True) != waiting.correlation:
            frame.release()
            if not waiting.future.done():
                waiting.future.set_exception(
                    ConnectionLostError(self.security.cluster, self.node, "answers out of order")
                )
            self.abort("answers out of order")
            return
        if waiting.future.done():
            frame.release()
        else:
            waiting.future.set_result(frame)

    # -- sending ---------------------------------------------------------------------------------------

    @property
    def in_flight(self) -> int:
        """How many requests wait for an answer."""
        return len(self._waiting) + len(self._held or ())

    @property
    def is_renewing(self) -> bool:
        """Whether the login is being made again: what is sent now leaves only after that."""
        return self._held is not None

    def submit(
        self, api_key: int, version: int, flexible: bool, parts: Sequence[Part], timeout: float
    ) -> asyncio.Future[Frame]:
        """Send one request made of ``parts``; the future's frame starts at the correlation id.

        The bytes are with the kernel, or copied, when this returns.  Raises ConnectionLostError where the
        connection has ended already.
        """
        if self.closed is not None:
            raise self.closed
        assert self._wire is not None
        self._correlation = (self._correlation + 1) & 0x7FFFFFFF
        size = sum(map(len, parts)) + 10 + len(self._client) + (1 if flexible else 0)
        head = (
            _HEADER.pack(size, api_key, version, self._correlation, len(self._client))
            + self._client
            + (b"\0" if flexible else b"")
        )
        future: asyncio.Future[Frame] = self._loop.create_future()
        deadline = max(time.monotonic(), self._throttled_until) + timeout
        waiting = _InFlight(self._correlation, flexible, future, deadline)
        if self._held is not None and api_key not in _LOGIN:
            self._held.append((waiting, b"".join((head, *parts))))
            return future
        self._waiting.append(waiting)
        if self._watch is None:
            self._watch = self._loop.call_later(min(timeout, 1.0), self._check_deadline)
        self._wire.write(b"".join((head, *parts)))
        return future

    def throttled(self, seconds: float) -> None:
        """The broker has said that a quota has it read nothing more here for so long (KIP-219): that much later is
        what waits for an answer, or is sent meanwhile, without one."""
        if seconds <= 0:
            return
        seconds = min(seconds, MOST_THROTTLED_S)
        self._throttled_until = max(self._throttled_until, time.monotonic() + seconds)
        self._waiting = deque(one._replace(deadline=one.deadline + seconds) for one in self._waiting)

    def _check_deadline(self) -> None:
        self._watch = None
        if self.closed is not None or not self._waiting:
            return
        now = time.monotonic()
        if now >= self._waiting[0].deadline:
            self.abort("no answer in time")
            return
        self._watch = self._loop.call_later(min(self._waiting[0].deadline - now + 0.001, 1.0), self._check_deadline)

    def version(self, request: Any, cap: int | None = None) -> int:
        """The newest version of a request that both sides know; raises UnsupportedApiError where there is none."""
        key, newest = request.API_KEY, request.max_version
        if cap is not None:
            newest = min(newest, cap)
        low, high = self.versions.get(key, (0, -1))
        oldest = request.valid_versions[0]
        chosen = min(newest, high)
        if chosen < max(low, oldest):
            raise UnsupportedApiError(
                self.security.cluster,
                request.name,
                f"v{oldest} to v{newest}",
                f"v{low} to v{high}" if high >= 0 else "not",
            )
        return int(chosen)

    def offers(self, api_key: int) -> int:
        """The newest version of an API that the broker offers; -1 where it has none."""
        return self.versions.get(api_key, (0, -1))[1]

    async def call(self, request: Any, timeout: float = 30.0, cap: int | None = None) -> Any:
        """Send one protocol message and return its decoded response."""
        version = self.version(request, cap)
        return await self._exchange(request, version, timeout)

    async def _exchange(self, request: Any, version: int, timeout: float) -> Any:
        flexible = request.flexible_version_q(version)
        body = request.encode(version=version)
        frame = await self.submit(request.API_KEY, version, flexible, (body,), timeout)
        try:
            response_class = _response_class(request.API_KEY, version)
            start = 5 if flexible and request.API_KEY != _API_VERSIONS else 4
            response = decoded(response_class, bytes(frame.view[start:]), version)
            self.throttled((getattr(response, "throttle_time_ms", 0) or 0) / 1000)
            return response
        finally:
            frame.release()

    # -- the opening conversation ----------------------------------------------------------------------

    async def _learn_versions(self, timeout: float) -> None:
        version = 3
        request = ApiVersionsRequest(version=version, client_software_name=CLIENT_ID, client_software_version="0")
        response = await self._exchange(request, version, timeout)
        if response.error_code == 35:  # UNSUPPORTED_VERSION: the answer is in v0's format
            response = await self._exchange(ApiVersionsRequest(version=0), 0, timeout)
        self.versions = {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}

    async def _authenticate(self, sasl: Sasl, timeout: float) -> None:
        conversation = await _told(sasl, partial(sasl.conversation, self.host))
        try:
            first = await _told(sasl, conversation.auth_bytes)
        except ValueError as error:
            raise self._refused(sasl, str(error)) from error
        await self._log_in(sasl, conversation, first, timeout)

    async def _log_in(self, sasl: Sasl, conversation: Any, token: bytes, timeout: float) -> None:
        """Hold a conversation that begins with ``token``, and see to it that it is held again in time."""
        handshake = await self.call(SaslHandshakeRequest(mechanism=sasl.mechanism), timeout, cap=1)
        if handshake.error_code != 0:
            offered = ", ".join(handshake.mechanisms) or "none"
            raise self._refused(sasl, f"the listener offers {offered}")
        lifetime_ms = 0
        while True:
            answer = await self.call(SaslAuthenticateRequest(auth_bytes=token), timeout, cap=2)
            if answer.error_code != 0:
                raise self._refused(sasl, answer.error_message or "wrong credentials")
            lifetime_ms = getattr(answer, "session_lifetime_ms", 0) or 0
            try:
                conversation.receive(answer.auth_bytes)
                if conversation.is_done():
                    break
                token = conversation.auth_bytes()
            except ValueError as error:
                raise self._refused(sasl, str(error)) from error
        if lifetime_ms > 0:
            self._renewal = self._loop.call_later(
                lifetime_ms / 1000 * random.uniform(*_RENEWED_AT), self._renew, time.monotonic() + lifetime_ms / 1000
            )

    def _refused(self, sasl: Sasl, reason: str) -> AuthenticationError:
        return AuthenticationError(self.security.cluster, self.security.principal, sasl.mechanism, reason)

    # -- the same conversation again, before its time is over ------------------------------------------

    def _renew(self, until: float) -> None:
        if self.closed is None and self.security.sasl is not None:
            self._renewing = self._loop.create_task(self._authenticate_again(self.security.sasl, until))

    async def _authenticate_again(self, sasl: Sasl, until: float) -> None:
        """Make the login again; while it is made nothing else may be sent: the broker would take it for a part of it.

        What has to be asked of somebody else for it is asked before, as often as there is time.
        """
        while True:
            try:
                conversation = await _told(sasl, partial(sasl.conversation, self.host))
                token = await _told(sasl, conversation.auth_bytes)
                break
            except (AnabranchError, ValueError) as error:
                if time.monotonic() + _TRY_AGAIN_S >= until:
                    self.abort(f"the login could not be made again: {error}")
                    return
            await asyncio.sleep(_TRY_AGAIN_S)
        if self.closed is not None:
            return
        self._held = []
        try:
            await self._log_in(sasl, conversation, token, OPEN_S)
        except ConnectionLostError:
            return
        except AnabranchError as error:
            self.abort(f"the login could not be made again: {error.message}")
            return
        held, self._held = self._held or [], None
        if self.closed is not None or self._wire is None:
            return
        self._waiting.extend(waiting for waiting, _ in held)
        if held and self._watch is None:
            self._watch = self._loop.call_later(1.0, self._check_deadline)
        self._wire.write(b"".join(request for _, request in held))


async def _told(sasl: Sasl, ask: Callable[[], Any]) -> Any:
    """What a conversation says; in a thread where it asks somebody else for it."""
    return ask() if sasl.asking is None else await asyncio.get_running_loop().run_in_executor(sasl.asking, ask)


@cache
def _response_class(api_key: int, version: int) -> Any:
    """What the library's own request would find by its header, without making one."""
    header = RequestHeader(request_api_key=api_key, request_api_version=version, correlation_id=0, client_id="")
    return ResponseClassRegistry.get_response_class(header)


def _reason(error: OSError) -> str:
    """What the system calls it; asyncio's own text says only which call failed."""
    if error.errno is not None and error.errno > 0 and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno)
    if isinstance(error, ssl.SSLError) and (reason := getattr(error, "reason", None)):
        return str(reason).replace("_", " ").lower()
    return error.strerror or str(error) or "connection ended"


def _raise_if_our_certificate(transport: Transport, error: BaseException | None) -> None:
    """Raise AuthenticationError for a TLS alert (RFC 8446, 6.2) by which the broker refused our certificate."""
    reason = str(getattr(error, "reason", None) or "") if isinstance(error, ssl.SSLError) else ""
    if "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason):
        words = reason.partition("ALERT_")[2].replace("_", " ").lower()
        raise AuthenticationError(
            transport.cluster, transport.principal, "TLS", f"the broker did not take our certificate: {words}"
        ) from error


def decoded(response_class: Any, body: bytes, version: int) -> Any:
    """A response from its bytes, one at a time in the process.

    kafka-python makes a decoder of each kind of response when the first one comes, and keeps in the shared schema what
    it is made from.  Of two threads that do so at once, the one that is through first takes that from the other, whose
    decoder is kept and fails with a TypeError for as long as the process lives (``StructField.compiled_decode_from``).
    """
    with _DECODING:
        return response_class.decode(body, version=version)
