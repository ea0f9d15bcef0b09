"""Producers that go on whatever happens: every codec, nulls, repeated headers, times of 2013 and of now.

Topics of each kind have producers of their own kind; those of ``transactions`` write beside them.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from qa.faults.ledger import Ledger
from qa.faults.topics import LoadTopic, TopicKind
from qa.faults.transactions import Transactor
from qa.logcompare import digest_of
from qa.timeouts import LONG_TIMEOUT_S

__all__ = ["CODECS", "Load", "LoadTopic"]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
YEAR_2013_MS = 1_356_998_400_000
COMPACTED_RATE = 150.0
SINGLE_RATE = 60.0
TRANSACTORS = 3
KEYS = 40
_TICK_S = 0.02
_FLUSH_S = LONG_TIMEOUT_S

Record = dict[str, Any]
Maker = Callable[[random.Random, LoadTopic, int], Record]


class Load:
    """One thread per producer, until ``stop``; ``ledger`` tells what compacted topics ever held."""

    def __init__(self, config: Mapping[str, Any], topics: Sequence[LoadTopic], rate: int, seed: int) -> None:
        self._stop = threading.Event()
        self._config = dict(config)
        self._seed = seed
        self._sent: dict[str, int] = {}
        self._failed: list[str] = []
        self._halted = False
        self.ledger = Ledger()
        by_kind = {kind: [topic for topic in topics if topic.kind is kind] for kind in TopicKind}
        compacted = [topic for topic in topics if topic.compacted]
        mixed = [topic for topic in topics if not topic.compacted and topic.kind is not TopicKind.SINGLE]
        self._threads: list[threading.Thread] = []
        for index, codec in enumerate(CODECS if mixed else ()):
            settings = {"compression.type": codec, "linger.ms": 20 + 40 * index}
            self._start(f"load-{codec}", settings, mixed, rate / len(CODECS), partial(_record, index))
        if singles := by_kind[TopicKind.SINGLE]:
            settings = {"batch.num.messages": 1, "linger.ms": 0}
            self._start("load-single", settings, singles, SINGLE_RATE, partial(_record, len(CODECS)))
        if compacted:
            settings = {"compression.type": "lz4", "linger.ms": 30}
            make = partial(_keyed, len(CODECS) + 1)
            self._start("load-compacted", settings, compacted, len(compacted) * COMPACTED_RATE, make)
        self.transactors = [
            Transactor(self._config, by_kind[TopicKind.TRANSACTIONAL], compacted, self._stop, self.ledger, seed, number)
            for number in range(TRANSACTORS if by_kind[TopicKind.TRANSACTIONAL] else 0)
        ]
        self._threads += [threading.Thread(target=transactor.run, daemon=True) for transactor in self.transactors]
        for thread in self._threads:
            thread.start()

    @property
    def sent(self) -> int:
        """Records that were handed to the producers, aborted ones too."""
        return sum(self._sent.values()) + sum(transactor.records for transactor in self.transactors)

    @property
    def transactions(self) -> tuple[int, int, int]:
        """How many were committed, aborted and left hanging."""
        counts = [(transactor.committed, transactor.aborted, transactor.hanging) for transactor in self.transactors]
        committed, aborted, hanging = (sum(column) for column in zip((0, 0, 0), *counts, strict=True))
        return committed, aborted, hanging

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
            raise RuntimeError(f"{len(self._failed)} records of the load were not delivered: {self._failed[0]}")

    def _start(
        self, name: str, settings: Mapping[str, Any], topics: Sequence[LoadTopic], rate: float, make: Maker
    ) -> None:
        self._sent[name] = 0
        arguments = (name, settings, topics, rate, make)
        self._threads.append(threading.Thread(target=self._produce, args=arguments, daemon=True))

    def _produce(
        self, name: str, settings: Mapping[str, Any], topics: Sequence[LoadTopic], rate: float, make: Maker
    ) -> None:
        from confluent_kafka import Producer

        chance = random.Random(f"{self._seed}/{name}")
        producer = Producer(
            {
                **self._config,
                **settings,
                "client.id": name,
                "enable.idempotence": True,
                "message.timeout.ms": 300_000,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,  # brokers come and go here: delivery reports tell what matters
            }
        )
        began = time.monotonic()
        while not self._stop.is_set():
            due = int((time.monotonic() - began) * rate) - self._sent[name]
            for _ in range(max(0, min(due, 500))):
                topic = chance.choice(topics)
                record = make(chance, topic, self._sent[name])
                digest = _digest(record) if topic.compacted else None
                try:
                    producer.produce(topic.name, on_delivery=partial(self._delivered, digest), **record)
                except BufferError:
                    break
                self._sent[name] += 1
            producer.poll(0)
            self._stop.wait(_TICK_S)
        if self._halted:
            return
        if left := producer.flush(_FLUSH_S):
            self._failed += [f"{name} still held it"] * left

    def _delivered(self, digest: bytes | None, error: Any, message: Any) -> None:
        if error is not None:
            self._failed.append(str(error))
        elif digest is not None:
            self.ledger.note((message.topic(), message.partition()), message.offset(), digest)


def _digest(record: Record) -> bytes:
    return digest_of(record["timestamp"], record["key"], record["value"], record["headers"])


def _record(index: int, chance: random.Random, topic: LoadTopic, number: int) -> Record:
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


def _keyed(index: int, chance: random.Random, topic: LoadTopic, number: int) -> Record:
    """A record of a compacted topic: one of few keys, and one in eight deletes its key."""
    record = _record(index, chance, topic, number)
    value = f"{index}/{number}/".encode() + chance.randbytes(chance.randrange(200))
    key = f"key {chance.randrange(KEYS)}".encode()
    return {**record, "key": key, "value": None if chance.random() < 0.125 else value}
