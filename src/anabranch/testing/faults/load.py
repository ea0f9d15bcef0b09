"""Producers that go on whatever happens: every codec, nulls, repeated headers, times of 2013 and of now."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
YEAR_2013_MS = 1_356_998_400_000
_TICK_S = 0.02
_FLUSH_S = 120.0


@dataclass(frozen=True, slots=True)
class LoadTopic:
    """A topic that is written to; ``old`` gives its records times of 2013."""

    name: str
    partitions: int
    old: bool


class Load:
    """One producer thread per codec, each writing to every topic, until ``stop``."""

    def __init__(self, config: Mapping[str, Any], topics: tuple[LoadTopic, ...], rate: int, seed: int) -> None:
        self._stop = threading.Event()
        self._sent = [0] * len(CODECS)
        self._failed = 0
        self._halted = False
        self._threads = [
            threading.Thread(
                target=self._produce, args=(dict(config), topics, index, rate / len(CODECS), seed), daemon=True
            )
            for index in range(len(CODECS))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def sent(self) -> int:
        """Records that were handed to the producers."""
        return sum(self._sent)

    def halt(self) -> None:
        """Let the producers go without waiting for what they still hold."""
        self._halted = True
        self._stop.set()

    def stop(self) -> None:
        """Stop and flush; raises ``RuntimeError`` where a record could not be delivered."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if self._failed:
            raise RuntimeError(f"{self._failed} records of the load were not delivered")

    def _produce(
        self, config: dict[str, Any], topics: tuple[LoadTopic, ...], index: int, rate: float, seed: int
    ) -> None:
        from confluent_kafka import Producer

        chance = random.Random(f"{seed}/{index}")
        producer = Producer(
            {
                **config,
                "client.id": f"load-{CODECS[index]}",
                "compression.type": CODECS[index],
                "enable.idempotence": True,
                "linger.ms": 20 + 40 * index,
                "message.timeout.ms": 300_000,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,  # brokers come and go here: delivery reports tell what matters
            }
        )

        def delivered(error: Any, _message: Any) -> None:
            if error is not None:
                self._failed += 1

        began = time.monotonic()
        while not self._stop.is_set():
            due = int((time.monotonic() - began) * rate) - self._sent[index]
            for _ in range(max(0, min(due, 500))):
                topic = chance.choice(topics)
                try:
                    producer.produce(
                        topic.name, on_delivery=delivered, **_record(chance, topic, index, self._sent[index])
                    )
                except BufferError:
                    break
                self._sent[index] += 1
            producer.poll(0)
            self._stop.wait(_TICK_S)
        if self._halted:
            return
        if left := producer.flush(_FLUSH_S):
            self._failed += left


def _record(chance: random.Random, topic: LoadTopic, index: int, number: int) -> dict[str, Any]:
    """A record with a value of its own, whose every part varies."""
    headers: list[tuple[str, bytes | None]] = [("n", f"{index}/{number}".encode())]
    if chance.random() < 0.3:
        headers += [("again", b"1"), ("a", None), ("again", b"2"), ("again", b"")]
        chance.shuffle(headers)
    moment = YEAR_2013_MS + number * 1000 - chance.randrange(60_000) if topic.old else time.time_ns() // 1_000_000
    return {
        "key": None if chance.random() < 0.1 else f"UA{chance.randrange(5000)}".encode(),
        "value": None
        if chance.random() < 0.03
        else f"{index}/{number}/".encode() + chance.randbytes(chance.randrange(200)),
        "partition": chance.randrange(topic.partitions),
        "headers": headers,
        "timestamp": moment,
    }
