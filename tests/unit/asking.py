"""How tests ask a simulated cluster, and what they append to it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from anabranch.kafka import produce
from anabranch.kafka.connection import Connection
from anabranch.records.encode import body_of, seal
from anabranch.records.header import TRANSACTIONAL
from anabranch.records.record import Record, TimestampType
from qa.blocking import T, on

__all__ = ["T", "append", "on", "open_batch", "records"]


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


def open_batch(producer_id: int, values: Sequence[bytes], at_ms: int) -> bytes:
    """A transactional batch, the first of its producer, which leaves its transaction open."""
    made = [Record(0, at_ms, TimestampType.CREATE_TIME, None, value) for value in values]
    return seal(
        body_of(made, list(range(len(made)))),
        count=len(made),
        last_offset_delta=len(made) - 1,
        timestamps=(at_ms, at_ms),
        attributes=TRANSACTIONAL,
        producer=(producer_id, 0, 0),
    )
