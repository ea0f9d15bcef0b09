"""Who clicks: a producer that goes on while brokers are killed, with times of its own that run faster than the clock.

Invariant: a click is at most ``OUT_OF_ORDER_S`` older than one that another partition has, since no more than
``UNSENT`` clicks wait to be sent: far less than a stream waits for late ones.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from confluent_kafka import Producer

from qa.timeouts import LONG_TIMEOUT_S

PARTITIONS = 3
PAGES = ("/", "/basket", "/search", "/help", "/a/1", "/a/2", "/a/3")
END = "/end"
"""The page of clicks a day later, which end all windows before."""
USERS = 150
FIRST = datetime(2026, 3, 1, tzinfo=UTC)
STEP = timedelta(milliseconds=500)
UNSENT = 2_000
JITTER_S = 240
OUT_OF_ORDER_S = UNSENT * STEP.total_seconds() + JITTER_S
_TICK_S = 0.05


class Clicks:
    """Clicks from a seed: a thread writes ``rate`` of them a second until ``stop``."""

    def __init__(self, config: Mapping[str, Any], topic: str, seed: int, rate: int) -> None:
        self._topic, self._rate = topic, rate
        self._random = random.Random(seed)
        lasting = {"enable.idempotence": True, "message.timeout.ms": 0, "linger.ms": 20, "log_level": 0}
        self._producer = Producer({**config, **lasting})
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self.sent = 0
        self.failed: list[str] = []

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, once every click is acknowledged; raises AssertionError where one is not."""
        self._ending.set()
        self._thread.join()
        self._settle()

    def write(self, count: int) -> None:
        """Write so many now, by the caller's thread; returns once all are acknowledged."""
        for _ in range(count):
            self._click()
        self._settle()

    def end_windows(self) -> None:
        """A click into each partition, a day after all others."""
        at = FIRST + self.sent * STEP + timedelta(days=1)
        for partition in range(PARTITIONS):
            self._send(END, 0, at, partition)
        self._settle()

    def _go_on(self) -> None:
        while not self._ending.wait(_TICK_S):
            for _ in range(int(self._rate * _TICK_S)):
                self._click()

    def _click(self) -> None:
        while len(self._producer) >= UNSENT and not self._ending.is_set():
            self._producer.poll(_TICK_S)
        chance = self._random
        at = FIRST + self.sent * STEP - timedelta(seconds=chance.uniform(0, JITTER_S))
        user = int(USERS * chance.random() ** 2)
        self._send(PAGES[int(len(PAGES) * chance.random() ** 1.5)], user, at, user % PARTITIONS)
        self.sent += 1

    def _send(self, page: str, user: int, at: datetime, partition: int) -> None:
        value = json.dumps({"page": page, "user_id": user, "at": at.isoformat(timespec="milliseconds")})
        self._producer.produce(self._topic, value, str(user), partition, on_delivery=self._delivered)
        self._producer.poll(0)

    def _delivered(self, error: Any, _message: Any) -> None:
        if error is not None:
            self.failed.append(str(error))

    def _settle(self) -> None:
        left = self._producer.flush(LONG_TIMEOUT_S)
        assert not left and not self.failed, f"{left} clicks were not acknowledged; {self.failed[:3]}"
