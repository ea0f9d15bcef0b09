"""A snapshot of a link's groups on both clusters, read in the order that makes an exact answer possible.

The source's commits are read before the maps, the maps before the ends of the logs: what a map translates is in the
log, and a commit after a map's end has not been copied yet, as of that snapshot.  Where the groups must be still, the
source's commits are read once more, ``SETTLE_S`` after the first time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from anabranch.errors import AnabranchError
from anabranch.groups.snapshot import Commits, GroupsSnapshot, PartitionMapping, UnavailableMapping
from anabranch.kafka import admin
from anabranch.kafka import groups as kafka_groups
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log_ends import log_ends
from anabranch.model import filters
from anabranch.model.groups import Group, GroupState
from anabranch.model.link import LinkSpec
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import OffsetMap

SETTLE_S = 2.0
_PENDING_S = 1.0
_METADATA_LIMIT = "offset.metadata.max.bytes"


class LaneMapView(Protocol):
    """An exact map of one lane."""

    @property
    def target(self) -> TopicPartition:
        """The partition that the lane fills."""

    @property
    def ranges(self) -> OffsetMap:
        """The map."""


class LinkMapsView(Protocol):
    """The exact maps of a link's lanes (``anabranch.state.maps.reading.LinkMaps``)."""

    @property
    def spec(self) -> LinkSpec:
        """What the link is to do."""

    @property
    def maps(self) -> Mapping[TopicPartition, LaneMapView]:
        """The lanes that have begun, by source partition."""

    @property
    def doubts(self) -> Mapping[TopicPartition, AnabranchError]:
        """The lanes of which no exact map is available now, and why."""


#: ``anabranch.state.maps.reading.read_maps``: the maps of a link's lanes that copy these source partitions.
ReadMaps = Callable[[Cluster, str, Collection[TopicPartition]], Awaitable[LinkMapsView]]


async def list_kinds(cluster: Cluster) -> dict[str, Group]:
    """Every group that we may see with its kind and its state, without members and commits."""
    return {group.name: Group(group.name, group.kind, group.state) for group in await kafka_groups.list_groups(cluster)}


async def read_commits(
    cluster: Cluster, names: Iterable[str], timeout: float = _PENDING_S
) -> tuple[dict[str, Commits], dict[str, tuple[TopicPartition, ...]]]:
    """(commits by group, partitions with commits in open transactions by group); those groups have no commits here."""
    try:
        return dict(await kafka_groups.committed(cluster, names, timeout=timeout)), {}
    except kafka_groups.UnstableCommitsError as error:
        return {name: dict(commits) for name, commits in error.read.items()}, dict(error.pending)


async def take_snapshot(
    source: Cluster,
    target: Cluster,
    link: str,
    names: Iterable[str],
    kinds: Mapping[str, Group],
    read_maps: ReadMaps,
    *,
    still: bool,
    metadata_limit: int | None,
    settle_s: float | None = None,
) -> GroupsSnapshot:
    """The named groups now; ``kinds`` are the source's as listed, ``settle_s`` by default ``SETTLE_S``.

    Raises ClusterError.
    """
    wanted = sorted(set(names))
    begun = time.monotonic()
    first, pending = await read_commits(source, wanted, _PENDING_S if still else 0.0)
    at = {partition for commits in first.values() for partition in commits}
    maps, target_groups = await asyncio.gather(read_maps(target, link, at), _target_groups(target, wanted))
    mappings = await mappings_of(maps, source, target, at)
    later: dict[str, Commits] | None = None
    states: Mapping[str, Group] = kinds
    if still:
        settle_s = SETTLE_S if settle_s is None else settle_s
        await asyncio.sleep(max(0.0, begun + settle_s - time.monotonic()))
        (later, more), states = await asyncio.gather(
            read_commits(source, wanted), kafka_groups.describe(source, wanted)
        )
        pending |= more
    source_groups = {
        name: replace(kinds[name], state=states[name].state, members=states[name].members, commits=first.get(name, {}))
        for name in wanted
    }
    return GroupsSnapshot(link, mappings, source_groups, target_groups, later, pending, metadata_limit)


async def mappings_of(
    maps: LinkMapsView, source: Cluster, target: Cluster, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, PartitionMapping | UnavailableMapping]:
    """Where some source partitions went; those that are not in the link are absent."""
    link = maps.spec.id
    chosen = filters.load(maps.spec.filter)
    mappings: dict[TopicPartition, PartitionMapping | UnavailableMapping] = {}
    lanes: dict[TopicPartition, LaneMapView] = {}
    for at in partitions:
        if at in maps.doubts:
            mappings[at] = UnavailableMapping(maps.doubts[at].message, maps.doubts[at].hint)
        elif at in maps.maps:
            lanes[at] = maps.maps[at]
        elif filters.select(chosen, [at.topic]):
            mappings[at] = UnavailableMapping("the link has not begun to copy it", f"anabranch link show {link}")
    source_logs, target_logs = await asyncio.gather(
        log_ends(source, list(lanes)), log_ends(target, [lane.target for lane in lanes.values()])
    )
    for at, lane in lanes.items():
        missing = "source" if at not in source_logs else "target" if lane.target not in target_logs else ""
        if missing:
            where = at if missing == "source" else lane.target
            mappings[at] = UnavailableMapping(
                f"{where} cannot be read on the {missing} now", f"anabranch link show {link}"
            )
        else:
            ends = target_logs[lane.target]
            mappings[at] = PartitionMapping(lane.target, lane.ranges, source_logs[at].start, ends.start, ends.end)
    return mappings


async def _target_groups(target: Cluster, names: list[str]) -> dict[str, Group]:
    """The groups as they stand on the target; absent ones are left out.

    States are read before commits: a group that was empty then and has moved since was moved by someone else, and the
    broker itself refuses a commit to one that has members by then.
    """
    described = await kafka_groups.describe(target, names)
    known = [name for name in names if described[name].state is not GroupState.DEAD]
    commits, pending = await read_commits(target, known)
    groups = {}
    for name in known:
        group = described[name]
        # A transaction that will commit for the group is someone who reads in it.
        state = GroupState.UNKNOWN if name in pending else group.state
        groups[name] = replace(group, state=state, commits=commits.get(name, {}))
    return groups


async def metadata_limit(cluster: Cluster) -> int | None:
    """How many characters of metadata the brokers take with a commit; None where they do not tell us."""
    nodes = list((await cluster.metadata([])).brokers)
    try:
        limits = [(await admin.broker_configs(cluster, node)).get(_METADATA_LIMIT) for node in nodes]
    except AnabranchError:
        return None  # without DESCRIBE_CONFIGS; the brokers then say so when something is committed
    values = [int(limit.value) for limit in limits if limit is not None and limit.value is not None]
    return min(values, default=None)
