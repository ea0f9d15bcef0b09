"""A simulated cluster behind real sockets, for clients that know nothing of it: a thread with its own event loop."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from anabranch.kafka.simulated.broker import ClientSession, SimulatedBroker
from anabranch.kafka.simulated.cluster import ClusterPlan, SimulatedCluster
from anabranch.kafka.simulated.timers import LoopTimers

T = TypeVar("T")
START_S = 30.0


class ClientSocket(asyncio.Protocol):
    """A socket of a client; the sink of its session."""

    def __init__(self, broker: SimulatedBroker, internal: bool) -> None:
        self._broker = broker
        self._internal = internal
        self._session: ClientSession | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        host = transport.get_extra_info("peername")[0]
        self._session = self._broker.connect(self, host, internal=self._internal)
        if self._session is None:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """It asks something."""
        if self._session is not None:
            self._session.receive(data)

    def connection_lost(self, _: Exception | None) -> None:
        """It is gone."""
        if self._session is not None:
            self._session.lost()

    def deliver(self, data: bytes) -> None:
        """Answer it."""
        if self._transport is not None:
            self._transport.write(data)

    def end(self) -> None:
        """End its connection, once what was written is sent."""
        if self._transport is not None:
            self._transport.close()


class ServedCluster:
    """A simulated cluster that listens on loopback while it is entered."""

    def __init__(self, plan: ClusterPlan, brokers: int = 1) -> None:
        self._plan = plan
        self._count = brokers
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._main, name=f"simulated {plan.name}", daemon=True)
        self._failure: BaseException | None = None
        self._servers: list[asyncio.Server] = []
        self._ports: list[tuple[int, int]] = []
        self.cluster: SimulatedCluster

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(START_S):
            raise TimeoutError("the simulated cluster did not start")
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(self, *_: tuple[type[BaseException], BaseException, TracebackType]) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_S)

    @property
    def bootstrap(self) -> str:
        """Where clients find it."""
        return ",".join(f"127.0.0.1:{port}" for port, _ in self._ports)

    @property
    def internal_bootstrap(self) -> str:
        """Where its own tools find it, who need not say who they are."""
        return ",".join(f"127.0.0.1:{port}" for _, port in self._ports)

    def do(self, what: Callable[[SimulatedCluster], T]) -> T:
        """Do something with the cluster, on its own thread, and return what came out."""

        async def run() -> T:
            return what(self.cluster)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(START_S)

    def kill(self, node: int) -> None:
        """SIGKILL to a broker: its sockets close."""
        self.do(lambda cluster: cluster.brokers[node].kill())

    def start(self, node: int) -> None:
        """Start a broker that is gone."""
        self.do(lambda cluster: cluster.brokers[node].start())

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._listen())
        except BaseException as error:
            self._failure = error
            self._ready.set()
            return
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            for server in self._servers:
                server.close()
            for broker in self.cluster.brokers.values():
                for session in list(broker.sessions):
                    session.end()
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()

    async def _listen(self) -> None:
        pairs = [(_listener(), _listener()) for _ in range(self._count)]
        self._ports = [(one.getsockname()[1], other.getsockname()[1]) for one, other in pairs]
        addresses = [("127.0.0.1", port) for port, _ in self._ports]
        self.cluster = SimulatedCluster(LoopTimers(self._loop), replace(self._plan, addresses=addresses))
        for broker, (_, port), pair in zip(self.cluster.brokers.values(), self._ports, pairs, strict=True):
            broker.internal_port = port
            for listener, internal in zip(pair, (False, True), strict=True):
                client = partial(ClientSocket, broker, internal)
                self._servers.append(await self._loop.create_server(client, sock=listener))


def _listener() -> socket.socket:
    # With a socket that does not name its protocol asyncio has answers wait for earlier ones' acknowledgement, 40 ms.
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", 0))
    return made
