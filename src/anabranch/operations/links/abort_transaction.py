"""Abort a hanging transaction on a source partition: planned first, aborted when applied (KIP-664)."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from uuid import UUID

from anabranch.errors import AnabranchError, InvalidFieldError, RefusedError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.partitions import LATEST, list_offset, write_marker
from anabranch.kafka.same_cluster import check_cluster
from anabranch.kafka.transactions import coordinated, dated, open_transactions
from anabranch.model.clock import now_ms
from anabranch.model.plans import check_holds, plan_hash
from anabranch.model.topics import TopicPartition
from anabranch.model.transactions import LONGEST_TIMEOUT_MS, AbortPlan, AbortReport, SourceTransaction, choose
from anabranch.operations.links.accept import parse_partition
from anabranch.operations.links.status import stored

_SETTLES_S = 10.0
PURPOSE = "produce"
"""A marker waits for the replicas: not on the connection that questions go over."""


@dataclass(eq=False)
class NoOpenTransactionError(RefusedError):
    """No transaction is open on the partition, or none of the producer that was named."""

    source: TopicPartition
    producer_id: int | None

    @property
    def message(self) -> str:
        whose = "" if self.producer_id is None else f" of producer id {self.producer_id}"
        return f"no transaction{whose} is open on source partition {self.source}"

    @property
    def hint(self) -> str:
        return f"kafka-transactions describe-producers --topic {self.source.topic} --partition {self.source.partition}"


@dataclass(eq=False)
class TransactionNotHangingError(RefusedError):
    """Every open transaction may still be ended by who began it."""

    link: str
    source: TopicPartition
    kept: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"no transaction on source partition {self.source} hangs: " + "; ".join(self.kept)

    _hint = (
        "wait, or end it all the same by its id, which loses what its producer would still have committed: "
        "anabranch link abort-transaction {link} {source} --producer-id N --execute"
    )


@dataclass(frozen=True, slots=True)
class _Partition:
    """A source partition at its leader."""

    cluster: Cluster
    at: TopicPartition
    connection: Connection
    leader: int
    epoch: int
    topic_id: UUID

    @classmethod
    async def of(cls, source: Cluster, target: Cluster, link_id: str, at: TopicPartition) -> _Partition:
        _, record = await stored(target, link_id)
        check_cluster(source.name, record.wanted.spec.source.cluster_id, await source.metadata([]))
        meta, part = await source.partition(at.topic, at.partition)
        return cls(source, at, await source.connection(part.leader), part.leader, part.leader_epoch, meta.id)

    async def plan(self, link_id: str, producer_id: int | None) -> AbortPlan:
        """The open transactions, and which of them may be ended."""
        code, found = await open_transactions(self.connection, self.at.topic, self.at.partition)
        self.cluster.check(code, "DescribeProducers", f"partition {self.at}")
        # A follower answers DescribeProducers too: only a leader tells its end for this epoch.
        stable, high = await _ends(self.cluster, self.connection, self.at, self.epoch)
        if not found or (producer_id is not None and all(one.producer_id != producer_id for one in found)):
            raise NoOpenTransactionError(self.at, producer_id)
        transactions = tuple(
            [
                await _known(
                    self.cluster, await dated(self.connection, self.at.topic, self.topic_id, self.at.partition, one)
                )
                for one in found
            ]
        )
        at_ms = now_ms()
        longest = await _longest_timeout(self.cluster, self.leader)
        chosen, kept = choose(transactions, self.at, producer_id, at_ms, longest)
        rests_on = [
            [one.open.producer_id, one.open.producer_epoch, one.open.start_offset]
            for one in transactions
            if one.open.producer_id == chosen
        ]
        return AbortPlan(
            link_id,
            self.at,
            stable,
            high,
            transactions,
            chosen,
            kept,
            at_ms,
            plan_hash(link_id, str(self.at), str(self.topic_id), rests_on),
            producer_id,
        )


async def plan(source: Cluster, target: Cluster, link_id: str, where: str, producer_id: int | None = None) -> AbortPlan:
    """Name the open transactions of a source partition, and the one that would be ended: it hangs, or is named.

    Raises NoOpenTransactionError, UnknownLinkError, InvalidFieldError.
    """
    topic, partition = parse_partition(where)
    if topic is None or partition is None:
        raise InvalidFieldError(
            "link abort-transaction", "partition", f"{where!r} names no partition", "for example orders-3"
        )
    found = await _Partition.of(source, target, link_id, TopicPartition(topic, partition))
    return await found.plan(link_id, producer_id)


async def apply(source: Cluster, target: Cluster, planned: AbortPlan) -> AbortReport:
    """End the transaction that was planned to be ended.

    The marker carries the producer's own epoch and its coordinator's, as the partition knows them, so that a
    producer that has gone on meanwhile is refused nothing.  Raises PlanChangedError, TransactionNotHangingError where
    none is to be ended, and what ``plan`` raises.
    """
    found = await _Partition.of(source, target, planned.link, planned.source)
    now = await found.plan(planned.link, planned.producer_id)
    check_holds(f"partition {now.source}", planned, now, f"anabranch link abort-transaction {now.link} {now.source}")
    if now.abort is None:
        raise TransactionNotHangingError(now.link, now.source, now.kept)
    ended = next(one for one in now.transactions if one.open.producer_id == now.abort)
    await _mark(source, found.leader, now.source, ended)
    holds = now.abort == now.transactions[0].open.producer_id
    stable, high = await _settled(source, found.connection, now.source, found.epoch, now.stable if holds else -1)
    return AbortReport(now, stable, high)


async def _known(cluster: Cluster, transaction: SourceTransaction) -> SourceTransaction:
    try:
        return replace(transaction, known=await coordinated(cluster, transaction.open.producer_id))
    except AnabranchError as error:  # an old broker, no permission, one that is away: said, and counted as not hanging
        return replace(transaction, unavailable=error.message)


async def _longest_timeout(cluster: Cluster, node: int) -> int:
    try:
        entry = (await admin.broker_configs(cluster, node)).get("transaction.max.timeout.ms")
    except AnabranchError:
        return LONGEST_TIMEOUT_MS
    return int(entry.value) if entry is not None and entry.value else LONGEST_TIMEOUT_MS


async def _mark(cluster: Cluster, leader: int, source: TopicPartition, transaction: SourceTransaction) -> None:
    opened = transaction.open
    code = await write_marker(
        await cluster.connection(leader, PURPOSE),
        source.topic,
        source.partition,
        opened.producer_id,
        epoch=opened.producer_epoch,
        coordinator_epoch=max(0, opened.coordinator_epoch),
    )
    cluster.check(code, "Alter", "cluster" if code == 31 else f"partition {source}")


async def _ends(cluster: Cluster, connection: Connection, source: TopicPartition, epoch: int) -> tuple[int, int]:
    """(last stable offset, high watermark)."""
    ends = []
    for isolation in (1, 0):
        answer = await list_offset(connection, source.topic, source.partition, LATEST, epoch=epoch, isolation=isolation)
        cluster.check(answer.code, "Describe", f"partition {source}")
        ends.append(answer.offset)
    return ends[0], ends[1]


async def _settled(
    cluster: Cluster, connection: Connection, source: TopicPartition, epoch: int, before: int
) -> tuple[int, int]:
    """Both ends once the stable offset is past ``before``; as they are after some seconds where it stays."""
    deadline = time.monotonic() + _SETTLES_S
    while True:
        ends = await _ends(cluster, connection, source, epoch)
        if ends[0] > before or time.monotonic() > deadline:
            return ends
        await asyncio.sleep(0.05)
