"""Carrying out a takeover's effects on a real cluster: one connection, one leader, one leader epoch.

Whatever fails underneath is thrown into the takeover as the ending that it means (LANE protocol, R1): the
takeover never sees a timeout as an answer, and never goes on over another connection.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from anabranch.copier.target.backwards import LEAST_BYTES, Backwards
from anabranch.kafka import partitions
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import BrokerRefusedError, ConnectionLostError, PermissionDeniedError
from anabranch.kafka.headers import headers_from
from anabranch.kafka.presence import UnknownTopicError, locate
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.offsets.offset_map import OffsetMap
from anabranch.protocol import effects
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded, Stop, accepting, refusal
from anabranch.records.header import BatchHeader
from anabranch.state.maps.rebuild import tail_batch
from anabranch.state.segments.index import OffsetMapIndex
from anabranch.state.topics.control import MappedRanges
from anabranch.state.topics.journal import GapRecords, Journal

T = TypeVar("T")
_PAUSE_S = 0.1
_AT_ONCE = 50
_LOOKS_A_TURN = 500
"""Looks that are answered without asking the log before other lanes have their turn: some milliseconds."""
_OUT_OF_RANGE = 1
_TRANSACTIONAL_ID_DENIED = 53


@dataclass(slots=True)
class TargetPartition:
    """A lane's target partition as one generation sees it."""

    cluster: Cluster
    journal: Journal
    gap_records: GapRecords
    ranges: MappedRanges
    lane: str
    topic: str
    topic_id: uuid.UUID
    partition: int
    connection: Connection
    leader: int
    leader_epoch: int
    start: int
    by_coordinator: bool
    _walk: Backwards = field(init=False)

    def __post_init__(self) -> None:
        self._walk = Backwards(self._batches_from)

    @classmethod
    async def open(
        cls,
        cluster: Cluster,
        journal: Journal,
        gap_records: GapRecords,
        ranges: MappedRanges,
        assignment: LaneAssignment,
        purpose: str,
        start: int,
        by_coordinator: bool,
    ) -> TargetPartition:
        """Find the leader and connect; raises OwnershipEnded or LaneStopped where the topic is not the lane's."""
        key, target = str(assignment.lane), assignment.target
        try:
            meta, part = await locate(cluster, target.topic, target.partition, assignment.target_id.uuid)
        except UnknownTopicError as error:
            raise refusal(key, error.code, start, error.detail) from error
        except BrokerRefusedError as error:
            raise refusal(key, error.code, start, error.message) from error
        except PermissionDeniedError as error:
            raise LaneStopped(key, Stop.NOT_ALLOWED, start, None, error.message, error.hint) from error
        if part is None:
            raise LaneStopped(
                key,
                Stop.TARGET_MADE_AGAIN,
                start,
                detail=f"topic {target.topic} has id {meta.id}, the lane was begun in {assignment.target_id.uuid}",
                fix=f"fill the topic that is there now from the start: {accepting(key)}",
            )
        connection = await cluster.connection(part.leader, purpose)
        where = (key, target.topic, meta.id, target.partition, connection, part.leader, part.leader_epoch)
        return cls(cluster, journal, gap_records, ranges, *where, start, by_coordinator)

    async def drive(self, steps: effects.Steps[T], may_write: Callable[[], bool] = lambda: True) -> T:
        """Run a takeover, a release or a filling to its end; ``may_write`` is asked before each empty transaction."""
        looks = 0
        try:
            effect = next(steps)
            while True:
                try:
                    if isinstance(effect, effects.EmptyTransaction) and not may_write():
                        raise OwnershipEnded(self.lane, Ending.LEASE)
                    answer: Any = self._looked_up(effect)
                    if answer is None:
                        answer = await self._perform(effect)
                    elif (looks := looks + 1) % _LOOKS_A_TURN == 0:
                        await asyncio.sleep(0)
                except OwnershipEnded as ended:
                    effect = steps.throw(ended)
                except ConnectionLostError as error:
                    effect = steps.throw(OwnershipEnded(self.lane, Ending.DISCONNECTED, None, error.reason))
                except PermissionDeniedError as error:
                    effect = steps.throw(
                        LaneStopped(self.lane, Stop.NOT_ALLOWED, self.start, None, error.message, error.hint)
                    )
                except BrokerRefusedError as error:
                    effect = steps.throw(refusal(self.lane, error.code, self.start, error.message))
                else:
                    effect = steps.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    async def _read_ranges(self, first: int, end: int) -> OffsetMap:
        """The lane's persisted ranges, at least those between two target offsets."""
        await self.ranges.sync()
        lane = LaneKey.parse(self.lane)
        book = OffsetMapIndex.of_segments(self.ranges.segments.get(lane, {}))
        if self.ranges.lacks(lane) or (book.first and book.map[0].target > first):
            book = await self.ranges.book_below(lane, end)
        return book.map

    def _looked_up(self, effect: effects.Effect) -> effects.TailBatch | None:
        """What the window that was read answers at once; None where the log is to be asked."""
        if not isinstance(effect, effects.ReadTail):
            return None
        found = self._walk.known(effect.below)
        return None if found is None else tail_batch(found)

    async def _perform(self, effect: effects.Effect) -> Any:
        if not isinstance(effect, effects.ReadTail | effects.ReadMappedRanges):
            self._walk.forget()
        match effect:
            case effects.AllocateProducerId():
                return await self._allocate()
            case effects.AppendClaim(claim):
                return await self.journal.append(claim)
            case effects.ReadClaims():
                return await self.journal.read()
            case effects.ReadGapRecords():
                return await self.gap_records.read()
            case effects.ReadMappedRanges(_, first, end):
                return await self._read_ranges(first, end)
            case effects.AppendFences(lane, markers):
                return await self.journal.note_fences(lane, markers)
            case effects.ReadEnd():
                return await self._read_end()
            case effects.EndOfEpoch(epoch):
                code, _, end = await partitions.epoch_end(
                    self.connection, self.topic, self.partition, epoch, self.leader_epoch
                )
                self.check(code)
                return end
            case effects.Fences(fences):
                return await self._fence(fences)
            case effects.ReadMarkers(offsets):
                found = await asyncio.gather(*(self._batch_at(at) for at in offsets))
                await self.confirm()
                return tuple(None if header is None else tail_batch(header) for header in found)
            case effects.ForgetClaims(lane, producer_ids):
                return await self.journal.forget_some(lane, producer_ids)
            case effects.ReadTail(below):
                return await self._read_tail(below)
            case effects.DescribeProducer(producer_id):
                code, known = await partitions.describe_producers(self.connection, self.topic, self.partition)
                self.check(code)
                await self.confirm()
                entry = known.get(producer_id)
                return None if entry is None else effects.ProducerState(entry.epoch, entry.last_sequence)
            case effects.AppendGapRecords(gap_records):
                return await self.gap_records.append(gap_records)
            case effects.StartPadding(transactional_id):
                try:
                    return effects.PaddingProducer(
                        *await partitions.transactional_producer_id(self.cluster, transactional_id)
                    )
                except PermissionDeniedError:
                    return effects.PaddingProducer(_TRANSACTIONAL_ID_DENIED)
            case effects.EmptyTransaction(transactional_id, padder):
                return await partitions.empty_transaction(
                    self.cluster, transactional_id, padder.producer_id, padder.epoch, self.topic, self.partition
                )
            case effects.Pause(_, seconds):
                await asyncio.sleep(seconds)
                return None

    def check(self, code: int) -> None:
        """Raise what a code that a broker answered means for the lane, unless it is 0."""
        if code:
            raise refusal(self.lane, code, self.start)

    async def confirm(self) -> None:
        """Answers of a follower look like a leader's: only the leader of this epoch answers this with 0 (R8)."""
        answer = await partitions.list_offset(
            self.connection, self.topic, self.partition, partitions.LATEST, epoch=self.leader_epoch
        )
        self.check(answer.code)

    async def _read_end(self) -> effects.LogEnd:
        first = await partitions.list_offset(
            self.connection, self.topic, self.partition, partitions.EARLIEST, epoch=self.leader_epoch
        )
        self.check(first.code)
        code, _, end = await partitions.epoch_end(
            self.connection, self.topic, self.partition, self.leader_epoch, self.leader_epoch
        )
        self.check(code)
        high = await partitions.list_offset(
            self.connection, self.topic, self.partition, partitions.LATEST, epoch=self.leader_epoch
        )
        self.check(high.code)
        return effects.LogEnd(first.offset, high.offset, max(end, high.offset))

    async def _allocate(self) -> effects.Allocated:
        if not self.by_coordinator:
            return effects.Allocated(await partitions.new_producer_id(self.cluster))
        transactional_id = f"anabranch.{self.lane}.{uuid.uuid4().hex}"
        code, producer_id, _ = await partitions.transactional_producer_id(self.cluster, transactional_id)
        self.check(code)
        return effects.Allocated(producer_id, transactional_id)

    async def _fence(self, fences: Sequence[effects.Fence]) -> tuple[int, ...]:
        """Those by markers in few requests, each answered before the next is sent; those by a coordinator at once."""
        codes: dict[int, int] = {}
        plain = [one.producer_id for one in fences if one.transactional_id is None]
        for at in range(0, len(plain), _AT_ONCE):
            chunk = plain[at : at + _AT_ONCE]
            codes |= await partitions.write_kills(self.connection, self.topic, self.partition, chunk)
        named = [one for one in fences if one.transactional_id is not None]
        for at in range(0, len(named), _AT_ONCE):
            some = named[at : at + _AT_ONCE]
            answers = await asyncio.gather(
                *(self._kill_by_coordinator(one.producer_id, one.transactional_id or "") for one in some)
            )
            codes |= {one.producer_id: code for one, code in zip(some, answers, strict=True)}
        return tuple(codes[one.producer_id] for one in fences)

    async def _kill_by_coordinator(self, producer_id: int, transactional_id: str) -> int:
        """Raise the id's epoch at its coordinator and let an empty transaction write that epoch's marker here.

        It counts once a control batch of the id with the new epoch lies below the high watermark.
        """
        code, found, epoch = await partitions.transactional_producer_id(self.cluster, transactional_id)
        if code:
            return code
        if found != producer_id:
            return effects.FORGOTTEN
        before = await self._read_end()
        code = await partitions.empty_transaction(
            self.cluster, transactional_id, producer_id, epoch, self.topic, self.partition
        )
        if code:
            return code
        at = before.end
        for _ in range(300):
            end = await self._read_end()
            while at < end.high_watermark:
                header = await self._batch_at(at)
                if header is None:
                    break
                if header.is_control and header.producer_id == producer_id and header.producer_epoch >= epoch:
                    return 0
                at = header.last_offset + 1
            await asyncio.sleep(_PAUSE_S)
        raise OwnershipEnded(self.lane, Ending.TIMED_OUT, None, f"no marker for producer id {producer_id}")

    async def _batch_at(self, offset: int) -> BatchHeader | None:
        """The first batch that holds ``offset`` or one after it, of what this leader has."""
        found = await self._batches_from(offset, LEAST_BYTES)
        return found[0] if found else None

    async def _batches_from(self, offset: int, size: int) -> Sequence[BatchHeader]:
        code, found = await headers_from(
            self.connection, self.topic, self.topic_id, self.partition, offset, epoch=self.leader_epoch, size=size
        )
        if code == _OUT_OF_RANGE:
            raise OwnershipEnded(self.lane, Ending.UNSETTLED, code, f"target offset {offset:,} went meanwhile")
        self.check(code)
        return found

    async def _read_tail(self, below: int) -> effects.TailBatch | None:
        """The last batch that begins below ``below``; compaction may have left a gap there, so look further back."""
        first = await partitions.list_offset(
            self.connection, self.topic, self.partition, partitions.EARLIEST, epoch=self.leader_epoch
        )
        self.check(first.code)
        found = await self._walk.read(first.offset, below)
        await self.confirm()
        return None if found is None else tail_batch(found)
