"""Elements of ``SourceReaderState``: one split each, in the wrapper that every source of Flink 1.12 and later uses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

from anabranch.checkpoints.flink import writer
from anabranch.checkpoints.flink.reader import ByteReader
from anabranch.checkpoints.flink.split import SPLIT_VERSION, KafkaSplit, read_split

STATE = "SourceReaderState"


class Element(Protocol):
    """One stored partition of a reader; ``cluster`` is empty where the state names none."""

    @property
    def cluster(self) -> str:
        """The cluster's id in a dynamic source."""

    @property
    def split(self) -> KafkaSplit:
        """The partition and its offsets, counted as KafkaSource does, whatever is stored."""

    def moved(self, split: KafkaSplit, cluster: str) -> Self:
        """The element elsewhere."""

    def emit(self) -> bytes:
        """Its bytes in the operator state."""


@dataclass(frozen=True, slots=True)
class KafkaElement:
    """A split of a KafkaSource."""

    split: KafkaSplit
    cluster: str = ""

    def moved(self, split: KafkaSplit, cluster: str) -> KafkaElement:
        return replace(self, split=split, cluster=cluster)

    def emit(self) -> bytes:
        return wrap(SPLIT_VERSION, self.split.emit())


def wrap(version: int, split: bytes) -> bytes:
    """A byte array that holds a version and a length, and the split."""
    return writer.blob(writer.i32(version) + writer.blob(split))


def unwrap(reader: ByteReader) -> tuple[int, ByteReader]:
    """The split's version, and a reader of its bytes. Raises ``DamagedCheckpointError`` unless the lengths agree."""
    if reader.i32() != reader.left:
        reader.fail("the element's length is not its size", 0)
    version = reader.i32()
    if reader.i32() != reader.left:
        reader.fail("the split's length is not its size", 8)
    return version, ByteReader(reader.raw(reader.left), reader.path, reader.name)


def read_kafka_element(reader: ByteReader) -> KafkaElement:
    """A whole element of a KafkaSource. Raises ``DamagedCheckpointError`` and ``UnknownVersionError``."""
    version, inner = unwrap(reader)
    if version != SPLIT_VERSION:
        reader.unknown(f"the split version {version}", "0", 4)
    return KafkaElement(read_split(inner))
