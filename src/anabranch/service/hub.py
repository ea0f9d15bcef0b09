"""Events for whoever listens: told as they happen, kept for nobody.

A listener that takes nothing for so long that ``MOST`` events wait is dropped: it connects again and reads everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

MOST = 1_000
ENDING = "ending"
"""The kind of the last event of all."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened; ``kind`` is what it is about."""

    kind: str
    data: Mapping[str, Any]


@dataclass(eq=False, slots=True)
class Listener:
    """One who listens; ``is_dropped`` once it was too slow."""

    events: asyncio.Queue[Event] = field(default_factory=lambda: asyncio.Queue(MOST))
    is_dropped: bool = False


class Hub:
    """The listeners of one event loop."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()

    def __len__(self) -> int:
        return len(self._listeners)

    @contextmanager
    def listening(self) -> Iterator[Listener]:
        """Listen while the block runs."""
        listener = Listener()
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def tell(self, kind: str, data: Mapping[str, Any]) -> None:
        """Tell all; whoever is too slow is dropped."""
        event = Event(kind, data)
        for listener in tuple(self._listeners):
            try:
                listener.events.put_nowait(event)
            except asyncio.QueueFull:
                listener.is_dropped = True
                self._listeners.discard(listener)
