"""Members of a wave's groups that are none of the SDK's: they read on, whatever they are told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer

from tests.integration.migrations.test_source_lost import LostStand


@contextmanager
def reading_on(
    made: LostStand, client_id: str, settings: Mapping[str, Any], take: Callable[[Consumer, Any], object]
) -> Iterator[None]:
    """A consumer of the wave's group in a thread of its own; ``take`` is given each message that it polls."""
    stop = threading.Event()
    whose = {"group.id": made.wave.groups[0], "client.id": client_id}
    given = {**settings, **whose, "auto.offset.reset": "earliest", "enable.auto.commit": False}

    def go() -> None:
        consumer = Consumer(given)
        consumer.subscribe(list(made.wave.topics))
        while not stop.is_set():
            message = consumer.poll(0.1)
            if message is not None:
                take(consumer, message)
        consumer.close()

    thread = threading.Thread(target=go, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
