"""Ending a transaction that hangs on a source partition: named first, ended when told (KIP-664)."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace

from anabranch.errors import AnabranchError, InvalidFieldError, RefusedError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.partitions import LATEST, list_offset, write_marker
from anabranch.kafka.same_cluster import check_cluster
from anabranch.kafka.security import open_cluster
from anabranch.kafka.transactions import coordinated, dated, open_transactions
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.link import LinkSpec
from anabranch.model.topics import TopicPartition
from anabranch.model.transactions import LONGEST_TIMEOUT_MS, AbortPlan, SourceTransaction, choose
from anabranch.operations.links.decisions import parse_place
from anabranch.operations.links.links import show

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

    @property
    def hint(self) -> str:
        return (
            "wait, or end it all the same by its id, which loses what its producer would still have committed: "
            f"anabranch link abort-transaction {self.link} {self.source} --producer-id N --execute"
        )


def abort_transaction(
    source: ClusterContext,
    target: ClusterContext,
    link_id: str,
    where: str,
    producer_id: int | None,
    execute: bool,
) -> AbortPlan:
    """Name the open transactions of a source partition; with ``execute`` end the one that hangs, or that is named.

    The marker carries the producer's own epoch and its coordinator's, as the partition knows them, so that a
    producer that has gone on meanwhile is refused nothing.  Raises NoOpenTransactionError, and
    TransactionNotHangingError where none is ended though it was asked for.
    """
    topic, partition = parse_place(where)
    if topic is None or partition is None:
        raise InvalidFieldError(
            "link abort-transaction", "place", f"{where!r} names no partition", "for example orders-3"
        )
    spec = show(target, link_id).spec
    return asyncio.run(_abort(source, spec, TopicPartition(topic, partition), producer_id, execute))


async def _abort(
    context: ClusterContext, spec: LinkSpec, source: TopicPartition, producer_id: int | None, execute: bool
) -> AbortPlan:
    async with open_cluster(context) as cluster:
        check_cluster(context.name, spec.source.cluster_id, await cluster.metadata([]))
        meta, part = await cluster.partition(source.topic, source.partition)
        connection = await cluster.connection(part.leader)
        where = f"partition {source}"
        code, found = await open_transactions(connection, source.topic, source.partition)
        cluster.check(code, "DescribeProducers", where)
        # A follower answers DescribeProducers too: only a leader tells its end for this epoch.
        stable, high = await _ends(cluster, connection, source, part.leader_epoch)
        if not found or (producer_id is not None and all(one.producer_id != producer_id for one in found)):
            raise NoOpenTransactionError(source, producer_id)
        transactions = tuple(
            [
                await _known(cluster, await dated(connection, source.topic, meta.id, source.partition, one))
                for one in found
            ]
        )
        at = now_ms()
        longest = await _longest_timeout(cluster, part.leader)
        chosen, kept = choose(transactions, source, producer_id, at, longest)
        plan = AbortPlan(spec.id, source, stable, high, transactions, chosen, kept, at)
        if not execute:
            return plan
        if chosen is None:
            raise TransactionNotHangingError(spec.id, source, kept)
        await _mark(cluster, part.leader, source, next(one for one in transactions if one.open.producer_id == chosen))
        holds = chosen == transactions[0].open.producer_id
        stable, high = await _settled(cluster, connection, source, part.leader_epoch, stable if holds else -1)
        return replace(plan, stable=stable, high_watermark=high, executed=True)


async def _known(cluster: Cluster, transaction: SourceTransaction) -> SourceTransaction:
    try:
        return replace(transaction, known=await coordinated(cluster, transaction.open.producer_id))
    except AnabranchError as error:  # an old broker, no permission, one that is away: said, and counted as not hanging
        return replace(transaction, untold=error.message)


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
