"""A task's encoded batches until they are written: in memory, and past a bound in a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from anabranch.kafka.transactional import TransactionalProducer
from anabranch.model.topics import TopicPartition
from anabranch.records.encode import seal_packed
from anabranch.records.header import HEADER_SIZE, TRANSACTIONAL, Codec
from anabranch.records.sequence import advance

IN_MEMORY = 64 << 20
"""Bytes of one task that stay in memory."""


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """Records of one partition, compressed, without the header; timestamps are (base, maximum)."""

    records: bytes
    count: int
    timestamps: tuple[int, int]
    codec: Codec

    def sealed(self, producer: TransactionalProducer, sequence: int) -> bytes:
        """As it goes to the broker."""
        return seal_packed(
            self.records,
            count=self.count,
            last_offset_delta=self.count - 1,
            timestamps=self.timestamps,
            attributes=self.codec | TRANSACTIONAL,
            producer=(producer.producer_id, producer.epoch, sequence),
        )


@dataclass(frozen=True, slots=True)
class _Spilled:
    at: int
    length: int
    rest: PackedBatch


class Spool:
    """Batches by partition, in the order in which they came; a context manager that removes its file."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._left = in_memory
        self._batches: dict[TopicPartition, list[PackedBatch | _Spilled]] = {}
        self._counts: dict[TopicPartition, int] = {}
        self._sizes: dict[TopicPartition, int] = {}
        self._file: IO[bytes] | None = None
        self._end = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def partitions(self) -> list[TopicPartition]:
        """Those that have records."""
        return list(self._batches)

    def count(self, partition: TopicPartition) -> int:
        """How many records a partition has."""
        return self._counts[partition]

    def size(self, partition: TopicPartition) -> int:
        """How many bytes a partition's batches have as they go to the broker."""
        return self._sizes[partition]

    def add(self, partition: TopicPartition, batch: PackedBatch) -> None:
        """Keep a batch."""
        kept: PackedBatch | _Spilled = batch
        self._left -= len(batch.records)
        if self._left < 0:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="anabranch-sink-")  # noqa: SIM115 - closed with the spool
            self._file.seek(self._end)
            self._file.write(batch.records)
            kept = _Spilled(self._end, len(batch.records), PackedBatch(b"", batch.count, batch.timestamps, batch.codec))
            self._end += len(batch.records)
        self._batches.setdefault(partition, []).append(kept)
        self._counts[partition] = self._counts.get(partition, 0) + batch.count
        self._sizes[partition] = self._sizes.get(partition, 0) + HEADER_SIZE + len(batch.records)

    def sealed(self, partition: TopicPartition, producer: TransactionalProducer, sequence: int) -> Iterator[bytes]:
        """A partition's batches for this producer, the first record with this sequence."""
        for kept in self._batches[partition]:
            batch = kept if isinstance(kept, PackedBatch) else self._read(kept)
            yield batch.sealed(producer, sequence)
            sequence = advance(sequence, batch.count)

    def _read(self, spilled: _Spilled) -> PackedBatch:
        assert self._file is not None
        self._file.seek(spilled.at)
        rest = spilled.rest
        return PackedBatch(self._file.read(spilled.length), rest.count, rest.timestamps, rest.codec)
