"""Append batches to one partition inside a transaction, in order and once.

At most five batches are on their way: so many does a broker know again (KIP-98).  Whatever was not acknowledged is sent
again, the same bytes in the same order, on whatever connection: what is in the log already is acknowledged and not
appended.  Who calls this has the only right to write to the partition with this producer's numbers.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from anabranch.errors import AnabranchError, ClusterError, ProtocolError, RefusedError
from anabranch.kafka import produce
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.frames import Frame
from anabranch.kafka.transactional import FENCED, PATIENCE_S, FencedError, TransactionalProducer
from anabranch.model.topics import TopicPartition

WINDOW = 5
_NO_ID = uuid.UUID(int=0)
_DUPLICATE = 46
_OUT_OF_ORDER = 45
_TOO_LARGE = frozenset({10, 18})  # MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE
_PASSING = frozenset({3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 51, 56, 74, 75, 76})
"""Codes that a broker answers while a topic, a leader or a transaction is on its way."""
_PAUSE_S = 0.05
_TIMEOUT_MS = 30_000


@dataclass(eq=False)
class BatchTooLargeError(RefusedError):
    """A record is larger than the topic takes."""

    partition: TopicPartition
    bytes: int

    _message = "{partition} takes no batch of {bytes:,} bytes"
    _hint = "raise max.message.bytes of the topic, or write smaller records"


@dataclass(eq=False)
class OutOfOrderError(ProtocolError):
    """A broker does not know the sequence before the next one."""

    partition: TopicPartition

    _message = "{partition}: the broker does not have the record before the next one: it has lost some of its log"


@dataclass(eq=False)
class NoLeaderError(ClusterError):
    """A partition is not there, or has no leader just now."""

    cluster: str
    partition: TopicPartition
    retryable: ClassVar[bool] = True

    _message = "cluster {cluster}: {partition} has no leader, or is not there"


class PartitionWriter:
    """Appends to partitions of one cluster; use within one event loop.  Leaders are remembered.

    ``retries`` is how often it went on sending after a leader did not take what it was sent, or was not there.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.retries = 0
        self._cluster = cluster
        self._leaders: dict[TopicPartition, int] = {}

    async def write(self, partition: TopicPartition, producer: TransactionalProducer, batches: Iterator[bytes]) -> None:
        """Return when all batches are acknowledged; they hold the producer's numbers and their sequences.

        Raises FencedError, BatchTooLargeError, OutOfOrderError, ClusterError where the brokers do not take them for
        ``PATIENCE_S``: then nobody knows how many of them are in the log.
        """
        left: deque[bytes] = deque()
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                connection = await self._connection(partition)
                code, detail = await self._drain(connection, partition, producer, batches, left)
                if code == 0:
                    return
                error: AnabranchError | None = None
            except AnabranchError as lost:
                if not lost.retryable or time.monotonic() > deadline:
                    raise
                error, code, detail = lost, 0, ""
            if error is None and (code not in _PASSING or time.monotonic() > deadline):
                raise self._refusal(partition, producer, code, detail, left)
            self._leaders.pop(partition, None)
            self.retries += 1
            await asyncio.sleep(_PAUSE_S)

    async def _drain(
        self,
        connection: Connection,
        partition: TopicPartition,
        producer: TransactionalProducer,
        batches: Iterator[bytes],
        left: deque[bytes],
    ) -> tuple[int, str]:
        """Send what is left, then more, until a refusal; (0, "") when all is acknowledged."""
        sent: deque[asyncio.Future[Frame]] = deque(
            self._submit(connection, partition, producer, batch) for batch in left
        )
        failed: tuple[int, str] | None = None
        while True:
            while failed is None and len(sent) < WINDOW and (batch := next(batches, None)) is not None:
                left.append(batch)
                sent.append(self._submit(connection, partition, producer, batch))
                await connection.writable.wait()
            if not sent:
                return failed or (0, "")
            frame = await sent.popleft()
            try:
                throttle, answers = produce.parse_with_throttle(frame, produce.BY_NAME)
            finally:
                frame.release()
            connection.throttled(throttle)
            if answers[0].code in (0, _DUPLICATE):
                if failed is None:
                    left.popleft()
            elif failed is None:
                failed = answers[0].code, answers[0].detail

    def _submit(
        self, connection: Connection, partition: TopicPartition, producer: TransactionalProducer, batch: bytes
    ) -> asyncio.Future[Frame]:
        out = produce.Outgoing(partition.topic, _NO_ID, partition.partition, batch)
        return produce.submit(connection, [out], timeout_ms=_TIMEOUT_MS, transactional_id=producer.transactional_id)

    async def _connection(self, partition: TopicPartition) -> Connection:
        leader = self._leaders.get(partition)
        if leader is None:
            metadata = await self._cluster.metadata([partition.topic])
            topic = metadata.topics[partition.topic]
            for index, part in topic.partitions.items():
                self._leaders[TopicPartition(partition.topic, index)] = part.leader
            leader = self._leaders.get(partition, -1)
        if leader < 0:
            raise NoLeaderError(self._cluster.name, partition)
        return await self._cluster.connection(leader, "produce")

    def _refusal(
        self,
        partition: TopicPartition,
        producer: TransactionalProducer,
        code: int,
        detail: str,
        left: deque[bytes],
    ) -> AnabranchError:
        if code in FENCED:
            return FencedError(self._cluster.name, producer.transactional_id)
        if code in _TOO_LARGE:
            return BatchTooLargeError(partition, len(left[0]))
        if code == _OUT_OF_ORDER:
            return OutOfOrderError(partition)
        try:
            self._cluster.check(code, "Write", f"topic {partition.topic}", detail)
        except AnabranchError as error:
            return error
        raise AssertionError(code)
