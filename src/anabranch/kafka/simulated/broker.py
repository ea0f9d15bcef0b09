"""One broker: the connections of its clients, one request at a time on each, and what becomes of them when it stops.

A broker that is stopped (SIGSTOP) takes bytes and answers nothing; what it had read is carried out once it goes on, for
a moment with what it knew of leaders before.  One that is killed loses its connections and what they held.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable
from enum import Enum
from functools import cache, lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Any, Protocol

from anabranch.kafka.connection import decoded
from anabranch.kafka.simulated.sessions import FetchSessionCache

if TYPE_CHECKING:
    from anabranch.kafka.simulated.cluster import SimulatedCluster
    from anabranch.kafka.simulated.partition import SimulatedPartition

_VERSIONS_REFUSED = Struct(">hihhh")
_HEAD = Struct(">hhih")
API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
LARGEST_REQUEST = 100 << 20
STALE_S = 0.1
REPEATED_BYTES = 256


class BrokerPower(Enum):
    """Whether a broker's process runs, is stopped, or is gone."""

    ON = "on"
    STOPPED = "stopped"
    OFF = "off"


class ResponseSink(Protocol):
    """The way back to a client."""

    def deliver(self, data: bytes) -> None:
        """Send bytes."""

    def end(self) -> None:
        """The broker ends the connection."""


class ClientSession:
    """A client's connection as its broker sees it."""

    def __init__(self, broker: SimulatedBroker, sink: ResponseSink, host: str, *, internal: bool) -> None:
        self.broker = broker
        self.host = host
        self.internal = internal
        self.client_id = ""
        self.principal = "User:ANONYMOUS"
        self.is_known = internal or not broker.cluster.access.users
        self.login_ends: float | None = None
        self.conversation: Any = None
        self.is_over = False
        self._sink = sink
        self._buffer = bytearray()
        self._requests: deque[bytes] = deque()
        self._busy = False
        self._active = broker.cluster.timers.monotonic()
        self._watch_idle()

    def receive(self, data: bytes) -> None:
        """Bytes came."""
        if self.is_over:
            return
        self._active = self.broker.cluster.timers.monotonic()
        if not self._buffer and len(data) > 4 and int.from_bytes(data[:4], signed=True) == len(data) - 4:
            self._requests.append(data[4:])  # one whole request, as nearly always
            self.work()
            return
        self._buffer += data
        while len(self._buffer) >= 4:
            size = int.from_bytes(self._buffer[:4], signed=True)
            if not 0 < size <= LARGEST_REQUEST:
                self.end()
                return
            if len(self._buffer) < 4 + size:
                break
            self._requests.append(bytes(self._buffer[4 : 4 + size]))
            del self._buffer[: 4 + size]
        self.work()

    def work(self) -> None:
        """Carry out what has come, one request after the other."""
        while self._requests and not self._busy and self.broker.power is BrokerPower.ON:
            self._busy = True
            frame = self._requests.popleft()
            try:
                self._handle(frame)
            except Exception:
                # A fault of the simulation must be seen by whoever looks, and not look like a broker that is busy.
                self.broker.cluster.unanswered.append(traceback.format_exc(limit=-3))
                self.end()

    def lost(self) -> None:
        """The client ended the connection; what was received is carried out all the same."""
        self._sink = _NoClient()

    def end(self) -> None:
        """End the connection."""
        if not self.is_over:
            self.is_over = True
            self.broker.sessions.pop(self, None)
            self._sink.end()

    def _watch_idle(self) -> None:
        longest = self.broker.cluster.number("connections.max.idle.ms") / 1000

        def look() -> None:
            if self.is_over:
                return
            idle = self.broker.cluster.timers.monotonic() - self._active
            if idle >= longest and self.broker.power is BrokerPower.ON:  # one that waits for an answer, too
                self.end()
            else:
                self.broker.cluster.timers.call_later(max(1.0, longest - idle), look)

        self.broker.cluster.timers.call_later(longest, look)

    def _handle(self, frame: bytes) -> None:
        key, version, correlation, length = _HEAD.unpack_from(frame)
        at = _HEAD.size + max(0, length)
        self.client_id = frame[_HEAD.size : at].decode(errors="replace") if length > 0 else ""
        api = self.broker.cluster.handlers.get(key)
        low, high = self.broker.cluster.version.apis.get(key, (0, -1))
        if key == API_VERSIONS and not low <= version <= high:
            self._reply(correlation, API_VERSIONS, False, self.broker.versions_refused())
            return
        if api is None or not low <= version <= high or not oldest_of(api.request) <= version:
            self.broker.cluster.unanswered.append(f"API {key} v{version}")
            self.end()
            return
        is_late = self.login_ends is not None and self.broker.cluster.timers.monotonic() > self.login_ends
        if (is_late or not self.is_known) and key not in {API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE}:
            self.end()
            return
        flexible = is_flexible(api.request, version)
        if flexible:
            at = _skip_tags(frame, at)

        def reply(response: Any) -> None:
            body = response if isinstance(response, bytes) else bytes(response.encode(version=version))
            self.broker.do(lambda: self._reply(correlation, key, flexible, body))

        api.handle(self, api.decode(frame[at:], version), version, reply)

    def _reply(self, correlation: int, key: int, flexible: bool, body: bytes) -> None:
        if self.is_over or not self._busy:
            return
        self._busy = False
        self._active = self.broker.cluster.timers.monotonic()
        tags = b"\0" if flexible and key != API_VERSIONS else b""
        size = 4 + len(tags) + len(body)
        self._sink.deliver(size.to_bytes(4) + correlation.to_bytes(4, signed=True) + tags + body)
        if self._requests:
            self.broker.cluster.timers.call_later(0, self.work)


class _NoClient:
    def deliver(self, data: bytes) -> None:
        """To nobody."""

    def end(self) -> None:
        """Of nobody."""


class Api(Protocol):
    """How one API is answered."""

    request: Any

    def decode(self, body: bytes, version: int) -> Any:
        """The request from its bytes."""

    def handle(self, session: ClientSession, request: Any, version: int, reply: Callable[[Any], None]) -> None:
        """Answer it, now or later, once."""


class SimulatedBroker:
    """One broker of a cluster."""

    def __init__(self, cluster: SimulatedCluster, node: int, host: str, port: int) -> None:
        self.cluster = cluster
        self.node = node
        self.host = host
        self.port = port
        self.internal_port = port
        self.power = BrokerPower.ON
        self.is_fenced = False
        self.sessions: dict[ClientSession, None] = {}  # in the order in which they were opened
        self.fetch_sessions = FetchSessionCache(cluster.chance)
        self.stale: dict[tuple[str, int], tuple[int, int]] | None = None
        self._held: list[Callable[[], None]] = []

    @property
    def is_serving(self) -> bool:
        """Whether other brokers get answers from it."""
        return self.power is BrokerPower.ON and not self.is_fenced

    def versions_refused(self) -> bytes:
        """ApiVersions v0: UNSUPPORTED_VERSION, and the versions of ApiVersions itself, as brokers answer (KIP-511)."""
        low, high = self.cluster.version.apis[API_VERSIONS]
        return _VERSIONS_REFUSED.pack(35, 1, API_VERSIONS, low, high)

    def connect(self, sink: ResponseSink, host: str = "127.0.0.1", *, internal: bool = False) -> ClientSession | None:
        """A client's connection, or one of the brokers' own tools; None where nobody listens."""
        if self.power is BrokerPower.OFF:
            return None
        session = ClientSession(self, sink, host, internal=internal)
        self.sessions[session] = None
        return session

    def do(self, what: Callable[[], None]) -> None:
        """Do something as this process: once it goes on, where it is stopped; never, where it is gone."""
        if self.power is BrokerPower.STOPPED:
            self._held.append(what)
        elif self.power is BrokerPower.ON:
            what()

    def changed(self) -> None:
        """What the controller knows has changed."""

    # -- faults ----------------------------------------------------------------------------------------

    def kill(self) -> None:
        """SIGKILL."""
        if self.power is not BrokerPower.OFF:
            self._go_off()
            self.cluster.lost(self.node, self.cluster.number("broker.session.timeout.ms") / 1000)

    def stop(self) -> None:
        """SIGTERM: its leaders move before it goes."""
        if self.power is not BrokerPower.OFF:
            self._go_off()
            self.cluster.lost(self.node, 0)

    def _go_off(self) -> None:
        self.power = BrokerPower.OFF
        self._held.clear()
        self.fetch_sessions = FetchSessionCache(self.cluster.chance)
        for session in list(self.sessions):
            session.end()

    def start(self) -> None:
        """A new process on the same disk."""
        if self.power is BrokerPower.OFF:
            self.power = BrokerPower.ON
            self.stale = None
            self.cluster.returned(self.node, restarted=True)

    def pause(self) -> None:
        """SIGSTOP."""
        if self.power is BrokerPower.ON:
            self.power = BrokerPower.STOPPED
            self.stale = {
                (partition.topic, partition.index): (partition.leader, partition.leader_epoch)
                for partition in self.cluster.partitions()
            }
            self.cluster.lost(self.node, self.cluster.number("broker.session.timeout.ms") / 1000)

    def resume(self) -> None:
        """SIGCONT."""
        if self.power is not BrokerPower.STOPPED:
            return
        self.power = BrokerPower.ON
        held, self._held = self._held, []
        for what in held:
            what()
        for session in list(self.sessions):
            session.work()

        def learn() -> None:
            self.stale = None

        self.cluster.timers.call_later(self.cluster.chance.uniform(0.0, STALE_S), learn)
        self.cluster.returned(self.node, restarted=False)

    def leads(self, partition: SimulatedPartition) -> tuple[int, int]:
        """(leader, epoch) of a partition, as far as this broker knows."""
        if self.stale is not None:
            found = self.stale.get((partition.topic, partition.index))
            if found is not None:
                return found
        return partition.leader, partition.leader_epoch


class Handler:
    """An API by its request class and a function.

    ``is_repeated`` says that clients ask the same again and again, and that the function keeps and changes nothing of a
    request: then those of the same bytes are one object.
    """

    __slots__ = ("_handle", "_is_repeated", "request")

    def __init__(
        self,
        request: Any,
        handle: Callable[[ClientSession, Any, int, Callable[[Any], None]], None],
        *,
        is_repeated: bool = False,
    ) -> None:
        self.request = request
        self._handle = handle
        self._is_repeated = is_repeated

    def decode(self, body: bytes, version: int) -> Any:
        """By the library's own schema."""
        if self._is_repeated and len(body) <= REPEATED_BYTES:
            return _repeated(self.request, body, version)
        return decoded(self.request, body, version)

    def handle(self, session: ClientSession, request: Any, version: int, reply: Callable[[Any], None]) -> None:
        """By the function."""
        self._handle(session, request, version, reply)


@cache
def oldest_of(request: Any) -> int:
    """The oldest version of a request that the library knows."""
    return int(request.valid_versions[0])


@cache
def is_flexible(request: Any, version: int) -> bool:
    """Whether a version of a request has tags."""
    return bool(request.flexible_version_q(version))


@lru_cache(maxsize=8192)
def _repeated(request: Any, body: bytes, version: int) -> Any:
    return decoded(request, body, version)


def _skip_tags(frame: bytes, at: int) -> int:
    """Past a request header's tags, of which nobody sends any that are longer than a byte says."""
    count = frame[at]
    at += 1
    for _ in range(count):
        size = frame[at + 1]
        at += 2 + size
    return at
