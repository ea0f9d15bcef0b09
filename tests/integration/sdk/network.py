"""A network between clients and one address, where the way of each client can be frozen, cut and healed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

from anabranch.sandbox import SandboxCluster
from anabranch.sandbox.proxy_server import reset

HERE = "127.0.0.1"
_PIECE = 64 * 1024
T = TypeVar("T")
Named = Callable[[asyncio.StreamReader], Awaitable[tuple[str, bytes]]]
"""Reads who has opened a connection off its first bytes, and returns these, too."""


async def kafka_client(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    """The ``client.id`` in the header of the first request."""
    head = await reader.readexactly(14)
    name = await reader.readexactly(max(0, int.from_bytes(head[12:], "big", signed=True)))
    return name.decode(), head + name


async def route_client(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    """The id of a client of the route service, which stands in the path of each of its requests."""
    line = await reader.readuntil(b"\n")
    return line.split(b"/")[4].partition(b" ")[0].decode(), line


@dataclass(eq=False)
class _Way:
    """A connection through the network."""

    name: str
    ends: tuple[asyncio.StreamWriter, asyncio.StreamWriter]
    flows: asyncio.Event

    def reset(self) -> None:
        """End it as a dead link does, and lose what is on it."""
        for end in self.ends:
            reset(end)


class Network:
    """A TCP proxy at ``port``, in a thread; who is not named in an order is not concerned, unless nobody is.

    A frozen way lets nothing pass, and closes nothing; a cut one is reset, and so is each that is opened again.
    """

    def __init__(self, port: int, target: int, named: Named, host: bytes = b"") -> None:
        """``host`` is how requests call this address where the target goes by its own name."""
        self.port = port
        self._target = target
        self._named = named
        self._host = host
        self._frozen, self._severed = _nobody, _nobody
        self._ways: set[_Way] = set()
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"network {port}", daemon=True)

    @classmethod
    def before(cls, cluster: SandboxCluster) -> Self:
        """In the place of the proxy of a cluster of one broker, whose port is the one that clients are told."""
        for helper in cluster.helpers:
            helper.kill()
        (node,) = cluster.layout.nodes
        return cls(node.advertised, node.client, kafka_client)

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._accept, HERE, self.port))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def freeze(self, *names: str) -> None:
        """Let nothing of these clients pass, or of anybody, in either direction."""
        self._do(self._ordered(_these(names), _nobody))

    def cut(self, *names: str) -> None:
        """Reset every connection of these clients, or of anybody, and each new one."""
        self._do(self._ordered(_nobody, _these(names)))

    def heal(self) -> None:
        """Let everything pass, what was held back first."""
        self._do(self._ordered(_nobody, _nobody))

    def _do(self, order: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(order, self._loop).result()

    async def _ordered(self, frozen: Callable[[str], bool], severed: Callable[[str], bool]) -> None:
        self._frozen, self._severed = frozen, severed
        for way in list(self._ways):
            if severed(way.name):
                way.reset()
            elif frozen(way.name):
                way.flows.clear()
            else:
                way.flows.set()

    async def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            name, first = await self._named(reader)
            there, onward = await asyncio.open_connection(HERE, self._target)
        except (OSError, asyncio.IncompleteReadError):
            reset(writer)
            return
        way = _Way(name, (writer, onward), asyncio.Event())
        self._ways.add(way)
        try:
            if self._severed(name):
                way.reset()
            if not self._frozen(name):
                way.flows.set()
            await _both(self._forth(reader, way, first), self._back(there, way))
        finally:
            self._ways.discard(way)
            for end in way.ends:
                end.close()

    async def _forth(self, reader: asyncio.StreamReader, way: _Way, piece: bytes) -> None:
        """What a client says; it waits for the answer to a request before the next, so that a head is in one piece."""
        target = f"{HERE}:{self._target}".encode()
        while piece:
            await _passed(way, way.ends[1], piece.replace(self._host, target) if self._host else piece)
            piece = await reader.read(_PIECE)

    async def _back(self, reader: asyncio.StreamReader, way: _Way) -> None:
        while piece := await reader.read(_PIECE):
            await _passed(way, way.ends[0], piece)


async def _passed(way: _Way, end: asyncio.StreamWriter, piece: bytes) -> None:
    await way.flows.wait()
    end.write(piece)
    await end.drain()


async def _both(*directions: Coroutine[Any, Any, None]) -> None:
    """Carry both directions until one has ended."""
    tasks = [asyncio.create_task(one) for one in directions]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _nobody(_: str) -> bool:
    return False


def _these(names: tuple[str, ...]) -> Callable[[str], bool]:
    return lambda name: not names or name in names
