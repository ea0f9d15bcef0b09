"""What a control batch says: the end of a transaction, or something that is none of a copier's business.

Source: KIP-98; ``ControlRecordType.java`` in Apache Kafka.  Only the key is read: version int16, type int16.
"""

from __future__ import annotations

from enum import Enum
from struct import Struct

from anabranch.records.decode import decode
from anabranch.records.errors import CorruptBatchError
from anabranch.records.header import BatchHeader

_KEY = Struct(">hh")


class ControlType(Enum):
    """The meaning of a control record."""

    ABORT = 0
    COMMIT = 1
    OTHER = -1


def marker_of(buffer: memoryview, position: int, header: BatchHeader) -> ControlType:
    """Return what the control batch at ``position`` ends its producer's transaction with.

    A control batch holds one record; one that the cleaner emptied says OTHER.  Raises CorruptBatchError for a
    batch that is no control batch, or whose record cannot be read.
    """
    if not header.is_control:
        raise CorruptBatchError(header.base_offset, "not a control batch")
    for record in decode(buffer, position, header):
        if record.key is None or len(record.key) < _KEY.size:
            raise CorruptBatchError(header.base_offset, "a control record without its type")
        kind = _KEY.unpack_from(record.key)[1]
        return ControlType(kind) if kind in (0, 1) else ControlType.OTHER
    return ControlType.OTHER
