"""Batches of empty records that push a log's end forward, where a lane must begin at the source's offset.

A million empty records take about 9 MB, and well under 1 MB with zstd; the records are the same for every such
batch, so one is built and ``patch`` gives each copy its producer and sequence.
"""

from __future__ import annotations

from anabranch.records.encode import seal
from anabranch.records.header import Codec
from anabranch.records.varint import write

_NOTHING = bytes((1, 1, 0))  # null key, null value, no headers


def filler_batch(count: int, timestamp: int, codec: Codec = Codec.ZSTD) -> bytes:
    """Return a batch of ``count`` records without key, value or headers, all at ``timestamp`` (milliseconds).

    A topic that only compacts refuses records without a key: it needs another cleanup policy while it is filled.
    Raises ValueError for a count below 1.
    """
    body = bytearray()
    for delta in range(count):
        one = bytearray(2)  # attributes, and a timestamp delta of 0
        write(one, delta)
        one += _NOTHING
        body.append(len(one) << 1)
        body += one
    return seal(body, count=count, last_offset_delta=count - 1, timestamps=(timestamp, timestamp), attributes=codec)
