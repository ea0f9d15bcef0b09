"""The transaction coordinators of a cluster, as one: states of transactional ids, and the markers that they send.

A transaction that is ended is answered before its markers are in the logs; until they are, 51 is answered to whoever
comes next.  Source: ``TransactionCoordinator.scala``, ``TransactionStateManager.scala``, KIP-98, KIP-360.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from struct import Struct
from typing import TYPE_CHECKING

from anabranch.kafka.simulated.partition import NO_LEADER, SimulatedPartition
from anabranch.records.encode import body_of, seal
from anabranch.records.header import CONTROL, TRANSACTIONAL, read_header
from anabranch.records.record import Record, TimestampType

if TYPE_CHECKING:
    from anabranch.kafka.simulated.cluster import SimulatedCluster

INVALID_STATE, INVALID_MAPPING, CONCURRENT, INVALID_TIMEOUT, FENCED = 48, 49, 51, 50, 90
LAST_EPOCH = 32766
BLOCK = 1000
_KEY, _VALUE = Struct(">hh"), Struct(">hi")


class TransactionState(Enum):
    """What a transactional id is doing; the values are the protocol's words."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


_PREPARED = {TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT}


@dataclass(slots=True)
class SimulatedTransaction:
    """One transactional id; times in ms since 1970."""

    id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: set[tuple[str, int]] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    started_ms: int = -1
    changed_ms: int = -1


class TransactionCoordinator:
    """Every transactional id of a cluster, and the producer ids that were given out."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._next = 0
        self.known: dict[str, SimulatedTransaction] = {}

    def new_producer_id(self) -> int:
        """One that nobody was given."""
        self._next += 1
        return self._next - 1

    def begin(self, name: str, timeout_ms: int) -> tuple[int, int, int]:
        """InitProducerId of a transactional id: (code, producer id, epoch); fences everyone before."""
        if not 0 < timeout_ms <= self._cluster.number("transaction.max.timeout.ms"):
            return INVALID_TIMEOUT, -1, -1
        now = self._cluster.timers.wall_ms()
        found = self.known.get(name)
        if found is None:
            self.known[name] = SimulatedTransaction(name, self.new_producer_id(), 0, timeout_ms, changed_ms=now)
            return 0, self.known[name].producer_id, 0
        found.changed_ms = now
        if found.state in _PREPARED:
            return CONCURRENT, -1, -1
        if found.state is TransactionState.ONGOING:
            found.epoch += 1
            self._end(found, commit=False)
            return CONCURRENT, -1, -1
        if found.epoch >= LAST_EPOCH:
            found.producer_id, found.epoch = self.new_producer_id(), 0
        else:
            found.epoch += 1
        found.state, found.timeout_ms = TransactionState.EMPTY, timeout_ms
        return 0, found.producer_id, found.epoch

    def refusal(self, name: str, producer_id: int, epoch: int) -> int:
        """Why whoever names itself so may do nothing; 0 where it may."""
        found = self.known.get(name)
        if found is None or found.producer_id != producer_id:
            return INVALID_MAPPING
        return 0 if found.epoch == epoch else FENCED

    def add(self, name: str, producer_id: int, epoch: int, partitions: set[tuple[str, int]], group: str = "") -> int:
        """Take partitions, or a group, into a transaction, which begins if none is open."""
        code = self.refusal(name, producer_id, epoch)
        if code:
            return code
        found = self.known[name]
        if found.state in _PREPARED:
            return CONCURRENT
        if found.state is not TransactionState.ONGOING:
            found.state, found.started_ms = TransactionState.ONGOING, self._cluster.timers.wall_ms()
            found.partitions, found.groups = set(), set()
        found.changed_ms = self._cluster.timers.wall_ms()
        found.partitions |= partitions
        if group:
            found.groups.add(group)
        return 0

    def end(self, name: str, producer_id: int, epoch: int, *, commit: bool) -> int:
        """End a transaction; asked again, the same end is answered 0 and nothing is written."""
        code = self.refusal(name, producer_id, epoch)
        if code:
            return code
        found = self.known[name]
        if found.state in _PREPARED:
            return CONCURRENT if (found.state is TransactionState.PREPARE_COMMIT) == commit else INVALID_STATE
        if found.state is TransactionState.ONGOING:
            self._end(found, commit=commit)
            return 0
        done = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
        return 0 if found.state is done else INVALID_STATE

    def has(self, name: str, producer_id: int, epoch: int, topic: str, partition: int) -> bool:
        """Whether a partition is in an open transaction (KIP-890's verification)."""
        found = self.known.get(name)
        return (
            found is not None
            and (found.producer_id, found.epoch, found.state) == (producer_id, epoch, TransactionState.ONGOING)
            and (topic, partition) in found.partitions
        )

    def time_out(self) -> None:
        """Abort what is open for too long, and forget ids that nobody has used for a week."""
        now = self._cluster.timers.wall_ms()
        for one in list(self.known.values()):
            if one.state is TransactionState.ONGOING and now - one.started_ms >= one.timeout_ms:
                one.epoch += 1
                self._end(one, commit=False)
            elif one.state not in {
                TransactionState.ONGOING,
                *_PREPARED,
            } and now - one.changed_ms > self._cluster.number("transactional.id.expiration.ms"):
                del self.known[one.id]

    def _end(self, one: SimulatedTransaction, *, commit: bool) -> None:
        one.state = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
        one.changed_ms = self._cluster.timers.wall_ms()
        left = set(one.partitions)
        epoch, producer_id = one.epoch, one.producer_id

        def mark() -> None:
            for topic, index in sorted(left):
                try:
                    partition = self._cluster.partition(topic, index)
                except (KeyError, IndexError):
                    left.discard((topic, index))
                    continue
                node = partition.leader
                if node == NO_LEADER or not self._cluster.brokers[node].is_serving:
                    continue
                append_marker(self._cluster, partition, producer_id, epoch, commit=commit, coordinator_epoch=0)
                left.discard((topic, index))
            if left:
                self._cluster.timers.call_later(0.05, mark)
                return
            for group in sorted(one.groups):
                self._cluster.groups.end_transaction(group, producer_id, commit=commit)
            one.state = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
            one.partitions, one.groups = set(), set()

        self._cluster.timers.call_later(self._cluster.chance.uniform(0.0, 0.004), mark)


def append_marker(
    cluster: SimulatedCluster,
    partition: SimulatedPartition,
    producer_id: int,
    epoch: int,
    *,
    commit: bool,
    coordinator_epoch: int,
) -> int:
    """Append a marker at a partition's leader; returns the offset after it."""
    now = cluster.timers.wall_ms()
    record = Record(0, now, TimestampType.CREATE_TIME, _KEY.pack(0, int(commit)), _VALUE.pack(0, coordinator_epoch))
    batch = seal(
        body_of([record], [0]),
        count=1,
        last_offset_delta=0,
        timestamps=(now, now),
        attributes=CONTROL | TRANSACTIONAL,
        producer=(producer_id, epoch, -1),
    )
    partition.led.log.append(batch, read_header(batch), partition.leader_epoch, now)
    end = partition.led.log.end
    cluster.appended(partition)
    return end
