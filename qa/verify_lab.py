"""Mirrors with planted faults on real clusters, and what a comparison must find in each.

Logs are written by librdkafka (confluent-kafka, a development dependency), so that nothing of the copier has a part.
A fault is planted where the target is written; the map says what an honest copier would have written down.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from anabranch.config.context_file import read_context
from anabranch.config.verifyspec import VerifySpec
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.sandbox import SandboxCluster
from anabranch.sandbox.jars import runtime_jars
from anabranch.verify.findings import NO_FIELDS, NOWHERE, Finding, FindingKind, RecordField
from anabranch.verify.pins import LogEnds, Pin, pin
from qa import brokers
from qa.timeouts import TIMEOUT_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECTOR = "spark-kafka-4.1.3"
BEGIN_MS = 1_760_000_000_000
_FAR = 1 << 62
_numbers = itertools.count(1)


def connector_settings() -> dict[str, str]:
    """The Spark settings that bring the Kafka source, from the sandbox's own cache of jars."""
    return {"spark.jars": ",".join(str(jar) for jar in sorted(runtime_jars(CONNECTOR).glob("*.jar")))}


def spark_session(name: str, master: str) -> SparkSession:
    """A session as the job makes it, with the Kafka source."""
    from anabranch.spark.session import session
    from anabranch.spark.verify.session import SETTINGS

    return session(name, master, {**SETTINGS, **connector_settings()})


class Fault(StrEnum):
    """What can be planted in a mirror."""

    DROP = "drop"
    REPEAT = "repeat"
    SWAP = "swap"
    KEY = "key"
    VALUE = "value"
    HEADER = "header"
    TIMESTAMP = "timestamp"
    TAIL = "tail"
    NULL = "null"
    FOREIGN = "foreign"
    UNTOLD_DROP = "untold drop"


@dataclass(frozen=True, slots=True)
class Message:
    """A record as it is produced."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int


@dataclass(frozen=True, slots=True)
class Mirror:
    """A source log and its faulty mirror, both dense from offset 0; the map; and what is to be found."""

    source: tuple[Message, ...]
    target: tuple[Message, ...]
    ranges: OffsetMap
    expected: tuple[Finding, ...]


def messages(count: int, chance: random.Random, *, size: int = 20) -> tuple[Message, ...]:
    """Records of all shapes: null and empty keys and values, headers with nulls and duplicates, equal timestamps."""
    made = []
    for number in range(count):
        key = chance.choice((None, b"", b"key %d" % (number % 50), b"key %d" % number))
        value = chance.choice((None, b"", *[b"%d " % number + chance.randbytes(size)] * 6))
        headers = tuple(
            (chance.choice(("a", "b", "größe")), chance.choice((None, b"", b"x%d" % number)))
            for _ in range(chance.choice((0, 0, 1, 3)))
        )
        made.append(Message(key, value, headers, BEGIN_MS + 2 * number))
    return tuple(made)


def plant(source: Sequence[Message], faults: Iterable[Fault], chance: random.Random, lane: str) -> Mirror:
    """A mirror with each of these faults at a random place of its own, far enough from the others to be told apart."""
    wanted = list(faults)
    places = sorted(chance.sample(range(2, len(source) // 4 - 2), len(wanted)))
    target: list[Message] = []
    ranges: list[MappedRange] = []
    expected: list[Finding] = []
    copied, shift = 0, 0

    def copy(end: int) -> None:
        """Write the source's records up to an offset as they are."""
        nonlocal copied
        if end > copied:
            ranges.append(MappedRange(copied, len(target) + shift, end - copied))
            target.extend(source[copied:end])
            copied = end

    def found(kind: FindingKind, at: int, where: int, fields: RecordField = NO_FIELDS) -> None:
        expected.append(Finding(lane, kind, at, where, fields))

    tail = Fault.TAIL in wanted
    for place, fault in zip((4 * at for at in places), chance.sample(wanted, len(wanted)), strict=True):
        record = source[place]
        copy(place)
        where = len(target)
        match fault:
            case Fault.DROP:
                copied = place + 1
                found(FindingKind.MISSING, place, NOWHERE)
            case Fault.UNTOLD_DROP:
                # The map is that of a copier that believes to have written it.
                copied, shift = place + 1, shift + 1
                ranges.append(MappedRange(place, where + shift - 1, 1))
                found(FindingKind.MISSING, place, NOWHERE)
            case Fault.REPEAT:
                copy(place + 1)
                target.append(record)
                found(FindingKind.DUPLICATE, place, where + 1)
            case Fault.SWAP:
                copy(place + 2)
                target[where], target[where + 1] = target[where + 1], target[where]
                found(FindingKind.REORDERED, place, where + 1)
                found(FindingKind.REORDERED, place + 1, where)
            case Fault.FOREIGN:
                target.append(replace(record, value=b"foreign", key=b"foreign %d" % place))
                found(FindingKind.UNEXPECTED, NOWHERE, where)
            case Fault.TAIL:
                pass
            case _:
                changed, fields = _changed(record, fault)
                copy(place + 1)
                target[where] = changed
                found(FindingKind.MODIFIED, place, where, fields)
    copy(len(source))
    offset_map = OffsetMap.of(ranges)
    if tail:
        lost = chance.randint(1, 3)
        del target[len(target) - lost :]
        for offset in range(len(source) - lost, len(source)):
            found(FindingKind.MISSING, offset, NOWHERE)
    return Mirror(tuple(source), tuple(target), offset_map, tuple(sorted(expected)))


def _changed(record: Message, fault: Fault) -> tuple[Message, RecordField]:
    match fault:
        case Fault.KEY:
            return replace(record, key=_flip(record.key)), RecordField.KEY
        case Fault.VALUE:
            return replace(record, value=_flip(record.value)), RecordField.VALUE
        case Fault.HEADER:
            if not record.headers:
                return replace(record, headers=(("late", None),)), RecordField.HEADERS
            name, value = record.headers[-1]
            return replace(record, headers=(*record.headers[:-1], (name, _flip(value)))), RecordField.HEADERS
        case Fault.TIMESTAMP:
            return replace(record, timestamp=record.timestamp + 1), RecordField.TIMESTAMP
        case _:
            if record.value is None:
                return replace(record, value=b""), RecordField.VALUE
            return replace(record, value=None), RecordField.VALUE


def _flip(data: bytes | None) -> bytes:
    """One bit of one byte; where there is none, an empty or null field becomes a byte."""
    if not data:
        return b"\0"
    return bytes([data[0] ^ 1]) + data[1:]


def write(cluster: SandboxCluster, topic: str, records: Sequence[Message], **settings: Any) -> None:
    """Create a topic of one partition that keeps old records, and fill it."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import NewTopic

    config = {"retention.ms": "-1", **{name: str(value) for name, value in settings.items()}}
    brokers.create_topics(cluster, [NewTopic(topic, 1, 1, config=config)])
    producer = Producer(
        {
            "bootstrap.servers": cluster.internal_bootstrap,
            "enable.idempotence": True,
            "linger.ms": 20,
            "queue.buffering.max.messages": 1_000_000,
            "compression.type": "lz4",
        }
    )
    failures: list[Any] = []

    def answered(error: Any, _: Any) -> None:
        if error is not None:
            failures.append(error)

    for number, one in enumerate(records):
        headers = {"headers": list(one.headers)} if one.headers else {}
        producer.produce(
            topic, one.value, one.key, partition=0, timestamp=one.timestamp, on_delivery=answered, **headers
        )
        if number % 10_000 == 9_999:
            producer.poll(0)
    if left := producer.flush(TIMEOUT_S):
        failures.append(f"{left} records of {topic} were not answered")
    if failures:
        raise RuntimeError(str(failures[0]))


def context_of(cluster: SandboxCluster) -> ClusterContext:
    """How the cluster is reached."""
    return read_context(cluster.spec.name, cluster.context("admin"), "the sandbox")


def fresh(name: str) -> str:
    """A topic name that was not used before."""
    return f"{name}-{next(_numbers)}"


def pin_of(topic: str, ranges: OffsetMap, lane: str | None = None, **compacts: tuple[bool, bool]) -> Pin:
    """The pin of everything that a map holds, of a topic with the same name on both sides."""
    where = TopicPartition(topic, 0)
    return pin(lane or topic, where, where, ranges, LogEnds(0, _FAR), LogEnds(0, _FAR), **compacts)


def spec_of(old: SandboxCluster, new: SandboxCluster, pins: Iterable[Pin], **changes: Any) -> VerifySpec:
    """A specification that keeps nothing on the target unless it says so."""
    fields: Mapping[str, Any] = {"keep": False, "samples": 10_000, **changes}
    return VerifySpec("lab", "run-1", context_of(old), context_of(new), tuple(pins), **fields)
