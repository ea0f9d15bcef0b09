"""Reading the header of one batch, for whoever asks what lies at an offset and not for the records."""

from __future__ import annotations

import uuid

from anabranch.kafka import fetch
from anabranch.kafka.connection import Connection
from anabranch.records.header import BatchHeader
from anabranch.records.split import split

_BYTES = 1024
"""More than a header; a broker sends at least one whole batch whatever is wished for."""


async def header_at(
    connection: Connection, topic: str, topic_id: uuid.UUID, partition: int, offset: int, *, epoch: int = -1
) -> tuple[int, BatchHeader | None]:
    """(code, header of the first batch that holds ``offset`` or comes after it); None where there is none yet.

    ``epoch`` is the leader epoch that the broker must agree with, -1 for any.  Raises ConnectionLostError,
    ProtocolError for bytes that cannot be read, and OldFormatError.
    """
    wanted = fetch.Wanted(topic, topic_id, partition, epoch, offset, -1, _BYTES)
    frame = await fetch.submit(connection, [wanted], max_wait_ms=0, max_bytes=_BYTES)
    try:
        code, answers = fetch.parse(frame, fetch.version_for(connection))
        code = code or answers[0].code
        if code:
            return code, None
        return 0, next((header for _, header in split(answers[0].records) if header.last_offset >= offset), None)
    finally:
        frame.release()
