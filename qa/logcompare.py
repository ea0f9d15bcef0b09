"""Two logs compared record by record, by a reader that shares no code with the copier.

Records are read with librdkafka (confluent-kafka, a development dependency, imported when it is used): key,
value, headers with their order and duplicates, timestamp and its type, order, presence.  Batches are read from
the brokers' segment files: record count, codec and the compressed bytes, so that boundaries and compression are
compared without decompressing anything.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from qa import brokers
from qa.timeouts import TIMEOUT_S

_SAMPLES = 5
_BATCH = struct.Struct(">qiibIhiqqqhii")
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class ComparedRecord(NamedTuple):
    """One record: where it lies, a digest of everything that must be kept, the first bytes to show, and its key.

    ``deletes`` tells a tombstone: a key without a value.
    """

    offset: int
    digest: bytes
    preview: str
    key: bytes | None = None
    deletes: bool = False


@dataclass(frozen=True, slots=True)
class Differences:
    """What two logs of one partition differ in; ``samples`` are sentences about the first of them."""

    missing: int = 0
    repeated: int = 0
    reordered: int = 0
    altered: int = 0
    foreign: int = 0
    samples: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """All of them; 0 means that the logs are equal."""
        return self.missing + self.repeated + self.reordered + self.altered + self.foreign


class DiskBatch(NamedTuple):
    """A batch in a segment file; ``records`` is a digest of its record section as it is stored, compressed."""

    base_offset: int
    size: int
    codec: str
    max_timestamp: int
    control: bool
    records: bytes


def read_log(config: Mapping[str, Any], topic: str, partition: int, *, committed: bool = False) -> list[ComparedRecord]:
    """Every record of a partition up to its high watermark of now, uncommitted ones too unless ``committed``.

    A source is to be read committed and its target uncommitted: both must hold the same.  ``config`` are settings of
    a confluent-kafka client.  Raises ``TimeoutError`` when the broker is silent for two minutes.
    """
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        {
            **config,
            "group.id": "anabranch-logcompare",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "enable.partition.eof": True,
            "check.crcs": True,
        }
    )
    entries: list[ComparedRecord] = []
    try:
        low, high = brokers.watermarks(consumer, (topic, partition))
        if high <= low:
            return entries
        consumer.assign([TopicPartition(topic, partition, low)])
        last_record = time.monotonic()
        while True:
            messages = consumer.consume(10_000, 0.1)
            if messages:
                last_record = time.monotonic()
            elif time.monotonic() - last_record > TIMEOUT_S:
                raise TimeoutError(f"{topic}-{partition} was silent for {TIMEOUT_S:.0f} s")
            for message in messages:
                error = message.error()
                if error is None:
                    if message.offset() < high:
                        entries.append(entry_of(message))
                elif error.code() == KafkaError._PARTITION_EOF:
                    if message.offset() >= high:  # else a new leader, which does not yet tell all that it has
                        return entries
                elif not error.retriable():
                    raise ValueError(f"{topic}-{partition}: {error}")
    finally:
        consumer.close()


def entry_of(message: Any) -> ComparedRecord:
    """A record as librdkafka gives it."""
    kind, timestamp = message.timestamp()
    key, value = message.key(), message.value()
    # Whose clock it was is lost in a copy: a broker stamps what it takes with its own or none.
    digest = digest_of(timestamp if kind != 0 else None, key, value, message.headers() or ())
    return ComparedRecord(
        message.offset(), digest, f"{key!r:.30}={value!r:.40}", key, key is not None and value is None
    )


def digest_of(
    timestamp: int | None, key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes | None]]
) -> bytes:
    """The digest of all that a copy must keep; ``timestamp`` is None where a record has none."""
    hashed = hashlib.blake2b(digest_size=16)
    hashed.update(struct.pack(">?q", timestamp is not None, -1 if timestamp is None else timestamp))
    for part in (key, value, *(part for name, data in headers for part in (name.encode(), data))):
        hashed.update(struct.pack(">i", -1 if part is None else len(part)))
        hashed.update(part or b"")
    return hashed.digest()


def compare(source: Sequence[ComparedRecord], target: Sequence[ComparedRecord]) -> Differences:
    """Say what the target's records differ in from the source's, which are the truth; offsets may differ.

    A record that only the target holds counts as altered while one of the source is missing, else as foreign.
    """
    if len(source) == len(target) and all(a.digest == b.digest for a, b in zip(source, target, strict=True)):
        return Differences()
    where: dict[bytes, deque[int]] = defaultdict(deque)
    for index, entry in enumerate(source):
        where[entry.digest].append(index)
    samples: list[str] = []

    def note(text: str) -> None:
        if len(samples) < _SAMPLES:
            samples.append(text)

    matched: set[int] = set()
    repeated = reordered = foreign = 0
    furthest = -1
    for entry in target:
        indices = where.get(entry.digest)
        if indices is None:
            foreign += 1
            note(f"target offset {entry.offset} holds no record of the source: {entry.preview}")
        elif not indices:
            repeated += 1
            note(f"target offset {entry.offset} repeats a record: {entry.preview}")
        else:
            index = indices.popleft()
            matched.add(index)
            if index < furthest:
                reordered += 1
                note(f"target offset {entry.offset} comes too late: source offset {source[index].offset}")
            furthest = max(furthest, index)
    lost = [entry for index, entry in enumerate(source) if index not in matched]
    for entry in lost[:_SAMPLES]:
        note(f"source offset {entry.offset} is not in the target: {entry.preview}")
    altered = min(foreign, len(lost))
    return Differences(len(lost) - altered, repeated, reordered, altered, foreign - altered, tuple(samples))


def disk_batches(directory: Path) -> list[DiskBatch]:
    """The batches in a partition's segment files, in order; a torn one at the very end is left out.

    A cleaner may put another file in a segment's place, or take it away, while it is looked for: then all is read
    again. Raises ``TimeoutError`` when it does so for two minutes.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return _batches(directory)
        except FileNotFoundError:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the files of {directory} do not stay as they are") from None
            time.sleep(0.1)


def _batches(directory: Path) -> list[DiskBatch]:
    found: list[DiskBatch] = []
    names = sorted(os.listdir(directory)) if directory.is_dir() else []
    # The cleaned file waits under this name until those that it stands for have lost theirs: some are missing now.
    if swapped := [name for name in names if name.endswith(".swap")]:
        raise FileNotFoundError(swapped[0])
    for segment in (directory / name for name in names if name.endswith(".log")):
        data = segment.read_bytes()
        at = 0
        while at + _BATCH.size <= len(data):
            base, length, _, magic, _, attributes, _, _, newest, _, _, _, count = _BATCH.unpack_from(data, at)
            end = at + 12 + length
            if magic != 2 or end > len(data):
                break
            digest = hashlib.blake2b(data[at + _BATCH.size : end], digest_size=16).digest()
            found.append(DiskBatch(base, count, _CODECS[attributes & 7], newest, bool(attributes & 0x20), digest))
            at = end
    return found


def batches_differ(source: Sequence[DiskBatch], target: Sequence[DiskBatch]) -> str:
    """Where the data batches of two logs first differ in count, codec, time or stored bytes; empty if nowhere."""
    ours, theirs = ([batch for batch in batches if not batch.control] for batches in (source, target))
    for a, b in zip(ours, theirs, strict=False):
        if a[1:] != b[1:]:
            return f"the batch at {a.base_offset} ({a.size} x {a.codec}) is {b.size} x {b.codec} at {b.base_offset}"
    if len(ours) != len(theirs):
        return f"{len(ours)} batches in the source, {len(theirs)} in the target"
    return ""
