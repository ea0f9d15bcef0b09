"""What ``SourceCoordinator`` wraps around an enumerator's state."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.checkpoints.flink import writer
from anabranch.checkpoints.flink.reader import ByteReader

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The enumerator's own version and bytes; what they mean is the source's."""

    version: int
    state: bytes

    def emit(self) -> bytes:
        """The coordinator's bytes."""
        return writer.i32(_VERSION) + writer.i32(self.version) + writer.blob(self.state)


def read_coordinator(reader: ByteReader) -> Coordinator:
    """A whole coordinator state. Raises ``DamagedCheckpointError`` and ``UnknownVersionError``.

    Version 0 is of Flink 1.12, which wrote the readers' assignments after it; it is not read.
    """
    version = reader.i32()
    if version != _VERSION:
        reader.unknown(f"the source coordinator version {version}", "1", 0)
    coordinator = Coordinator(reader.i32(), reader.blob())
    reader.finish()
    return coordinator
