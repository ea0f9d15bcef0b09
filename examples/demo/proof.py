"""The proof: every record of both clusters read by another client, and what each application has written and read."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from examples.demo.ledger import Reading
from qa.logcompare import entry_of

_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Log:
    """A topic on one cluster: its records, a digest of all of them in their order, and how their reader met them."""

    records: int
    digest: str
    reading: Reading


@dataclass(frozen=True, slots=True)
class TopicProof:
    """One topic on both clusters."""

    topic: str
    old: Log
    new: Log

    @property
    def equal(self) -> bool:
        """Whether both hold the same."""
        return (self.old.records, self.old.digest) == (self.new.records, self.new.digest)


@dataclass(frozen=True, slots=True)
class Part:
    """What one application, or a part of one, has done: how many records, and every problem."""

    who: str
    what: str
    records: int
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.records > 0 and not self.problems


def read_topic(config: Mapping[str, Any], topic: str, partitions: int) -> Log:
    """Read all of it; a digest covers key, value, headers and timestamp of each record."""
    reading, digests = Reading(), []
    for number in range(partitions):
        digest, at = hashlib.blake2b(digest_size=8), reading.records
        for message in _messages(config, topic, number):
            digest.update(entry_of(message).digest)
            reading.note(message.key(), message.value())
        digests.append(f"{reading.records - at}:{digest.hexdigest()}")
    whole = hashlib.blake2b("".join(digests).encode(), digest_size=8).hexdigest()
    return Log(reading.records, whole, reading)


def _messages(config: Mapping[str, Any], topic: str, partition: int) -> list[Any]:
    """The records of a partition up to its end of now; raises KafkaException, TimeoutError."""
    settings = {"group.id": "proof", "enable.auto.commit": False, "auto.offset.reset": "error", "check.crcs": True}
    consumer = Consumer({**config, **settings, "enable.partition.eof": True})
    found: list[Any] = []
    try:
        low, _ = consumer.get_watermark_offsets(TopicPartition(topic, partition), _SECONDS)
        consumer.assign([TopicPartition(topic, partition, low)])
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            for message in consumer.consume(10_000, 0.1):
                if message.error() is None:
                    found.append(message)
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    return found
                else:
                    raise KafkaException(message.error())
    finally:
        consumer.close()
    raise TimeoutError(f"{topic}-{partition} has not come to its end")


def of_ledger(who: str, wrote: str, read: str, told: Mapping[str, Any], log: Reading) -> list[Part]:
    """An application that writes and reads: against its own word, and against the log that both clusters hold."""
    written: Mapping[str, int] = told["written"]
    refused = list(told["refused"])
    if dict(written) != log.next:
        refused.append(f"the log holds {log.next}, and {dict(written)} was acknowledged")
    return [
        Part(who, wrote, sum(written.values()), (*refused, *log.samples)),
        of_reading(who, read, told["records_read"], told["read"], told["samples"], written),
    ]


def of_reading(
    who: str, what: str, records: int, next_: Mapping[str, int], samples: Sequence[str], written: Mapping[str, int]
) -> Part:
    """Somebody who read: all that was acknowledged, each once and in its order."""
    problems = list(samples)
    if dict(next_) != dict(written):
        problems.append(f"read up to {dict(next_)} of {dict(written)}")
    if records != sum(written.values()):
        problems.append(f"{records:,} records read of {sum(written.values()):,}")
    return Part(who, what, records, tuple(problems))


def of_totals(totals: Mapping[str, Sequence[int]], written: Mapping[str, int]) -> Part:
    """The state of the Spark query: of each key the count, the sum and the last of the numbers 0, 1, 2, ..."""
    exact = {key: [count, count * (count - 1) // 2, count - 1] for key, count in written.items()}
    problems = [
        f"{key}: {totals.get(key)} in place of {wanted}"
        for key, wanted in exact.items()
        if list(totals.get(key, ())) != wanted
    ]
    return Part(
        "Spark query totals",
        "counted and summed up in its state",
        sum(one[0] for one in totals.values()),
        tuple(problems),
    )
