"""How tests ask a simulated cluster, and what they append to it."""

from __future__ import annotations

from uuid import UUID

from anabranch.kafka import produce
from anabranch.kafka.connection import Connection
from anabranch.records.record import Record, TimestampType
from qa.blocking import T, on

__all__ = ["T", "append", "on", "records"]


async def append(connection: Connection, topic: str, topic_id: UUID, batch: bytes, partition: int = 0) -> int:
    """Append a batch; the code."""
    frame = await produce.submit(connection, [produce.Outgoing(topic, topic_id, partition, batch)])
    try:
        return produce.parse(frame, produce.version_for(connection))[0].code
    finally:
        frame.release()


def records(count: int) -> list[Record]:
    """Some records."""
    return [Record(n, 1_000, TimestampType.CREATE_TIME, b"k", b"v") for n in range(count)]
