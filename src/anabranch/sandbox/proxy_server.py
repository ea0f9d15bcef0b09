"""A TCP proxy before each broker of a cluster, which stalls, cuts and delays what passes.

Run as a script (``python -I -S proxy_server.py CONTROL_PORT NODE:LISTEN:TARGET...``; standard library only).  The
control port takes one JSON object a line, ``{"node": 1, "do": "stall"}``, and answers each with one.

- ``stall``: nothing passes and nothing is closed; what arrives is held, in order, within bounded memory.
- ``cut``: every connection is reset, and each new one too, until ``clear``.
- ``delay`` with ``ms``: each piece passes that much later in each direction; the rate is not limited.
- ``clear``: everything passes again, what was held first.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import sys
from dataclasses import dataclass, field

_HOST = "127.0.0.1"
_CHUNK = 256 * 1024
# Pieces held a direction while stalled or delayed: at most 16 MiB, then TCP itself holds the sender back.
_HELD_PIECES = 64


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST, as a dead link looks, and not with an orderly FIN."""
    connection = writer.get_extra_info("socket")
    if connection is not None:
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@dataclass(eq=False)
class ProxiedBroker:
    """One broker's proxy: its state, and the connections that pass through it now."""

    node_id: int
    listen: int
    target: int
    delay: float = 0.0
    cutting: bool = False
    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def order(self, do: str, milliseconds: float) -> None:
        """Carry out one order; raises ``ValueError`` for an unknown one."""
        if do not in ("stall", "cut", "delay", "clear"):
            raise ValueError(f"unknown order {do!r}")
        if do == "stall":
            self.flowing.clear()
        elif do == "delay":
            self.delay = milliseconds / 1000
        elif do == "cut":
            self.cutting = True
            for writer in self.writers:
                reset(writer)
            # Here and not when their tasks end, so that the answer to this order counts none of them.
            self.writers.clear()
        else:
            self.delay, self.cutting = 0.0, False
            self.flowing.set()

    def state(self) -> dict[str, object]:
        """What an order's answer says."""
        return {
            "node": self.node_id,
            "stalled": not self.flowing.is_set(),
            "cut": self.cutting,
            "delay_ms": self.delay * 1000,
            "connections": len(self.writers) // 2,
        }

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client connection to its end."""
        if self.cutting:
            reset(writer)
            return
        try:
            broker_reader, broker_writer = await asyncio.open_connection(_HOST, self.target, limit=_CHUNK)
        except OSError:
            reset(writer)
            return
        pair = {writer, broker_writer}
        self.writers |= pair
        try:
            # A cut while the connection to the broker was being made has not seen this pair.
            if not self.cutting:
                await asyncio.gather(self._pump(reader, broker_writer), self._pump(broker_reader, writer))
        except OSError:
            pass
        finally:
            self.writers -= pair
            for each in pair:
                reset(each)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one direction; an end of file is passed on after all that came before it."""
        held: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_HELD_PIECES)
        clock = asyncio.get_running_loop().time

        async def read() -> None:
            while True:
                piece = await reader.read(_CHUNK)
                await held.put((clock() + self.delay, piece))
                if not piece:
                    return

        async def write() -> None:
            while True:
                due, piece = await held.get()
                if due > clock():
                    await asyncio.sleep(due - clock())
                await self.flowing.wait()
                if not piece:
                    writer.write_eof()
                    return
                writer.write(piece)
                await writer.drain()

        async with asyncio.TaskGroup() as both:
            both.create_task(read())
            both.create_task(write())


async def _control(
    routes: dict[int, ProxiedBroker], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    while line := await reader.readline():
        try:
            order = json.loads(line)
            route = routes[int(order["node"])]
            if "do" in order:
                route.order(str(order["do"]), float(order.get("ms", 0)))
            answer: dict[str, object] = {"ok": True, **route.state()}
        except (ValueError, KeyError, TypeError) as error:
            answer = {"ok": False, "error": repr(error)}
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()
    writer.close()


async def serve(control_port: int, routes: list[ProxiedBroker]) -> None:
    """Listen for all routes and for orders, until the process is ended."""
    by_node = {route.node_id: route for route in routes}
    for route in routes:
        route.flowing.set()
        await asyncio.start_server(route.accept, _HOST, route.listen, limit=_CHUNK)
    control = await asyncio.start_server(lambda r, w: _control(by_node, r, w), _HOST, control_port)
    await control.serve_forever()


def main(arguments: list[str]) -> None:
    """Parse the routes and serve them."""
    control_port, *described = arguments
    numbers = (tuple(map(int, text.split(":"))) for text in described)
    routes = [ProxiedBroker(node_id, listen, target) for node_id, listen, target in numbers]
    asyncio.run(serve(int(control_port), routes))


if __name__ == "__main__":
    main(sys.argv[1:])
