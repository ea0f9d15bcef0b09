"""The network between simulated processes and brokers: bytes that take their time, in order, or wait while it is cut.

Like TCP between hosts: what was sent arrives whole and in order, or not at all; a connection whose client is gone still
delivers what was sent before, so that a broker may carry out a request long after its sender gave up.
"""

from __future__ import annotations

import asyncio
import errno
from collections import deque
from collections.abc import Callable
from typing import Any

from anabranch.kafka.simulated.broker import BrokerPower, ClientSession, SimulatedBroker
from qa.simulation.loop import SimulatedLoop
from qa.simulation.scheduler import Process, Scheduler, State

FASTEST_S, SLOWEST_S = 0.0001, 0.002
SPLIT = 0.02
"""How often what is received is cut into two."""


class Pipe:
    """One direction of a connection: in order, each piece after a time that is drawn; held while ``is_cut`` says so."""

    def __init__(self, scheduler: Scheduler, is_cut: Callable[[], bool], deliver: Callable[[Any], None]) -> None:
        self._scheduler = scheduler
        self._is_cut = is_cut
        self._deliver = deliver
        self._queue: deque[tuple[float, Any]] = deque()
        self._busy = False
        self._last = 0.0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is under way."""
        return not self._queue

    def send(self, piece: Any) -> None:
        """Send a piece; None is the end."""
        scheduler = self._scheduler
        took = FASTEST_S + (SLOWEST_S - FASTEST_S) * scheduler.chance.random() ** 3
        self._last = max(self._last, scheduler.now + took)
        self._queue.append((self._last, piece))
        if not self._busy:
            self._next()

    def _next(self) -> None:
        self._busy = True
        self._scheduler.call_at(self._queue[0][0], self._arrive)

    def _arrive(self) -> None:
        if self._is_cut():
            self._scheduler.call_later(0.05, self._arrive)
            return
        self._busy = False
        _, piece = self._queue.popleft()
        self._deliver(piece)
        if self._queue and not self._busy:
            self._next()


class Wire(asyncio.Transport):
    """A client's end of a connection, and the sink of its session at the broker."""

    def __init__(self, network: Network, loop: SimulatedLoop, broker: SimulatedBroker, protocol: Any) -> None:
        super().__init__()
        self.process = loop.process
        self.broker = broker
        self.network = network
        self._loop = loop
        self._protocol = protocol
        self._session: ClientSession | None = None
        self._ended = False
        scheduler = network.scheduler
        self._out = Pipe(scheduler, self.is_cut, self._at_broker)
        self._in = Pipe(scheduler, self.is_cut, self._at_client)

    def is_cut(self) -> bool:
        """Whether nothing passes between the two."""
        return self.network.is_cut(self.process, self.broker)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is under way in either direction."""
        return self._out.is_empty and self._in.is_empty

    @property
    def has_arrived(self) -> bool:
        """Whether all that the client sent is at the broker, or lost."""
        return self._session is None or self._out.is_empty

    def accept(self) -> bool:
        """The broker takes the connection; False where nobody listens."""
        self._session = self.broker.connect(self, self.process.name)
        return self._session is not None

    # -- the client's side -----------------------------------------------------------------------------

    def write(self, data: Any) -> None:
        """Send bytes."""
        if not self._ended:
            self._out.send(bytes(data))

    def abort(self) -> None:
        """End the connection; what was written is on its way all the same."""
        if not self._ended:
            self._ended = True
            self._out.send(None)
            self.network.left(self)
            self._loop.call_soon(self._protocol.connection_lost, None)

    close = abort

    def is_closing(self) -> bool:
        """Whether it is over."""
        return self._ended

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Without limits."""

    def process_died(self) -> None:
        """The system closes the sockets of a process that is gone."""
        if not self._ended:
            self._ended = True
            self._out.send(None)
            self.network.left(self)

    def reset(self) -> None:
        """The connection breaks: the client hears of it, and what is under way may or may not arrive."""
        if self._ended:
            return
        self._ended = True
        self.network.left(self)
        if self.network.scheduler.chance.random() < 0.5:
            self._out.send(None)
        else:
            session, self._session = self._session, None
            if session is not None:
                session.lost()
        self._loop.call_soon(self._protocol.connection_lost, ConnectionResetError(errno.ECONNRESET, "reset by peer"))

    # -- the broker's side -----------------------------------------------------------------------------

    def deliver(self, data: bytes) -> None:
        """The broker answers."""
        self._in.send(data)

    def end(self) -> None:
        """The broker ends the connection."""
        self._in.send(None)

    # -- arrivals --------------------------------------------------------------------------------------

    def _at_broker(self, piece: bytes | None) -> None:
        if self._session is None:
            return
        if piece is None:
            self._session.lost()
        else:
            self._session.receive(piece)

    def _at_client(self, piece: bytes | None) -> None:
        if self._ended or self.process.state is State.DEAD:
            return
        if piece is None:
            self._ended = True
            self.network.left(self)
            self._loop.call_soon(self._protocol.connection_lost, None)
            return
        chance = self.network.scheduler.chance
        if len(piece) > 1 and chance.random() < SPLIT:
            cut = chance.randrange(1, len(piece))
            self._loop.call_soon(self._received, piece[:cut])
            piece = piece[cut:]
        self._loop.call_soon(self._received, piece)

    def _received(self, data: bytes) -> None:
        protocol = self._protocol
        while data and not self._ended:
            buffer = protocol.get_buffer(-1)
            size = min(len(buffer), len(data))
            buffer[:size] = data[:size]
            data = data[size:]
            protocol.buffer_updated(size)


class Network:
    """Every connection, and who cannot reach whom."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.wires: dict[Wire, None] = {}  # in the order in which they were opened
        self._left: list[Wire] = []
        """Connections that have ended for their clients; what these have sent may be under way."""
        self.loops: list[SimulatedLoop] = []
        self._brokers: dict[tuple[str, int], SimulatedBroker] = {}
        self._cuts: set[tuple[str, str]] = set()

    def left(self, wire: Wire) -> None:
        """A connection has ended for its client."""
        if wire in self.wires:
            del self.wires[wire]
            self._left.append(wire)

    def add(self, broker: SimulatedBroker) -> None:
        """A broker can be connected to."""
        self._brokers[(broker.host, broker.port)] = broker

    def cut(self, process: str, cluster: str) -> None:
        """Nothing passes between a process ("*": any) and a cluster."""
        self._cuts.add((process, cluster))

    def heal(self) -> None:
        """Everything passes again."""
        self._cuts.clear()

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is cut off and no bytes are under way."""
        self._left = [wire for wire in self._left if not wire.has_arrived]
        return not (self._cuts or self._left) and all(wire.is_quiet for wire in self.wires)

    def is_cut(self, process: Process, broker: SimulatedBroker) -> bool:
        """Whether nothing passes between the two now."""
        if not self._cuts:
            return False
        cluster = broker.cluster.plan.name
        return (process.name, cluster) in self._cuts or ("*", cluster) in self._cuts

    async def connect(self, loop: SimulatedLoop, factory: Callable[[], Any], host: str, port: int) -> tuple[Any, Any]:
        """Open a connection; raises OSError where nobody listens."""
        broker = self._brokers.get((host, port))
        if broker is None:
            raise OSError(errno.ENOENT, f"no route to {host}:{port}")
        chance = self.scheduler.chance
        while True:
            await asyncio.sleep(FASTEST_S + (SLOWEST_S - FASTEST_S) * chance.random())
            if not self.is_cut(loop.process, broker):
                break
            await asyncio.sleep(0.2)
        if broker.power is BrokerPower.OFF:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")
        protocol = factory()
        wire = Wire(self, loop, broker, protocol)
        if not wire.accept():
            raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")
        self.wires[wire] = None
        loop.process.on_end.append(wire.process_died)
        protocol.connection_made(wire)
        return wire, protocol
