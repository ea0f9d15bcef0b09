"""Reading the headers of batches, for whoever asks what lies at an offset and not for the records."""

from __future__ import annotations

import uuid

from anabranch.kafka import fetch
from anabranch.kafka.connection import Connection
from anabranch.kafka.fetch_one import fetched
from anabranch.records.header import BatchHeader
from anabranch.records.split import split

_BYTES = 1024
"""More than a header; a broker sends at least one whole batch whatever is wished for."""


async def headers_from(
    connection: Connection,
    topic: str,
    topic_id: uuid.UUID,
    partition: int,
    offset: int,
    *,
    epoch: int = -1,
    size: int = _BYTES,
) -> tuple[int, list[BatchHeader]]:
    """(code, headers of some batches from the one on that holds ``offset`` or comes after it); none at the log's end.

    ``epoch`` is the leader epoch that the broker must agree with, -1 for any; ``size`` is about how many bytes of
    batches are asked for.  Raises ConnectionLostError, ProtocolError for bytes that cannot be read, and OldFormatError.
    """
    wanted = fetch.PartitionFetch(topic, topic_id, partition, epoch, offset, -1, size)
    async with fetched(connection, wanted, max_wait_ms=0, max_bytes=size) as answer:
        if answer.code:
            return answer.code, []
        return 0, [header for _, header in split(answer.records) if header.last_offset >= offset]


async def header_at(
    connection: Connection, topic: str, topic_id: uuid.UUID, partition: int, offset: int, *, epoch: int = -1
) -> tuple[int, BatchHeader | None]:
    """``headers_from``, the first one alone."""
    code, found = await headers_from(connection, topic, topic_id, partition, offset, epoch=epoch)
    return code, found[0] if found else None
