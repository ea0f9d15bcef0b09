"""The input: some days of flights and weather on the old cluster, written in transactions of which some are aborted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING
from zlib import crc32

from anabranch.sandbox.flights import FlightRecord, data_directory, records
from qa import brokers
from qa.timeouts import TIMEOUT_S

if TYPE_CHECKING:
    from anabranch.sandbox import SandboxCluster

PARTITIONS = 2
_CHUNK = 150
_ABORTED = 0.6
_FROM, _TO = 0.45, 0.75


@dataclass(frozen=True, slots=True)
class Topics:
    """Flights from Newark, those from New York's other two airports, and the weather of all three."""

    prefix: str

    @property
    def newark(self) -> str:
        """A topic of flights."""
        return f"{self.prefix}-flights-newark"

    @property
    def york(self) -> str:
        """The other topic of flights."""
        return f"{self.prefix}-flights-york"

    @property
    def weather(self) -> str:
        """The weather."""
        return f"{self.prefix}-weather"

    @property
    def flights(self) -> tuple[str, str]:
        """Both topics with flights."""
        return self.newark, self.york

    @property
    def all(self) -> tuple[str, ...]:
        """Every topic."""
        return (*self.flights, self.weather)


def days(flights: int) -> list[FlightRecord]:
    """The year's first flights, and the weather until the last of them, by event time."""
    directory = data_directory()
    chosen = sorted(islice(records(directory, ["flights"]), flights), key=lambda record: record.timestamp_ms)
    until = chosen[-1].timestamp_ms
    weather = [record for record in records(directory, ["weather"]) if record.timestamp_ms <= until]
    return sorted([*chosen, *weather], key=lambda record: record.timestamp_ms)


def write(cluster: SandboxCluster, topics: Topics, log: Sequence[FlightRecord], chance: random.Random) -> None:
    """Create the topics and write the records.

    Every transaction leaves a marker in each partition that it touched; an aborted one leaves all of its records too,
    which must stay invisible.  Those are in a part of the log, so that some batches hold markers alone.
    """
    from confluent_kafka import Producer
    from confluent_kafka.admin import NewTopic

    address = {"bootstrap.servers": cluster.internal_bootstrap}
    kept = {"retention.ms": "-1"}
    brokers.create_topics(cluster, [NewTopic(topic, PARTITIONS, 1, config=kept) for topic in topics.all])
    producer = Producer({**address, "transactional.id": f"airport {topics.weather}", "linger.ms": 5})
    producer.init_transactions(TIMEOUT_S)
    for start in range(0, len(log), _CHUNK):
        chunk = log[start : start + _CHUNK]
        if _FROM < start / len(log) < _TO and chance.random() < _ABORTED:
            producer.begin_transaction()
            _produce(producer, topics, chance.sample(chunk, chance.randint(1, len(chunk))))
            producer.flush(TIMEOUT_S)
            producer.abort_transaction(TIMEOUT_S)
        producer.begin_transaction()
        _produce(producer, topics, chunk)
        producer.commit_transaction(TIMEOUT_S)


def _produce(producer: object, topics: Topics, chunk: Sequence[FlightRecord]) -> None:
    for record in chunk:
        producer.produce(  # type: ignore[attr-defined]
            _topic(topics, record),
            record.value,
            record.key,
            partition=crc32(record.key or b"") % PARTITIONS,
            timestamp=record.timestamp_ms,
            headers=list(record.headers),
        )


def _topic(topics: Topics, record: FlightRecord) -> str:
    if record.topic == "weather":
        return topics.weather
    return topics.newark if record.headers[1] == ("hop", b"EWR") else topics.york
