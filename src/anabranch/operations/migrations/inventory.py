"""Look at all that a cluster holds, for a migration: topics, their batches, groups, who writes.

Nothing is changed and no record is decoded.  What may not be asked is a reason in the inventory; the rest is there.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from anabranch.errors import AnabranchError
from anabranch.kafka import admin, log_dirs
from anabranch.kafka import groups as kafka_groups
from anabranch.kafka.cluster import Cluster, ClusterMetadata
from anabranch.kafka.controller_clock import clock_skew
from anabranch.kafka.ends import ends
from anabranch.kafka.errors import code_name
from anabranch.kafka.headers import headers_from
from anabranch.kafka.probe import ClusterRole, facts
from anabranch.kafka.transactions import transactional_ids
from anabranch.kafka.writers import active_producers
from anabranch.migration.inventory import (
    RETENTION,
    BatchSample,
    GroupInventory,
    Inventory,
    TopicInventory,
    WriterInventory,
    limit_of,
)
from anabranch.migration.sample import sampled
from anabranch.model.clock import now_ms
from anabranch.model.filters import INTERNAL
from anabranch.model.groups import Group
from anabranch.model.reasons import Reason, Severity
from anabranch.model.skew import ClockSkew
from anabranch.model.topics import TopicPartition

T = TypeVar("T")
Ends = Mapping[TopicPartition, tuple[int, int]]
_SAMPLED_PARTITIONS = 4
_SAMPLE_BYTES = 64 * 1024
_AT_ONCE = 16


@dataclass(slots=True)
class _Notes:
    """What could not be found out."""

    reasons: list[Reason] = field(default_factory=list)

    async def of(self, what: str, question: Awaitable[T], otherwise: T) -> T:
        """The answer, or what stands for it, and then a reason."""
        try:
            return await question
        except AnabranchError as error:
            self.reasons.append(Reason.found(Severity.WARNING, f"{what} not known: {error.message}", error.hint))
            return otherwise


async def take_inventory(cluster: Cluster, *, watch_s: float, is_copied_to: bool = False) -> Inventory:
    """What the cluster holds now; its logs are watched for ``watch_s`` seconds, to learn how fast they grow.

    ``is_copied_to``: its brokers are asked how much more there fits.

    Raises ClusterError where not even its topics or the ends of its logs can be read.
    """
    seen_ms, notes = now_ms(), _Notes()
    metadata = await cluster.metadata(None)
    probed = await facts(cluster, ClusterRole.SOURCE, ())
    names = []
    for name, topic in sorted(metadata.topics.items()):
        if topic.error:
            what = f"topic {name} is not known: {code_name(topic.error)}"
            notes.reasons.append(Reason.found(Severity.WARNING, what, "look again in a moment"))
        elif not INTERNAL.fullmatch(name):
            names.append(name)
    partitions = [TopicPartition(name, index) for name in names for index in metadata.topics[name].partitions]
    first, began = await ends(cluster, partitions), time.monotonic()
    configs = await notes.of("configs of topics are", admin.topic_configs(cluster, names), {})
    sizes = await notes.of("sizes on disk are", log_dirs.partition_sizes(cluster), None)
    samples = await _samples(cluster, metadata, names, first, notes)
    found_groups = await notes.of("groups are", _groups(cluster, first), {})
    writers = await notes.of("who writes is", _writers(cluster, metadata, partitions, notes), None)
    clock = await _clock(cluster, notes)
    free = await _free(cluster, notes) if is_copied_to else None
    per_second = await _growth(cluster, partitions, first, began, watch_s)
    topics: dict[str, TopicInventory] = {}
    for name in names:
        mine = [TopicPartition(name, index) for index in metadata.topics[name].partitions]
        topics[name] = TopicInventory(
            name,
            len(mine),
            max((len(part.replicas) for part in metadata.topics[name].partitions.values()), default=0),
            sum(first[one][1] - first[one][0] for one in mine),
            None if sizes is None else sum(sizes.get(one, 0) for one in mine),
            None if per_second is None else sum(per_second[one] for one in mine),
            {key: config.value for key, config in configs.get(name, {}).items() if config.own and config.value},
            samples[name],
            _in_force(configs.get(name, {})),
        )
    return Inventory(
        cluster.name,
        metadata.cluster_id,
        probed.version,
        probed.brokers,
        seen_ms,
        topics,
        found_groups,
        writers,
        tuple(notes.reasons),
        clock,
        free,
    )


async def topic_retentions(cluster: Cluster, topics: Collection[str]) -> dict[str, int | None]:
    """For how many ms each topic keeps records, None for ever; raises ClusterError."""
    configs = await admin.topic_configs(cluster, topics) if topics else {}
    return {name: limit_of("retention.ms", _in_force(found)) for name, found in configs.items()}


def _in_force(configs: Mapping[str, admin.Config]) -> dict[str, str]:
    return {key: config.value for key in RETENTION if (config := configs.get(key)) and config.value}


async def _free(cluster: Cluster, notes: _Notes) -> dict[int, int] | None:
    """The bytes that each broker may still write; that one does not tell is a reason."""
    known = len(notes.reasons)
    told = await notes.of("the space on disks is", log_dirs.free_space(cluster), {})
    found = {node: space.usable for node, space in told.items() if space is not None}
    if len(found) == len(told) and len(notes.reasons) == known:
        return found
    if len(notes.reasons) == known:
        what = f"the space on disks of {cluster.name} is not known: brokers tell it from 3.3 on"
        notes.reasons.append(Reason.found(Severity.INFO, what))
    return None


async def _clock(cluster: Cluster, notes: _Notes) -> ClockSkew | None:
    """How far the clock here is ahead of the cluster's; that it is not told is a reason."""
    known = len(notes.reasons)
    found = await notes.of("the clock of its controller is", clock_skew(cluster), None)
    if found is None and len(notes.reasons) == known:
        what = f"the clock of {cluster.name} is not known: brokers tell it from 3.3 on, without ZooKeeper"
        notes.reasons.append(Reason.found(Severity.INFO, what))
    return found


async def _growth(
    cluster: Cluster, partitions: Collection[TopicPartition], first: Ends, began: float, watch_s: float
) -> dict[TopicPartition, float] | None:
    """By how many offsets a second each log has grown; None where it is not to be watched."""
    if not watch_s:
        return None
    await asyncio.sleep(max(0.0, began + watch_s - time.monotonic()))
    last, passed = await ends(cluster, partitions), time.monotonic() - began
    return {one: max(0, last[one][1] - first[one][1]) / passed for one in partitions}


async def _samples(
    cluster: Cluster, metadata: ClusterMetadata, names: Iterable[str], log_ends: Ends, notes: _Notes
) -> dict[str, BatchSample]:
    """Batches at the beginning and the end of some partitions of each topic."""
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def of(name: str) -> BatchSample:
        holding = [index for index in sorted(metadata.topics[name].partitions) if _holds(log_ends, name, index)]
        sample = BatchSample()
        for index in holding[:_SAMPLED_PARTITIONS]:
            async with at_once:
                partition = TopicPartition(name, index)
                question = _sample(cluster, partition, log_ends)
                sample += await notes.of(f"batches of {partition} are", question, BatchSample())
        return sample

    wanted = list(names)
    return dict(zip(wanted, await asyncio.gather(*(of(name) for name in wanted)), strict=True))


def _holds(log_ends: Ends, name: str, index: int) -> bool:
    first, end = log_ends[TopicPartition(name, index)]
    return end > first


async def _sample(cluster: Cluster, partition: TopicPartition, log_ends: Ends) -> BatchSample:
    first, end = log_ends[partition]
    meta, part = await cluster.partition(partition.topic, partition.partition)
    connection = await cluster.connection(part.leader, "scan")
    sample, upto = BatchSample(), -1
    for offset in (first, end - 1):
        code, headers = await headers_from(
            connection, partition.topic, meta.id, partition.partition, offset, size=_SAMPLE_BYTES
        )
        cluster.check(code, "Read", f"partition {partition}")
        further = [header for header in headers if header.base_offset > upto]  # of a short log both answers are one
        sample += sampled(further)
        upto = further[-1].base_offset if further else upto
    return sample


async def _groups(cluster: Cluster, log_ends: Ends) -> dict[str, GroupInventory]:
    listed = {one.name: one for one in await kafka_groups.list_groups(cluster)}
    described = await kafka_groups.describe(cluster, [name for name in listed if name])
    commits = await kafka_groups.committed(cluster, [name for name, one in listed.items() if name], timeout=0.0)
    found: dict[str, GroupInventory] = {}
    for name, group in described.items():
        seen = replace(group, kind=listed[name].kind, state=listed[name].state, commits=commits.get(name, {}))
        found[name] = _group(seen, log_ends)
    return found


def _group(group: Group, log_ends: Ends) -> GroupInventory:
    topics = tuple(sorted({partition.topic for partition in group.commits}))
    behind = [
        max(0, log_ends[partition][1] - commit.offset)
        for partition, commit in group.commits.items()
        if partition in log_ends
    ]
    return GroupInventory(
        group.name, group.kind, group.state, group.members, topics, sum(behind) if group.commits else None
    )


async def _writers(
    cluster: Cluster, metadata: ClusterMetadata, partitions: Collection[TopicPartition], notes: _Notes
) -> tuple[WriterInventory, ...]:
    entries = await active_producers(cluster, metadata, partitions)
    ids = await notes.of("transactional ids are", transactional_ids(cluster), {})
    topics: dict[int, set[str]] = defaultdict(set)
    newest: dict[int, int] = defaultdict(int)
    is_open: dict[int, list[TopicPartition]] = defaultdict(list)
    for partition, mine in sorted(entries.items()):
        for entry in mine:
            topics[entry.producer_id].add(partition.topic)
            newest[entry.producer_id] = max(newest[entry.producer_id], entry.last_timestamp)
            if entry.transaction_start >= 0:
                is_open[entry.producer_id].append(partition)
    return tuple(
        WriterInventory(
            producer_id, ids.get(producer_id, ""), tuple(sorted(mine)), newest[producer_id], tuple(is_open[producer_id])
        )
        for producer_id, mine in sorted(topics.items())
    )
