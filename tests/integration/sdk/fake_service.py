"""A route service that does as it is told, for what a client does of the service's answers.

``tests/integration/sdk/test_service_contract.py`` shows of the real one what is relied on here.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

PROBLEM = {"type": "urn:anabranch:problem:unknown-code", "title": "unknown code", "status": 409, "hint": "correct it"}


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
    """Answers with ``route``, ``hold`` and ``ended``, or with ``problem``; ``tell`` sends events to whoever watches."""

    def __init__(self, route: Any = None) -> None:
        self.route = route or route_json()
        self.hold: str | None = None
        self.ended: Any = None
        self.problem: Any = None
        self.unavailable = False
        self.seen: list[tuple[str, str, Any]] = []
        self.tokens: list[str] = []
        self._watching: list[tuple[str, queue.Queue[Any]]] = []
        self._server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self.stop()

    def start(self, port: int = 0) -> None:
        """Listen."""
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_PUT(self) -> None:
                fake._answer(self)

            do_POST = do_DELETE = do_PUT

            def do_GET(self) -> None:
                fake._watch(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Answer nobody any more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        self._end(lambda _: True)

    @property
    def url(self) -> str:
        """Its address."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def port(self) -> int:
        """Its port."""
        assert self._server is not None
        return int(self._server.server_address[1])

    @property
    def watching(self) -> int:
        """How many streams are open."""
        return len(self._watching)

    def tell(self, kind: str, data: Any) -> None:
        """Send an event to all that watch."""
        for _, one in list(self._watching):
            one.put(f"event: {kind}\ndata: {json.dumps(data)}\n\n")

    def bodies(self, method: str, end: str = "") -> list[Any]:
        """What was sent so far to addresses that end so."""
        return [body for verb, path, body in self.seen if verb == method and path.endswith(end)]

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        size = int(handler.headers.get("Content-Length") or 0)
        body = json.loads(handler.rfile.read(size)) if size else None
        self.seen.append((handler.command, handler.path, body))
        self.tokens.append(handler.headers.get("Authorization", ""))
        if self.unavailable:
            self._send(handler, 503, {"detail": "soon"})
        elif self.problem is not None and handler.command == "PUT":
            self._send(handler, self.problem["status"], self.problem)
        elif handler.command == "DELETE":
            self._end(lambda client: client == handler.path.split("/")[4])
            self._send(handler, 204, None)
        else:
            pace = {"lease_ms": 3000, "report_ms": 1000, "version": self.route["version"]}
            told = {**self.route, "topics": {one: one for one in (body or {}).get("topics", [])} | self.route["topics"]}
            told["topics"] = {name: told["topics"][name] for name in (body or {}).get("topics", [])}
            self._send(
                handler,
                200,
                {"id": handler.path.split("/")[4], "route": told, "hold": self.hold, "go": self.ended, **pace},
            )

    def _end(self, chosen: Callable[[str], bool]) -> None:
        for client, one in list(self._watching):
            if chosen(client):
                one.put(None)

    def _send(self, handler: BaseHTTPRequestHandler, status: int, value: Any) -> None:
        text = b"" if value is None else json.dumps(value).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    def _watch(self, handler: BaseHTTPRequestHandler) -> None:
        self.seen.append(("GET", handler.path, None))
        if self.unavailable:
            self._send(handler, 503, {"detail": "soon"})
            return
        mine: queue.Queue[Any] = queue.Queue()
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.close_connection = True
        entry = handler.path.split("/")[4], mine
        self._watching.append(entry)
        try:
            while (text := mine.get()) is not None:
                data = text.encode()
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                handler.wfile.flush()
        except OSError:
            pass
        finally:
            self._watching.remove(entry)
