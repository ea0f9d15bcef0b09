"""A call that is tried again while the server is away, full or busy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from anabranch.spark.streams.sinks.errors import SinkUnavailableError
from anabranch.spark.streams.sinks.port import SinkCounts

T = TypeVar("T")
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 5.0


class PassingError(Exception):
    """What may be gone at the next attempt; its text is what the server or its client said."""


@dataclass(slots=True)
class Retrying:
    """Attempts for a time that begins with the first one that fails; ``closed`` ends the pauses."""

    sink: str
    seconds: float
    counts: SinkCounts
    closed: threading.Event = field(default_factory=threading.Event)

    def call(self, attempt: Callable[[], T]) -> T:
        """What it returns; raises ``SinkUnavailableError`` where ``PassingError`` does not end in time."""
        pause, attempts, deadline = _FIRST_PAUSE_SECONDS, 0, None
        while True:
            attempts += 1
            try:
                return attempt()
            except PassingError as error:
                now = time.monotonic()
                deadline = now + self.seconds if deadline is None else deadline
                if now + pause > deadline or self.closed.wait(pause):
                    raise SinkUnavailableError(self.sink, self.seconds, attempts, str(error)[:500]) from error
                self.counts.retries += 1
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
