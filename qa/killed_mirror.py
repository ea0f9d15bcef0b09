"""A topic that real MirrorMaker 2 has copied and was killed at: what offsets must be found for without its help.

Each record tells its number, all but every ``DULL``-th, which are all alike; so for the others the truth is known.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from anabranch.sandbox import SandboxCluster
from qa import brokers
from qa.mm2 import MirrorMaker, MirrorSpec
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S

DULL = 100
_BEGIN_MS = 1_760_000_000_000
_SECONDS = 3 * LONG_TIMEOUT_S
_QUIET_S = 1.0
_PLAIN = 10
"""Records at the end of each partition that are in no transaction: behind a marker no reader would come to the end."""
_ABORTED = 10


class CopyTimeoutError(Exception):
    """MirrorMaker 2 did not come as far as wanted."""


def fill(
    cluster: SandboxCluster, topic: str, records: int, partitions: int, size: int = 100, in_transaction: int = 0
) -> None:
    """Create the topic and write its records, by turns to the partitions.

    ``in_transaction``: in transactions of so many records, but for the last ones of each partition.  Every tenth is
    aborted first, and written again.
    """
    from confluent_kafka import Producer
    from confluent_kafka.admin import NewTopic

    address = {"bootstrap.servers": cluster.internal_bootstrap}
    brokers.create_topics(cluster, [NewTopic(topic, partitions, 1, config={"retention.ms": "-1"})])
    batching = {"linger.ms": 50, "batch.size": 500_000, "queue.buffering.max.messages": 500_000}
    settings = {**address, **batching, "compression.type": "lz4", "enable.idempotence": True}
    noise = random.Random(1).randbytes(1 << 16)
    failed: list[object] = []
    plain = records - _PLAIN * partitions if in_transaction else 0

    def answered(error: object, _: object) -> None:
        if error is not None:
            failed.append(error)

    def write(producer: Producer, number: int) -> None:
        dull = number // partitions % DULL == 0
        at = number * 7919 % (len(noise) - size)
        value = b"dull" if dull else b"%d " % number + noise[at : at + size]
        stamp = _BEGIN_MS if dull else _BEGIN_MS + number // 50
        while True:
            try:
                producer.produce(topic, value, partition=number % partitions, timestamp=stamp, on_delivery=answered)
                break
            except BufferError:
                producer.poll(0.1)

    if in_transaction:
        transactional = Producer({**settings, "transactional.id": topic, "linger.ms": 0})
        transactional.init_transactions(TIMEOUT_S)
        for at, first in enumerate(range(0, plain, in_transaction)):
            for aborts in (True, False) if at % _ABORTED == 0 else (False,):
                transactional.begin_transaction()
                for number in range(first, min(first + in_transaction, plain)):
                    write(transactional, number)
                if aborts:
                    transactional.flush(TIMEOUT_S)
                    transactional.abort_transaction(TIMEOUT_S)
                else:
                    transactional.commit_transaction(TIMEOUT_S)
    producer = Producer(settings)
    for number in range(plain, records):
        write(producer, number)
    if left := producer.flush(LONG_TIMEOUT_S):
        failed.append(f"{left} records of {topic} were not answered")
    if failed:
        raise RuntimeError(str(failed[0]))


def number_of(value: bytes) -> int | None:
    """The number that a record tells, None for a dull one."""
    return None if value == b"dull" else int(value.split(b" ", 1)[0])


def copy(
    old: SandboxCluster,
    new: SandboxCluster,
    topic: str,
    directory: Path,
    *,
    kills: tuple[float, ...] = (0.3, 0.7),
    heap_mb: int = 512,
    forgets: bool = False,
    records: int | None = None,
) -> str:
    """Have MirrorMaker 2 copy the topic, kill it at these shares of the records, and start it again; returns the name
    of the copy.  Raises CopyTimeoutError.

    ``forgets``: the first run never stores its positions, as one that is killed early does not: however fast it is,
    all of it is copied again.  ``records``: how many a read-committed consumer sees, where the source's ends tell more.
    """
    settings = {
        "new.offset.flush.interval.ms": "3000",
        "refresh.topics.interval.seconds": "5",
        "old.consumer.auto.offset.reset": "earliest",
        "old.consumer.isolation.level": "read_uncommitted" if records is None else "read_committed",
    }
    addresses = ("old", old.internal_bootstrap, "new", new.internal_bootstrap)
    spec = MirrorSpec(*addresses, topic, heap_mb=heap_mb, settings=settings)
    never = replace(spec, settings={**settings, "new.offset.flush.interval.ms": "3600000"})
    target = spec.target_topic(topic)
    wanted = sum(ends(old, topic).values()) if records is None else records
    for number, share in enumerate(kills):
        with MirrorMaker.start(never if forgets and number == 0 else spec, directory) as mirror:
            reached = sum(ends(new, target).values())
            until = max(int(share * wanted), reached + 1)
            _wait(mirror, lambda until=until: _are_at(ends(new, target), until))  # type: ignore[misc]
            mirror.kill()
    lasts = _lasts(old, topic)

    def whole() -> bool:
        """Whether both logs end with the same records, and go on doing so."""
        before = ends(new, target)
        if sum(before.values()) < wanted or _lasts(new, target) != lasts:
            return False
        time.sleep(_QUIET_S)
        return ends(new, target) == before

    # One that was killed after its last record might be found in the middle of copying again.
    if not whole():
        with MirrorMaker.start(spec, directory) as mirror:
            _wait(mirror, whole)
    return target


def ends(cluster: SandboxCluster, topic: str) -> dict[int, int]:
    """The end of each partition; empty where there is no such topic yet."""
    config = {"bootstrap.servers": cluster.internal_bootstrap}
    places = [(topic, number) for number in range(brokers.existing(config, [topic]).get(topic, 0))]
    return {number: end for (_, number), end in brokers.log_ends(config, places).items()}


def numbers(cluster: SandboxCluster, topic: str, partition: int, start: int = 0) -> Iterator[tuple[int, int | None]]:
    """(offset, number) of a partition's records; raises TimeoutError where no record comes for two minutes."""
    from confluent_kafka import Consumer, TopicPartition

    end = ends(cluster, topic)[partition]
    consumer = Consumer({"bootstrap.servers": cluster.internal_bootstrap, "group.id": "killed-mirror"})
    try:
        consumer.assign([TopicPartition(topic, partition, start)])
        at, last_record = start, time.monotonic()
        while at < end:
            if time.monotonic() - last_record > TIMEOUT_S:
                raise TimeoutError(f"{topic}-{partition} was silent at {at} of {end}")
            for message in consumer.consume(10_000, 0.2):
                if message.error() is None:
                    at, last_record = message.offset() + 1, time.monotonic()
                    yield message.offset(), number_of(message.value())
    finally:
        consumer.close()


def _are_at(found: dict[int, int], until: int) -> bool:
    """Whether so many records are there, some in each partition: one that nobody has begun would not be repeated."""
    return sum(found.values()) >= until and all(found.values())


def _lasts(cluster: SandboxCluster, topic: str) -> dict[int, int | None]:
    """The number of the last record of each partition that tells one."""
    found = {}
    for partition, end in ends(cluster, topic).items():
        told = [number for _, number in numbers(cluster, topic, partition, max(0, end - 3)) if number is not None]
        found[partition] = told[-1] if told else None
    return found


def _wait(mirror: MirrorMaker, done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not done():
        mirror.check()
        if time.monotonic() > deadline:
            raise CopyTimeoutError(f"MirrorMaker 2 did not come as far within {_SECONDS:.0f} s")
        time.sleep(0.2)
