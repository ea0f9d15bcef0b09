"""How far a copy is, read from the log files of the broker that it goes to.

Nothing is asked of the brokers or of the copier, so that watching costs neither of them anything: the headers of the
batches that were added since the last look are read, 61 bytes each.  Control batches (markers) are left out.
"""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

HEADER_SIZE = 61
_LOG_OVERHEAD = 12
_CONTROL = 0x20
# Of a batch header of magic 2: baseOffset, batchLength, partitionLeaderEpoch, magic, crc, attributes, lastOffsetDelta,
# baseTimestamp, maxTimestamp, producerId, producerEpoch, baseSequence, recordCount.
_HEADER = struct.Struct(">qiibIhiqqqhii")


@dataclass(slots=True)
class _Segment:
    descriptor: int
    position: int = 0


@dataclass(slots=True)
class TopicLog:
    """The log of one topic in a broker's directory: what has been appended so far.

    ``records``, ``bytes`` and ``batches`` count data batches over all partitions; ``by_partition`` counts bytes.  Call
    ``close`` in the end, or a deleted topic's disk space is not given back.
    """

    directory: Path
    topic: str
    records: int = 0
    bytes: int = 0
    batches: int = 0
    by_partition: dict[int, int] = field(default_factory=dict)
    _segments: dict[tuple[int, str], _Segment] = field(default_factory=dict)

    def look(self) -> None:
        """Read what was added since the last look; a batch that is half written waits for the next one."""
        for partition, path in self._paths():
            segment = self._segments.get((partition, path.name))
            if segment is None:
                try:
                    segment = _Segment(os.open(path, os.O_RDONLY))
                except FileNotFoundError:
                    continue
                self._segments[partition, path.name] = segment
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

    def _paths(self) -> list[tuple[int, Path]]:
        return [(number, path) for number, folder in self._directories() for path in sorted(folder.glob("*.log"))]

    def _read(self, partition: int, segment: _Segment) -> None:
        size = os.fstat(segment.descriptor).st_size
        while segment.position + HEADER_SIZE <= size:
            header = _HEADER.unpack(os.pread(segment.descriptor, HEADER_SIZE, segment.position))
            length, attributes, count = header[1] + _LOG_OVERHEAD, header[5], header[12]
            if length <= _LOG_OVERHEAD or segment.position + length > size:
                return
            segment.position += length
            if not attributes & _CONTROL:
                self.batches += 1
                self.records += count
                self.bytes += length
                self.by_partition[partition] = self.by_partition.get(partition, 0) + length
