"""HybridSource, which reads one source after another: seen, so that it is refused and not passed over."""

from __future__ import annotations

from anabranch.checkpoints.errors import DamagedCheckpointError, UnknownVersionError
from anabranch.checkpoints.flink.coordinator import Coordinator
from anabranch.checkpoints.flink.elements import unwrap
from anabranch.checkpoints.flink.enumerator import read_enumerator
from anabranch.checkpoints.flink.reader import ByteReader
from anabranch.checkpoints.flink.split import read_split


def reads_kafka(elements: list[ByteReader], coordinator: Coordinator | None, path: str, name: str) -> bool:
    """Whether a split or the enumerator of a hybrid source wraps one of a KafkaSource."""
    if any(_split(element) for element in elements):
        return True
    if coordinator is None or coordinator.version != 0:
        return False
    reader = ByteReader(coordinator.state, path, name)
    try:
        reader.skip(4)
        version = reader.i32()
        inner = ByteReader(reader.blob(), path, name)
        reader.finish()
        return bool(read_enumerator(inner, version).assignments)
    except (DamagedCheckpointError, UnknownVersionError):
        return False


def _split(element: ByteReader) -> bool:
    try:
        version, inner = unwrap(element)
        if version != 0:
            return False
        inner.skip(4)
        inner.utf()
        wrapped = inner.i32()
        split = ByteReader(inner.blob(), element.path, element.name)
        inner.finish()
        read_split(split)
    except (DamagedCheckpointError, UnknownVersionError):
        return False
    return wrapped == 0
