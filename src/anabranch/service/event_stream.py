"""A server's connection that takes a part of an answer at once, in place of by the task that answers.

Through ASGI each part of each of ten thousand streams costs a task's turn, four callers and an object of the HTTP
library; what is told to all is the same few bytes.

Invariants
    S1  what is written at once is a whole chunk of an answer that has begun and not ended, behind all that was written.
    S2  it is not written where the connection is behind: that is for who answers to wait for.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

AT_ONCE = "anabranch.at_once"
"""The extension of a request's scope: called with a part of the body, it says whether that was written."""


class StreamingProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, with ``AT_ONCE`` where parts of an answer are chunks."""

    def handle_events(self) -> None:
        """As uvicorn's; the task of a request that was found begins after this."""
        super().handle_events()
        cycle = self.cycle
        if cycle is not None and cycle.scope["http_version"] == "1.1":
            scope: MutableMapping[str, Any] = cycle.scope  # type: ignore[assignment]
            scope.setdefault("extensions", {})[AT_ONCE] = self._write_at_once

    def _write_at_once(self, part: bytes) -> bool:
        cycle = self.cycle
        if not cycle.response_started or cycle.response_complete or cycle.disconnected:
            return False
        if self.flow.write_paused or self.transport.is_closing():
            return False
        self.transport.write(b"%x\r\n%b\r\n" % (len(part), part))
        return True
