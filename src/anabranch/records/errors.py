"""What can be wrong with the bytes of a record batch."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ProtocolError, RefusedError


@dataclass(eq=False)
class CorruptBatchError(ProtocolError):
    """A batch whose bytes contradict themselves; ``offset`` is its base offset as far as it could be read."""

    offset: int
    reason: str

    _message = "record batch at offset {offset:,} is corrupt: {reason}"
    _hint = (
        "read the same offset with a plain consumer (check.crcs=true): if that fails too, the log segment is "
        "damaged on the broker's disk"
    )


@dataclass(eq=False)
class OldFormatError(RefusedError):
    """A message set of format v0 or v1 (before Kafka 0.11) where record batches v2 are wanted."""

    offset: int
    magic: int

    _message = "the records at offset {offset:,} are in message format v{magic}; only v2 can be copied"
    _hint = (
        "start the link past these records, or have the source rewrite them (log.message.format.version >= 0.11 "
        "and a compaction, or a copy by a plain consumer)"
    )
