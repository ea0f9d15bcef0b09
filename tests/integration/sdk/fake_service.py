"""A route service that does as it is told, for what a client does of the service's answers.

``tests/integration/sdk/test_service_contract.py`` shows of the real one what is relied on here.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.integration.sdk.fake_switch import FakeSwitch

LATER = 10**15
"""A deadline that does not come."""


def problem(status: int, kind: str, detail: str, hint: str = "correct it") -> Any:
    """A refusal as the service words it."""
    title = kind.replace("-", " ")
    more = {"retryable": False, "exit_code": 3, "field": None}
    return {
        "type": f"urn:anabranch:problem:{kind}",
        "title": title,
        "status": status,
        "detail": detail,
        "hint": hint,
        **more,
    }


def route_json(cluster: str = "old", version: int = 1, topics: Mapping[str, str] | None = None, **more: Any) -> Any:
    """A route as the service tells it."""
    return {
        "code": "orders",
        "cluster": cluster,
        "bootstrap": [f"{cluster}:9092"],
        "security": {"protocol": "PLAINTEXT"},
        "topics": dict(topics or {}),
        "may_read": True,
        "may_write": True,
        "rule": "",
        "since": version,
        "version": version,
        **more,
    }


class FakeService:
    """Leads all that register by ``route``, or refuses them with ``problem``; it begins and ends switches when told.

    It takes one token: the environment's, unless another one is given.
    """

    def __init__(self, route: Any = None, token: str = "") -> None:
        self.route = route or route_json()
        self.token = token or os.environ["ANABRANCH_TOKEN"]
        self.problem: Any = None
        self.unavailable = False
        self.report_ms = 1000
        self.seen: list[tuple[str, str, Any]] = []
        self.switch: FakeSwitch | None = None
        self._clients: dict[str, Any] = {}
        self._streams: dict[str, queue.Queue[str | None]] = {}
        self._open = 0
        self._connections: set[socket.socket] = set()
        self._lock = threading.RLock()
        self._flows = threading.Event()
        self._flows.set()
        self._server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self.stop()

    def start(self, port: int = 0) -> None:
        """Listen; clients of before are still known."""
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                fake._connections.add(self.connection)

            def finish(self) -> None:
                fake._connections.discard(self.connection)
                with contextlib.suppress(OSError):
                    super().finish()

            def log_message(self, *_: object) -> None:
                pass

            def do_PUT(self) -> None:
                fake._answer(self)

            do_POST = do_DELETE = do_GET = do_PUT

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self, *, says: bool = False) -> None:
        """Answer nobody any more; where it ``says`` so, streams hear when to come again."""
        if self._server is not None:
            if says:
                self.tell("ending", {"retry_within_ms": 1000})
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        with self._lock:
            for client in list(self._streams):
                self._end_stream(client)
        if not says:
            for one in list(self._connections):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        """Its port."""
        assert self._server is not None
        return int(self._server.server_address[1])

    @property
    def watching(self) -> int:
        """How many streams are open."""
        return self._open

    def bodies(self, method: str, end: str = "") -> list[Any]:
        """What was sent so far to addresses that end so."""
        return [body for verb, path, body in list(self.seen) if verb == method and path.endswith(end)]

    def was_asked(self, number: int) -> bool:
        """Whether clients have registered more often than that."""
        return len(self.bodies("PUT")) > number

    # -- what is told ----------------------------------------------------------------------------------

    def tell(self, kind: str, data: Any) -> None:
        """Send an event to all that watch; it also counts for those that come later."""
        with self._lock:
            self._heed(kind, data)
            for client in self._streams:
                self._tell(client, kind, data)

    def lead(self, route: Any) -> None:
        """Lead all by this route from now on, and tell them."""
        with self._lock:
            self.route, self.problem = route, None
            for client in self._streams:
                self._tell(client, "route", self._first(client))

    def refuse(self, refused: Any) -> None:
        """Lead nobody any more, and tell those that watch why."""
        with self._lock:
            self.problem = refused
            self.tell("refused", {"problem": refused})

    @contextlib.contextmanager
    def slow(self) -> Iterator[None]:
        """What streams are told comes at the end; requests are answered meanwhile."""
        self._flows.clear()
        try:
            yield
        finally:
            self._flows.set()

    def prepare(self, switch: str) -> None:
        """Begin a switch of all that are registered."""
        self.tell("prepare", {"switch": switch, "deadline_ms": LATER})

    def go(self, switch: str, route: Any, starts: Mapping[str, int] | None = None) -> None:
        """End the switch: all go on by this route, each with its own topics."""
        with self._lock:
            self.route = route
            self._heed("go", {"switch": switch, "starts": dict(starts or {})})
            for client in self._streams:
                self._tell(client, "go", {"switch": switch, "route": self._told(client), "starts": dict(starts or {})})

    def cancel(self, switch: str) -> None:
        """Give the switch up."""
        self.tell("cancel", {"switch": switch, "why": "a test"})

    def forget(self) -> None:
        """All leases have run out."""
        with self._lock:
            for client in list(self._clients):
                del self._clients[client]
                self._end_stream(client)

    def is_settled(self, clients: int = 2) -> bool:
        """Whether so many are there, and each has paused or is held."""
        with self._lock:
            switch = self.switch
            paused = set() if switch is None else {*switch.ready, *switch.held}
            return len(self._clients) == clients and paused >= self._clients.keys()

    @property
    def hold(self) -> str | None:
        """The switch before whose end all that register must not connect; it may be set."""
        return None if self.switch is None or self.switch.end else self.switch.id

    @hold.setter
    def hold(self, switch: str | None) -> None:
        with self._lock:
            self.switch = None if switch is None else FakeSwitch(switch, set())

    def _heed(self, kind: str, data: Any) -> None:
        if kind == "prepare":
            self.switch = FakeSwitch(data["switch"], set(self._clients))
        elif kind in ("go", "cancel") and self.switch is not None and self.switch.id == data["switch"]:
            self.switch = self.switch.ended(kind, data.get("starts", {}))

    def _tell(self, client: str, kind: str, data: Any) -> None:
        self._streams[client].put(f"event: {kind}\ndata: {json.dumps(data)}\n\n")

    def _told(self, client: str) -> Any:
        names = self.route["topics"]
        return {**self.route, "topics": {one: names.get(one, one) for one in self._clients[client].get("topics", [])}}

    # -- what is answered ------------------------------------------------------------------------------

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        size = int(handler.headers.get("Content-Length") or 0)
        body = json.loads(handler.rfile.read(size)) if size else None
        client, _, rest = handler.path.removeprefix("/api/v1/clients/").partition("/")
        with self._lock:
            self.seen.append((handler.command, handler.path, body))
            if handler.headers.get("Authorization") != f"Bearer {self.token}":
                status, value = 401, problem(401, "not-signed-in", "the token is not known")
            elif self.unavailable:
                status, value = 503, problem(503, "store", "soon")
            elif handler.command == "PUT":
                status, value = self._registered(client, body)
            elif client not in self._clients:
                status, value = 404, problem(404, "unknown-client", f"there is no client {client}")
            else:
                status, value = self._asked(handler.command, client, rest, body)
            stream = self._watched(client) if status == 200 and handler.command == "GET" else None
        if stream is None:
            _send(handler, status, value)
        else:
            self._stream(handler, client, stream)

    def _registered(self, client: str, body: Any) -> tuple[int, Any]:
        if self.problem is not None:
            return self.problem["status"], self.problem
        self._clients[client] = body
        hold = None if self.switch is None else self.switch.hold(client)
        go = None if self.switch is None or hold else self.switch.missed_starts(client)
        return 200, {"id": client, "route": self._told(client), "hold": hold, "go": go, **self._pace()}

    def _asked(self, verb: str, client: str, rest: str, body: Any) -> tuple[int, Any]:
        if verb == "DELETE":
            del self._clients[client]
            self._end_stream(client)
            return 204, None
        if rest == "report" and self.switch is not None and body["version"] >= self.route["version"]:
            self.switch.follows.add(client)
        if rest == "ready" and (self.switch is None or not self.switch.takes(client, body)):
            return 409, problem(409, "no-switch", f"switch {body['switch']} is not under way")
        return 200, self._pace()

    def _pace(self) -> Any:
        return {"lease_ms": 3 * self.report_ms, "report_ms": self.report_ms, "version": self.route["version"]}

    def _watched(self, client: str) -> queue.Queue[str | None]:
        """A stream with what is told first: the route, and what it may have missed of the last switch."""
        self._end_stream(client)
        made = self._streams[client] = queue.Queue()
        self._tell(client, "route", self._first(client))
        switch = self.switch
        if switch is not None and switch.asks(client):
            self._tell(client, "prepare", {"switch": switch.id, "deadline_ms": LATER})
        elif switch is not None and switch.end and switch.concerns(client) and client not in switch.follows:
            self._tell(client, switch.end, switch.ending(self._told(client)))
        return made

    def _first(self, client: str) -> Any:
        return {"route": self._told(client)}

    def _end_stream(self, client: str) -> None:
        stream = self._streams.pop(client, None)
        if stream is not None:
            stream.put(None)

    def _stream(self, handler: BaseHTTPRequestHandler, client: str, stream: queue.Queue[str | None]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.close_connection = True
        with self._lock:
            self._open += 1
        try:
            while (text := stream.get()) is not None:
                self._flows.wait()
                _chunk(handler, text.encode())
            _chunk(handler, b"")
        except OSError:
            pass
        finally:
            with self._lock:
                self._open -= 1
                if self._streams.get(client) is stream:
                    del self._streams[client]


def _chunk(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
    handler.wfile.flush()


def _send(handler: BaseHTTPRequestHandler, status: int, value: Any) -> None:
    text = b"" if value is None else json.dumps(value).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json" if status < 400 else "application/problem+json")
    handler.send_header("Content-Length", str(len(text)))
    handler.end_headers()
    handler.wfile.write(text)
