"""Producers whose transactions commit, abort, interleave and, where the producer dies in the middle, hang."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from qa.faults.ledger import Ledger, Place
from qa.faults.topics import LoadTopic
from qa.logcompare import digest_of
from qa.timeouts import SCALE

TIMEOUT_MS = 6_000
_SIZES = (1, 3, 3, 20, 20, 200)
_ANSWER_S = 30.0 * SCALE
# Brokers come and go here, and end what takes too long: a producer that fails is followed by the next.
_SILENT = logging.getLogger(__name__)
_SILENT.setLevel(logging.CRITICAL + 1)


class Transactor:
    """One producer after the other, each of which is let go in the middle of a transaction.

    Letting go is what a killed process looks like to the brokers: the connections end and no marker is written until
    the transaction's timeout.  ``committed``, ``aborted`` and ``hanging`` count transactions.  What went into a
    compacted topic is in the ledger unless it was aborted for sure.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        topics: Sequence[LoadTopic],
        compacted: Sequence[LoadTopic],
        stop: threading.Event,
        ledger: Ledger,
        seed: int,
        number: int,
    ) -> None:
        self._config = dict(config)
        self._topics = topics
        self._compacted = compacted
        self._stop = stop
        self._ledger = ledger
        self._number = number
        self._name = f"transactor-{seed}-{number}"
        self._chance = random.Random(self._name)
        self._written: list[tuple[Place, int, bytes]] = []
        self.records = 0
        self.committed = 0
        self.aborted = 0
        self.hanging = 0

    def run(self) -> None:
        """Work until the stop is set; what brokers do to a transaction only begins another producer."""
        from confluent_kafka import KafkaException

        while not self._stop.is_set():
            try:
                self._one_producer()
            except KafkaException:
                self._stop.wait(0.5)

    def _one_producer(self) -> None:
        from confluent_kafka import Producer

        chance = self._chance
        producer = Producer(
            {
                **self._config,
                "client.id": self._name,
                # A name of its own: else its successor would end the transaction that is to hang.
                "transactional.id": f"{self._name}-{time.monotonic_ns()}",
                "transaction.timeout.ms": TIMEOUT_MS,
                "compression.type": chance.choice(["none", "lz4", "zstd"]),
                "linger.ms": chance.choice([0, 5, 50]),
                "reconnect.backoff.max.ms": 500,
            },
            logger=_SILENT,
        )
        producer.init_transactions(_ANSWER_S)
        for _ in range(chance.randint(4, 30)):
            if self._stop.wait(chance.uniform(0.0, 0.4)):
                return
            self._transaction(producer, ends=True)
        self._transaction(producer, ends=False)

    def _transaction(self, producer: Any, *, ends: bool) -> None:
        from confluent_kafka import KafkaException

        chance = self._chance
        self._written = []
        producer.begin_transaction()
        size = chance.choice(_SIZES)
        for at in range(size):
            self._write(producer)
            if at % 20 == 19 or chance.random() < 0.05:
                producer.poll(0)
                time.sleep(chance.uniform(0.0, 0.03))  # so that transactions of several producers interleave
        if not ends:
            producer.flush(2.0)
            self.hanging += 1
            return
        if chance.random() < 0.35:
            producer.abort_transaction(_ANSWER_S)
            self.aborted += 1
            return
        try:
            producer.flush(_ANSWER_S)
            producer.commit_transaction(_ANSWER_S)
        except KafkaException as error:
            if error.args[0].txn_requires_abort():
                producer.abort_transaction(_ANSWER_S)
                self.aborted += 1
                return
            self._enter()  # it may be committed, now or later
            raise
        self._enter()
        self.committed += 1

    def _write(self, producer: Any) -> None:
        chance = self._chance
        compacted = bool(self._compacted) and chance.random() < 0.1
        topic = chance.choice(self._compacted if compacted else self._topics)
        self.records += 1
        mark = f"t{self._number}/{self.records}".encode()
        record: dict[str, Any] = {
            "key": f"key {chance.randrange(40)}".encode(),
            "value": None if chance.random() < 0.1 else mark + b"/" + chance.randbytes(chance.randrange(200)),
            "headers": [("n", mark)],
            "timestamp": time.time_ns() // 1_000_000,
        }
        partition = chance.randrange(topic.partitions)
        noted = None
        if compacted:
            digest = digest_of(record["timestamp"], record["key"], record["value"], record["headers"])
            noted = partial(self._delivered, (topic.name, partition), digest)
        producer.produce(topic.name, partition=partition, on_delivery=noted, **record)

    def _delivered(self, place: Place, digest: bytes, error: Any, message: Any) -> None:
        if error is None:
            self._written.append((place, message.offset(), digest))

    def _enter(self) -> None:
        for place, offset, digest in self._written:
            self._ledger.note(place, offset, digest)
