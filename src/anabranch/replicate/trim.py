"""Cutting the head off a batch, for a lane that starts in the middle of one."""

from __future__ import annotations

from anabranch.records.decode import decode
from anabranch.records.encode import encode
from anabranch.records.header import BatchHeader, read_header


def trim_batch(batch: memoryview, header: BatchHeader, first: int) -> tuple[memoryview, BatchHeader]:
    """The batch without the records below offset ``first``, re-encoded with its own codec, and its header.

    Only the first batch of a lane is ever treated so: a position always lies at a batch's end afterwards.
    Raises CorruptBatchError.
    """
    kept = [record for record in decode(batch, 0, header) if record.offset >= first]
    trimmed = memoryview(bytearray(encode(kept, codec=header.codec)))
    as_read = read_header(trimmed)._replace(base_offset=first, leader_epoch=header.leader_epoch)
    return trimmed, as_read
