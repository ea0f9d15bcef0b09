"""DynamicKafkaSource (FLIP-246): splits of several clusters, and the streams that list the clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from anabranch.checkpoints.flink import writer
from anabranch.checkpoints.flink.elements import unwrap, wrap
from anabranch.checkpoints.flink.enumerator import EnumeratorState, read_enumerator
from anabranch.checkpoints.flink.reader import ByteReader
from anabranch.checkpoints.flink.split import SPLIT_VERSION, KafkaSplit, check_topic, read_split

CONNECTORS = {1: "connector 3.1 to 4.0", 2: "connector 5.0"}
_SPLIT_VERSION = 1


@dataclass(frozen=True, slots=True)
class DynamicElement:
    """A split with its cluster's id."""

    cluster: str
    split: KafkaSplit

    def moved(self, split: KafkaSplit, cluster: str) -> DynamicElement:
        return replace(self, split=split, cluster=cluster)

    def emit(self) -> bytes:
        return wrap(_SPLIT_VERSION, writer.utf(self.cluster) + writer.i32(SPLIT_VERSION) + self.split.emit())


@dataclass(frozen=True, slots=True)
class DynamicCluster:
    """A cluster of a stream; ``initializers`` are two offset initializers as Java objects (version 2), kept."""

    id: str
    topics: tuple[str, ...]
    bootstrap: str
    initializers: tuple[bytes | None, ...] = ()

    def emit(self) -> bytes:
        topics = b"".join(writer.utf(topic) for topic in self.topics)
        initializers = (b"\x00" if one is None else b"\x01" + writer.blob(one) for one in self.initializers)
        return b"".join(
            (
                writer.utf(self.id),
                writer.i32(len(self.topics)),
                topics,
                writer.utf(self.bootstrap),
                *initializers,
            )
        )


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream by the name that the metadata service gave it."""

    id: str
    clusters: tuple[DynamicCluster, ...]

    def emit(self) -> bytes:
        clusters = b"".join(cluster.emit() for cluster in self.clusters)
        return writer.utf(self.id) + writer.i32(len(self.clusters)) + clusters


@dataclass(frozen=True, slots=True)
class DynamicState:
    """The enumerator's state; ``enumerators`` are those of the clusters, in their order."""

    version: int
    streams: tuple[Stream, ...]
    kafka_version: int
    enumerators: Mapping[str, EnumeratorState]

    def emit(self) -> bytes:
        """The bytes in its own version."""
        streams = b"".join(stream.emit() for stream in self.streams)
        states = b"".join(writer.utf(name) + writer.blob(state.emit()) for name, state in self.enumerators.items())
        counts = writer.i32(self.kafka_version) + writer.i32(len(self.enumerators))
        return writer.i32(len(self.streams)) + streams + counts + states


def read_dynamic_element(reader: ByteReader) -> DynamicElement:
    """A whole element. Raises ``DamagedCheckpointError`` and ``UnknownVersionError``."""
    version, inner = unwrap(reader)
    if version != _SPLIT_VERSION:
        reader.unknown(f"the dynamic split version {version}", "1", 4)
    cluster, start = inner.utf(), inner.at
    kafka = inner.i32()
    if not cluster or kafka != SPLIT_VERSION:
        inner.unknown(f"the split version {kafka}", "0", start)
    return DynamicElement(cluster, read_split(inner))


def read_dynamic_state(reader: ByteReader, version: int) -> DynamicState:
    """The state that is left, all of it. Raises ``DamagedCheckpointError`` and ``UnknownVersionError``."""
    if version not in CONNECTORS:
        reader.unknown(f"the dynamic enumerator version {version}", "1 and 2 (connectors up to 5.0)", reader.at)
    streams = tuple(_stream(reader, version) for _ in range(reader.count(6)))
    kafka_version = reader.i32()
    enumerators: dict[str, EnumeratorState] = {}
    for _ in range(reader.count(10)):
        start, name = reader.at, reader.utf()
        if name in enumerators:
            reader.fail("a cluster is there twice", start)
        enumerators[name] = read_enumerator(ByteReader(reader.blob(), reader.path, reader.name), kafka_version)
    reader.finish()
    return DynamicState(version, streams, kafka_version, enumerators)


def _stream(reader: ByteReader, version: int) -> Stream:
    return Stream(reader.utf(), tuple(_cluster(reader, version) for _ in range(reader.count(8))))


def _cluster(reader: ByteReader, version: int) -> DynamicCluster:
    name = reader.utf()
    topics = tuple(check_topic(reader, reader.utf(), reader.at) for _ in range(reader.count(2)))
    bootstrap = reader.utf()
    initializers = (_initializer(reader), _initializer(reader)) if version == 2 else ()
    return DynamicCluster(name, topics, bootstrap, initializers)


def _initializer(reader: ByteReader) -> bytes | None:
    return reader.blob() if reader.boolean() else None
