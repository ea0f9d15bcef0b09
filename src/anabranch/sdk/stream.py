"""Server-sent events out of the bytes of an answer, as they come.

Invariants
    E1  the events are the same however the bytes are cut.
    E2  what is held is one event at most, and no event is longer than ``LONGEST``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from anabranch.sdk.errors import MalformedRouteError

LONGEST = 4_000_000
"""A ``go`` with the starts of a hundred thousand partitions is shorter."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its kind, and its data as JSON."""

    kind: str
    data: Any


class Chunks:
    """The body out of chunked transfer coding (RFC 9112, 7.1); trailers are left unread."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._left = 0
        self.ended = False

    def feed(self, data: bytes) -> bytes:
        """What of the body these bytes make complete; raises MalformedRouteError."""
        self._held += data
        body = bytearray()
        while not self.ended:
            if self._left > 2:
                part = self._held[: self._left - 2]
                body += part
                del self._held[: len(part)]
                self._left -= len(part)
                if self._left > 2:
                    break
            if self._left:
                if len(self._held) < self._left:
                    break
                del self._held[: self._left]
                self._left = 0
            end = self._held.find(b"\r\n")
            if end < 0:
                if len(self._held) > 1000:
                    raise MalformedRouteError("event stream", "it is not in chunks")
                break
            size = self._size(bytes(self._held[:end]))
            del self._held[: end + 2]
            self.ended = size == 0
            self._left = size + 2
        return bytes(body)

    @staticmethod
    def _size(line: bytes) -> int:
        try:
            return int(line.partition(b";")[0].strip(), 16)
        except ValueError:
            raise MalformedRouteError("event stream", "a chunk without its length") from None


@dataclass
class Events:
    """Events out of a body; comments keep a connection open and are no events."""

    _held: bytearray = field(default_factory=bytearray)
    _kind: str = ""
    _data: list[str] = field(default_factory=list)

    def feed(self, data: bytes) -> Iterator[ServerEvent]:
        """Those that these bytes make complete; raises MalformedRouteError."""
        self._held += data
        while (end := self._held.find(b"\n")) >= 0:
            line = bytes(self._held[:end]).removesuffix(b"\r").decode("utf-8", "replace")
            del self._held[: end + 1]
            event = self._line(line)
            if event is not None:
                yield event
        if len(self._held) + sum(map(len, self._data)) > LONGEST:
            raise MalformedRouteError("event stream", f"an event of more than {LONGEST} bytes")

    def _line(self, line: str) -> ServerEvent | None:
        if not line:
            kind, data = self._kind, "\n".join(self._data)
            self._kind, self._data = "", []
            return self._event(kind, data) if data else None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        return None

    @staticmethod
    def _event(kind: str, data: str) -> ServerEvent:
        try:
            return ServerEvent(kind or "message", json.loads(data))
        except ValueError:
            raise MalformedRouteError(f"event {kind}", "its data is not JSON") from None
