"""Orders to the proxy before one broker; the proxy itself is a process of its own (see ``proxy_server``)."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass
from typing import Any

from anabranch.errors import ProtocolError
from anabranch.sandbox.layout import LOOPBACK, ClusterLayout

# The proxy itself answers at once; a machine with too much to do may stand still for a while.
_ORDER_SECONDS = 60.0


@dataclass(eq=False)
class ProxyRefusedError(ProtocolError):
    """The proxy did not carry out an order."""

    node_id: int
    problem: str

    _message = "the proxy before broker {node_id} refused an order: {problem}"


@dataclass(frozen=True, slots=True)
class ProxyState:
    """What a proxy does now, and how many client connections pass through it."""

    stalled: bool
    cut: bool
    delay_ms: float
    connections: int


@dataclass(frozen=True, slots=True)
class Proxy:
    """The proxy before one broker; every order has taken hold when its method returns.

    A proxy can be stalled, cut and delayed at once; ``clear`` ends all three.  Any process may hold one of these.
    """

    node_id: int
    port: int
    control_port: int

    def stall(self) -> ProxyState:
        """Let nothing pass and close nothing: a network that swallows packets."""
        return self._order("stall")

    def cut(self) -> ProxyState:
        """Reset every connection, and each new one, until ``clear``: a network that is down."""
        return self._order("cut")

    def delay(self, ms: float) -> ProxyState:
        """Let everything pass ``ms`` milliseconds later in each direction."""
        return self._order("delay", ms)

    def clear(self) -> ProxyState:
        """Let everything pass, what a stall held back first."""
        return self._order("clear")

    def state(self) -> ProxyState:
        """Ask without changing anything."""
        return self._order(None)

    def _order(self, do: str | None, ms: float = 0.0) -> ProxyState:
        order: dict[str, Any] = {"node": self.node_id}
        if do is not None:
            order |= {"do": do, "ms": ms}
        with socket.create_connection((LOOPBACK, self.control_port), _ORDER_SECONDS) as connection:
            connection.sendall(json.dumps(order).encode() + b"\n")
            line = connection.makefile("rb").readline()
        answer = json.loads(line) if line else {"ok": False, "error": "it closed the connection"}
        if not answer.pop("ok"):
            raise ProxyRefusedError(self.node_id, str(answer.get("error")))
        del answer["node"]
        return ProxyState(**answer)


def proxies_of(layout: ClusterLayout) -> dict[int, Proxy]:
    """The proxies of a cluster by node; empty if it has none."""
    if layout.control is None:
        return {}
    ports = {node.node_id: node.proxy for node in layout.nodes}
    return {node: Proxy(node, port, layout.control) for node, port in ports.items() if port is not None}


def wait_for_proxies(proxies: dict[int, Proxy], seconds: float) -> bool:
    """Wait until every proxy answers; returns whether they do."""
    deadline = time.monotonic() + seconds
    for proxy in proxies.values():
        while True:
            try:
                proxy.state()
                break
            except OSError:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.02)
    return True
