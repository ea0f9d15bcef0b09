"""A compacted control topic as a log of keyed records: append once, read what is new.

``append`` is tried once and never repeated: the journal's offset order arbitrates between owners, and a late
repeat would move a record after another's (LANE protocol, section 3).  ``read`` returns what is committed
below the high watermark that the leader confirmed for its epoch on the same connection (R8).

A batch of ``PACKED_FROM`` bytes is compressed: records of many lanes share most of their bytes, and each worker reads
those of all.  Every version of the reader takes compressed batches.

A reader that goes on from where it stood must not miss that the log lost something.  Nothing shortens a compacted
topic by itself, so each of these is an error (``LogShrunkError``, ``LogChangedError``), looked for when a leader is
found and every ``CHECK_S`` seconds:

    the topic has another id            it was deleted and made again
    unknown to all for ``GONE_S``       it was deleted (``presence``: one broker alone may have old metadata)
    its epoch ended below the position  an unclean election took records, though the log may have grown past since
    its start has moved                 retention or DeleteRecords took records
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from anabranch.errors import ClusterError
from anabranch.kafka import fetch, produce
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import BrokerRefusedError, ConnectionLostError
from anabranch.kafka.fetch_one import fetched
from anabranch.kafka.partitions import EARLIEST, LATEST, epoch_end, list_offset
from anabranch.kafka.presence import Absence, UnknownTopicError, locate
from anabranch.records.decode import decode
from anabranch.records.encode import encode
from anabranch.records.header import Codec
from anabranch.records.record import Record, TimestampType
from anabranch.records.split import split

PURPOSE = "control"
_CHUNK = 1 << 20
PACKED_FROM = 256
STEP_ENTRIES = 100
"""Records that are decoded and folded in before others may run: a worker that reads a long log goes on copying."""
_DEFINITELY_NOT = {2, 10, 19, 29, 87}
_INVALID_TIMESTAMP = 32
CHECK_S = 5.0


Headers = tuple[tuple[str | bytes, bytes | None], ...]


class LogEntry(NamedTuple):
    """One record of the log; ``value`` None is a tombstone."""

    offset: int
    key: bytes
    value: bytes | None
    headers: Headers = ()


class _Read(NamedTuple):
    """Of which topic, under which leader epoch, and from which first offset on a log was read.

    ``written`` is the epoch in which its last record was written, as that tells: a leader that does not know yet that
    it is another's follower answers under an epoch that is over.
    """

    topic_id: uuid.UUID
    epoch: int
    start: int
    written: int


@dataclass(eq=False)
class LogShrunkError(ClusterError):
    """A control topic ends before what was read of it: it was truncated, or made again, and must be read again."""

    cluster: str
    topic: str
    read: int
    end: int

    _message = "cluster {cluster}: {topic} ends at {end:,}, and was read up to {read:,} before"
    _hint = "an unclean election lost records of a control topic: start the link again, it reads what is left"


@dataclass(eq=False)
class LogChangedError(ClusterError):
    """A control topic was deleted, made again, or its first records were: what was read of it no longer holds."""

    cluster: str
    topic: str
    what: str

    _message = "cluster {cluster}: {topic} {what}"
    _hint = "start the link again: it reads what is left, or says what is to be accepted first"


@dataclass(eq=False)
class ClockAheadError(ClusterError):
    """The broker takes no record of this machine's time, which lies too far ahead of its own (an hour, from 4.0 on)."""

    cluster: str
    topic: str
    time_ms: int

    @property
    def message(self) -> str:
        time = datetime.fromtimestamp(self.time_ms / 1000, UTC)
        return (
            f"cluster {self.cluster}: {self.topic} refuses records of {time:%Y-%m-%d %H:%M:%S} UTC, which is this "
            f"machine's time: its clock is ahead of the brokers'"
        )

    _hint = "set the clock of this machine, or those of the brokers; then start the link again"


class KeyedLog:
    """One partition of a compacted topic; remembers how far it has read, of which topic and under which epoch."""

    def __init__(self, cluster: Cluster, topic: str, partition: int = 0) -> None:
        self.topic = topic
        self.position = -1
        self._cluster = cluster
        self._partition = partition
        self._leader: tuple[uuid.UUID, int, int] | None = None
        self._read: _Read | None = None
        self._looked_at: uuid.UUID | None = None
        self._checked_at = 0.0
        self._absence = Absence()
        self._folding = asyncio.Lock()

    @property
    def start(self) -> int:
        """The first offset of the log when it was last read; above 0 where records were deleted."""
        return 0 if self._read is None else self._read.start

    def forget_leader(self) -> None:
        """Look for the leader again at the next call, as after a failed one."""
        self._leader = None

    async def append(
        self, entries: Sequence[tuple[bytes, bytes | None]], now_ms: int, headers: Headers = ()
    ) -> int | None:
        """Append records as one batch; returns the first one's offset, or None where the outcome is unknown.

        Each has the same ``headers``.  Raises ClusterError where nothing was appended.
        """
        topic_id, epoch_connection, _ = await self._open()
        size = sum(len(key) + len(value or b"") for key, value in entries)
        batch = encode(
            [
                Record(at, now_ms, TimestampType.CREATE_TIME, key, value, headers)
                for at, (key, value) in enumerate(entries)
            ],
            codec=Codec.ZSTD if size >= PACKED_FROM else Codec.NONE,
        )
        try:
            frame = await produce.submit(
                epoch_connection, [produce.Outgoing(self.topic, topic_id, self._partition, batch)]
            )
        except ConnectionLostError:
            self._leader = None
            return None
        try:
            throttle, (answer, *_) = produce.parse_with_throttle(frame, produce.version_for(epoch_connection))
            epoch_connection.throttled(throttle)
        finally:
            frame.release()
        if answer.code == 0:
            return answer.base_offset
        self._leader = None
        if answer.code == _INVALID_TIMESTAMP:
            raise ClockAheadError(self._cluster.name, self.topic, now_ms)
        if answer.code in _DEFINITELY_NOT:
            self._cluster.check(answer.code, "Write", f"topic {self.topic}", answer.detail)
        return None

    async def read(self) -> list[LogEntry]:
        """What was appended since the last call, up to the high watermark of now; raises ClusterError.

        A call that is cancelled or fails half-way is as if it had not been made.
        """
        before = self.position, self._read
        entries: list[LogEntry] = []
        try:
            await self.fold(entries.append)
        except BaseException:
            self.position, self._read = before
            raise
        return entries

    async def fold(self, take: Callable[[LogEntry], None]) -> None:
        """Hand out what was appended since the last call, record by record, up to the high watermark of now.

        Others may run after every ``STEP_ENTRIES`` records.  The position moves batch by batch, after what was
        handed out: where this is cancelled or fails, or ``take`` raises, the next call goes on with the same batch, so
        that ``take`` may be given a record twice and none never.  One call after the other reads.  Raises ClusterError.
        """
        async with self._folding:
            try:
                await self._read_on(take)
            except ClusterError:
                self._leader = None
                raise

    async def check(self) -> None:
        """Look, every ``CHECK_S`` seconds at most, whether the log is the one that was read, or was first looked at.

        Raises LogChangedError, LogShrunkError, ClusterError.
        """
        async with self._folding:
            try:
                await self._open_checked()
            except ClusterError:
                self._leader = None
                raise

    async def _read_on(self, take: Callable[[LogEntry], None]) -> None:
        topic_id, connection, epoch = await self._open_checked()
        read = self._read
        if self.position < 0 or read is None:
            start = await self._offset(connection, EARLIEST, epoch)
            read, self._checked_at = _Read(topic_id, epoch, start, epoch), time.monotonic()
        at = self.position if self.position >= 0 else read.start
        end = await self._offset(connection, LATEST, epoch)
        if at > end:
            raise LogShrunkError(self._cluster.name, self.topic, at, end)
        self.position, self._read = at, _Read(read.topic_id, epoch, read.start, read.written)
        while self.position < end:
            wanted = fetch.PartitionFetch(self.topic, topic_id, self._partition, epoch, self.position, -1, _CHUNK)
            async with fetched(connection, wanted, max_wait_ms=100, max_bytes=_CHUNK) as answer:
                self._check(answer.code)
                before = self.position
                for start, header in split(answer.records):
                    if header.last_offset < self.position:
                        continue
                    if not header.is_control:
                        await _hand_out(decode(answer.records, start, header), self.position, take)
                    self.position = header.last_offset + 1
                    self._read = self._read._replace(written=header.leader_epoch)
                if self.position == before:
                    if answer.high_watermark < end:
                        self._check(6)
                    await asyncio.sleep(0.01)

    async def _open_checked(self) -> tuple[uuid.UUID, Connection, int]:
        """``_open``; raises LogShrunkError, LogChangedError where the log lost what was read of it."""
        read = self._read
        if read is None or self.position < 0:
            return await self._open_unread()
        # An append may have found another leader meanwhile.
        is_known = self._leader is not None and self._leader[2] == read.epoch
        if is_known and time.monotonic() - self._checked_at < CHECK_S:
            return await self._open()
        topic_id, connection, epoch = await self._open_again()
        if epoch != read.epoch:
            code, _, kept = await epoch_end(connection, self.topic, self._partition, read.written, epoch)
            self._check(code)
            if 0 <= kept < self.position:
                raise LogShrunkError(self._cluster.name, self.topic, self.position, kept)
        start = await self._offset(connection, EARLIEST, epoch)
        if start > read.start:
            what = f"begins at offset {start:,}, and began at {read.start:,} before: its first records were deleted"
            raise LogChangedError(self._cluster.name, self.topic, what)
        self._checked_at = time.monotonic()
        return topic_id, connection, epoch

    async def _open_unread(self) -> tuple[uuid.UUID, Connection, int]:
        """``_open`` of a log of which nothing was read; raises LogChangedError where it is another one now."""
        if self._looked_at is None:
            found = await self._open()
        elif time.monotonic() - self._checked_at < CHECK_S:
            return await self._open()
        else:
            found = await self._open_again()
            if found[0] != self._looked_at:
                raise LogChangedError(self._cluster.name, self.topic, "was deleted and made again")
        self._looked_at, self._checked_at = found[0], time.monotonic()
        return found

    async def _open_again(self) -> tuple[uuid.UUID, Connection, int]:
        """``_open``, with the leader looked for; raises LogChangedError where there is none for long."""
        self._leader = None
        try:
            found = await self._open()
        except UnknownTopicError as error:
            if self._absence.lasts(error.by_all):
                raise LogChangedError(self._cluster.name, self.topic, "was deleted") from error
            raise
        except ClusterError:
            self._absence.end()
            raise
        self._absence.end()
        return found

    async def _offset(self, connection: Connection, at: int, epoch: int) -> int:
        answer = await list_offset(connection, self.topic, self._partition, at, epoch=epoch)
        self._check(answer.code)
        return answer.offset

    def _check(self, code: int) -> None:
        self._cluster.check(code, "Read", f"topic {self.topic}")

    async def _open(self) -> tuple[uuid.UUID, Connection, int]:
        """The topic's id, its leader and the leader's epoch; an append that fails meanwhile may forget the leader."""
        if self._leader is None:
            if self._read is None:
                meta, part = await self._cluster.partition(self.topic, self._partition)
            else:
                meta, known = await locate(self._cluster, self.topic, self._partition, self._read.topic_id)
                if known is None:
                    raise LogChangedError(self._cluster.name, self.topic, "was deleted and made again")
                part = known
            self._leader = (meta.id, part.leader, part.leader_epoch)
        topic_id, node, epoch = self._leader
        try:
            return topic_id, await self._cluster.connection(node, PURPOSE), epoch
        except (ConnectionLostError, BrokerRefusedError):
            self._leader = None
            raise


async def _hand_out(records: Sequence[Record], position: int, take: Callable[[LogEntry], None]) -> None:
    """Hand out a batch's records from a position on, some at a time."""
    for first in range(0, len(records), STEP_ENTRIES):
        if first:
            await asyncio.sleep(0)
        for record in records[first : first + STEP_ENTRIES]:
            if record.offset >= position:
                take(LogEntry(record.offset, record.key or b"", record.value, record.headers))
