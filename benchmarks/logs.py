"""How far a copy is, read from the log files of the broker that it goes to.

Nothing is asked of the brokers or of the copier, so that watching costs neither of them anything: the headers of the
batches that were added since the last look are read.  What counts is what a read_committed consumer would be given:
control batches are left out, and the batches of a transaction count once its commit marker is there.
"""

from __future__ import annotations

import os
import re
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

HEADER_SIZE = 61
_LOG_OVERHEAD = 12
_TRANSACTIONAL = 0x10
_CONTROL = 0x20
# Of a batch header of magic 2: baseOffset, batchLength, partitionLeaderEpoch, magic, crc, attributes, lastOffsetDelta,
# baseTimestamp, maxTimestamp, producerId, producerEpoch, baseSequence, recordCount.
_HEADER = struct.Struct(">qiibIhiqqqhii")
# In a marker: length, attributes, two deltas and the key's length are a byte each, then the key's version and type.
_MARKER_TYPE = slice(HEADER_SIZE + 7, HEADER_SIZE + 9)
_MARKER_SIZE = 78
_COMMIT = 1
_SMALL = 4096
_NEAR, _FAR = 80, 128 << 10
_LIST_S = 1.0


@dataclass(slots=True)
class _Segment:
    descriptor: int
    position: int = 0
    is_small: bool = False


@dataclass(slots=True)
class _Pending:
    records: int = 0
    bytes: int = 0
    batches: int = 0


@dataclass(slots=True)
class TopicLog:
    """The log of one topic in a broker's directory: what has been appended so far.

    ``records``, ``bytes`` and ``batches`` count committed data over all partitions; ``by_partition`` counts bytes.
    Call ``close`` in the end, or a deleted topic's disk space is not given back.
    """

    directory: Path
    topic: str
    records: int = 0
    bytes: int = 0
    batches: int = 0
    by_partition: dict[int, int] = field(default_factory=dict)
    _segments: dict[tuple[int, str], _Segment] = field(default_factory=dict)
    _pending: dict[tuple[int, int], _Pending] = field(default_factory=dict)
    _listed: float = 0.0

    def look(self) -> None:
        """Read what was added since the last look; a batch that is half written waits for the next one."""
        now = time.monotonic()
        if not self.bytes or now - self._listed > _LIST_S:
            self._listed = now
            self._open()
        for (partition, _), segment in self._segments.items():
            self._read(partition, segment)

    def close(self) -> None:
        """Let go of the files."""
        for segment in self._segments.values():
            os.close(segment.descriptor)
        self._segments.clear()

    def exists(self) -> bool:
        """Whether the broker has a directory of the topic."""
        return any(True for _ in self._directories())

    def _directories(self) -> list[tuple[int, Path]]:
        pattern = re.compile(re.escape(self.topic) + r"-(\d+)")
        matches = ((pattern.fullmatch(path.name), path) for path in self.directory.iterdir())
        return sorted((int(match[1]), path) for match, path in matches if match)

    def _open(self) -> None:
        for partition, folder in self._directories():
            for path in sorted(folder.glob("*.log")):
                if (partition, path.name) not in self._segments:
                    try:
                        self._segments[partition, path.name] = _Segment(os.open(path, os.O_RDONLY))
                    except FileNotFoundError:
                        continue

    def _read(self, partition: int, segment: _Segment) -> None:
        """Headers one by one where batches are large, in chunks where they are small."""
        size = os.fstat(segment.descriptor).st_size
        while segment.position + HEADER_SIZE <= size:
            chunk = os.pread(segment.descriptor, _FAR if segment.is_small else _NEAR, segment.position)
            at = 0
            while at + HEADER_SIZE <= len(chunk):
                header = _HEADER.unpack_from(chunk, at)
                length, attributes = header[1] + _LOG_OVERHEAD, header[5]
                if length <= _LOG_OVERHEAD or segment.position + length > size:
                    return
                if attributes & _CONTROL:
                    if at + _MARKER_SIZE > len(chunk):
                        break  # it begins the next chunk
                    self._end(partition, header[9], int.from_bytes(chunk[at:][_MARKER_TYPE]))
                else:
                    self._add(partition, header[9], attributes, length, header[12])
                segment.position += length
                segment.is_small = length < _SMALL
                at += length

    def _add(self, partition: int, producer: int, attributes: int, size: int, count: int) -> None:
        if attributes & _TRANSACTIONAL:
            pending = self._pending.setdefault((partition, producer), _Pending())
            pending.records += count
            pending.bytes += size
            pending.batches += 1
        else:
            self._count(partition, _Pending(count, size, 1))

    def _end(self, partition: int, producer: int, kind: int) -> None:
        pending = self._pending.pop((partition, producer), None)
        if pending is not None and kind == _COMMIT:
            self._count(partition, pending)

    def _count(self, partition: int, added: _Pending) -> None:
        self.records += added.records
        self.bytes += added.bytes
        self.batches += added.batches
        self.by_partition[partition] = self.by_partition.get(partition, 0) + added.bytes
