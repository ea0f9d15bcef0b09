"""Clients that watch for changes of their routes: each has a queue of what it is to be told, encoded already.

A client that takes nothing for so long that ``MOST`` events wait is dropped: it connects again and is told its route.

Invariants
    W1  a stream's events come in the order in which they were told: past the queue only while it is empty and the
        stream waits for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

MOST = 100
ENDING = "ending"
RETRY_MS, RETRY_EACH_MS = 1_000, 5
"""Within which time clients come again when an instance ends: at least so long, and so much for each of them."""


def event(kind: str, data: object) -> bytes:
    """A server-sent event."""
    return f"event: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


@dataclass(eq=False, slots=True)
class Watcher:
    """A stream of one client; ``is_over`` once nothing more comes but what waits in it.

    ``at_once`` is set while the stream waits for the queue: it sends an event without waking the stream's task, and
    says whether the connection took it.
    """

    events: asyncio.Queue[bytes] = field(default_factory=lambda: asyncio.Queue(MOST))
    is_over: bool = False
    at_once: Callable[[bytes], bool] | None = None


class Watching:
    """The watching clients of one event loop, one stream each."""

    def __init__(self) -> None:
        self._watchers: dict[str, Watcher] = {}

    def __len__(self) -> int:
        return len(self._watchers)

    def open(self, client_id: str) -> Watcher:
        """Watch; a stream that the client had before is over."""
        self.close(client_id)
        made = self._watchers[client_id] = Watcher()
        return made

    def close(self, client_id: str, watcher: Watcher | None = None) -> None:
        """End a client's stream, whichever it has, or this one."""
        found = self._watchers.get(client_id)
        if found is not None and watcher in (None, found):
            del self._watchers[client_id]
            _end(found)

    def tell(self, client_id: str, told: bytes) -> None:
        """Tell a client, if it watches; one that is too slow is dropped."""
        found = self._watchers.get(client_id)
        if found is None:
            return
        if found.at_once is not None and found.events.empty() and found.at_once(told):
            return
        try:
            found.events.put_nowait(told)
        except asyncio.QueueFull:
            self.close(client_id)

    def end(self) -> None:
        """Tell all that this instance ends, and when to come again: not all at once."""
        within = max(RETRY_MS, RETRY_EACH_MS * len(self._watchers))
        told = event(ENDING, {"retry_within_ms": within})
        for client_id in tuple(self._watchers):
            self.tell(client_id, told)
            self.close(client_id)


def _end(watcher: Watcher) -> None:
    watcher.is_over = True
    with suppress(asyncio.QueueFull):
        watcher.events.put_nowait(b"")  # wakes whoever waits for the next one
