"""The route service over HTTP: requests with a token, problems as errors, and a stream of events.

A stream is read without blocking by whoever waits for its socket, so that one thread can wait for other things too.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import urllib.parse
from collections.abc import Iterator
from typing import Any

from anabranch.errors import AnabranchError
from anabranch.model.secrets import SecretRef
from anabranch.sdk.errors import RouteProblemError, ServiceDownError, SettingError
from anabranch.sdk.stream import Chunks, Events, ServerEvent

_OPEN_S = 10.0
_STREAM = "text/event-stream"
_AWAY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers of a service, or of what stands before it, that is there again later."""


class RouteService:
    """The service at a URL, asked by a client of it; used by several threads."""

    def __init__(self, url: str, token: SecretRef, ca_file: str | None = None) -> None:
        parts = urllib.parse.urlsplit(url)
        self.url = url
        self._host, self._port, self._base = parts.hostname or "", parts.port, parts.path
        self._token = token
        self._tls = _context(ca_file) if parts.scheme == "https" else None
        self._lock = threading.Lock()
        self._kept: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: object = None, timeout_s: float = _OPEN_S) -> Any:
        """What is answered; raises ServiceDownError, RouteProblemError, MissingSecretError.

        What the service can be asked is the same asked twice, so a kept connection that was closed meanwhile costs
        nothing.
        """
        sent = None if body is None else json.dumps(body).encode()
        with self._lock:
            connection, self._kept = self._kept, None
        if connection is not None:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if connection.sock is not None:
                    connection.sock.settimeout(timeout_s)
                return self._answered(connection, method, path, sent)
            connection.close()
        connection = self._connection(timeout_s)
        try:
            return self._answered(connection, method, path, sent)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise ServiceDownError(self.url, _why(error)) from error

    def watch(self, path: str) -> Watch:
        """A stream of events; raises what ``ask`` raises."""
        connection = self._connection(_OPEN_S)
        try:
            connection.connect()
            connected = connection.sock  # an answer that ends its connection would take it away
            connection.request("GET", self._base + path, None, self._headers(None) | {"Accept": _STREAM})
            answer = connection.getresponse()
            if answer.status != http.HTTPStatus.OK:
                raise self._problem(answer.status, answer.read())
            if not (answer.getheader("Content-Type") or "").startswith(_STREAM):
                raise ServiceDownError(self.url, "what answers is not the route service")
            return Watch(self.url, connection, connected, answer)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise ServiceDownError(self.url, _why(error)) from error
        except AnabranchError:
            connection.close()
            raise

    def close(self) -> None:
        """Close what is kept open; it can be asked again."""
        with self._lock:
            connection, self._kept = self._kept, None
        if connection is not None:
            connection.close()

    def _connection(self, timeout_s: float) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)
        return http.client.HTTPSConnection(self._host, self._port, timeout=timeout_s, context=self._tls)

    def _headers(self, body: bytes | None) -> dict[str, str]:
        token = self._token.resolve().reveal().strip()
        if not token.isascii() or not token.isprintable() or " " in token:
            raise SettingError("route.token", f"what {self._token} holds is no token", "write the token alone there")
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        return headers if body is None else headers | {"Content-Type": "application/json"}

    def _answered(self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None) -> Any:
        connection.request(method, self._base + path, body, self._headers(body))
        answer = connection.getresponse()
        text = answer.read()
        if answer.will_close:
            connection.close()
        else:
            with self._lock:
                former, self._kept = self._kept, connection
            if former is not None:
                former.close()
        if not http.HTTPStatus.OK <= answer.status < http.HTTPStatus.MULTIPLE_CHOICES:
            raise self._problem(answer.status, text)
        if not text:
            return None
        try:
            return json.loads(text)
        except ValueError:
            raise ServiceDownError(self.url, "what answers is not the route service") from None

    def _problem(self, status: int, text: bytes) -> AnabranchError:
        """The error of an answer; one that is the service's own words is a refusal, unless it is away for a time."""
        try:
            told = json.loads(text)
        except ValueError:
            told = None
        if status in _AWAY or not isinstance(told, dict) or "detail" not in told:
            words = told["detail"] if isinstance(told, dict) and "detail" in told else "not the route service's words"
            return ServiceDownError(self.url, f"status {status}, {words}")
        return RouteProblemError(status, str(told.get("type", "")), str(told["detail"]), str(told.get("hint", "")))


class Watch:
    """An open stream of events."""

    def __init__(
        self,
        url: str,
        connection: http.client.HTTPConnection,
        connected: socket.socket,
        answer: http.client.HTTPResponse,
    ) -> None:
        self._url = url
        self._connection = connection
        self._answer = answer
        self._socket = connected
        self._chunks = Chunks() if answer.chunked else None
        self._events = Events()
        self._first = _buffered(answer, self._socket)
        self._socket.setblocking(False)

    def fileno(self) -> int:
        """What to wait for."""
        return self._socket.fileno()

    def read(self) -> Iterator[ServerEvent]:
        """The events that are there by now, without waiting; raises ServiceDownError when the stream has ended."""
        first, self._first = self._first, b""
        yield from self._fed(first)
        while True:
            try:
                data = self._socket.recv(65536)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError as error:
                raise ServiceDownError(self._url, _why(error)) from error
            if not data:
                raise ServiceDownError(self._url, "the event stream has ended")
            yield from self._fed(data)

    def close(self) -> None:
        """End it."""
        self._answer.close()
        self._connection.close()

    def _fed(self, data: bytes) -> Iterator[ServerEvent]:
        body = data if self._chunks is None else self._chunks.feed(data)
        yield from self._events.feed(body)
        if self._chunks is not None and self._chunks.ended:
            raise ServiceDownError(self._url, "the event stream has ended")


def _buffered(answer: http.client.HTTPResponse, connected: socket.socket) -> bytes:
    """What was read behind the head of the answer: it stands in the answer's buffer, where no socket shows it."""
    connected.setblocking(False)
    found = b""
    with contextlib.suppress(OSError):  # nothing in it: the buffer asks the socket, which has nothing either
        found = answer.fp.peek()
    return bytes(found)


def _context(ca_file: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise SettingError("route.ca.file", f"{ca_file}: {_why(error)}", "name a file with PEM certificates") from error


def _why(error: OSError | http.client.HTTPException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message}); name its authority in route.ca.file"
    if isinstance(error, TimeoutError):
        return "it takes too long"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
