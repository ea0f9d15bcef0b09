"""A link's exact positions as checkpoints, for the clients of MirrorMaker 2."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from anabranch.kafka.groups import UnstableCommitsError, committed, list_groups
from anabranch.kafka.security import open_cluster
from anabranch.mirrormaker.names import SEPARATOR, check_names
from anabranch.mirrormaker.wire import Checkpoint
from anabranch.model.cluster import ClusterContext
from anabranch.model.groups import Commit
from anabranch.model.topics import TopicPartition
from anabranch.offsets.translate import After, Before, Exact, to_target
from anabranch.state.maps.reading import LaneInDoubtError, LinkMaps, read_maps
from anabranch.state.topics.mirrormaker import beat, publish


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A position that no checkpoint is written for, and why."""

    group: str
    source: TopicPartition
    reason: str


@dataclass(frozen=True, slots=True)
class Published:
    """The checkpoints of one link under one alias; ``written`` says whether they are on the target."""

    source_alias: str
    checkpoints: tuple[Checkpoint, ...]
    left_out: tuple[LeftOut, ...]
    written: bool
    notes: tuple[str, ...] = field(default=())


def checkpoints(
    maps: LinkMaps, commits: Mapping[str, Mapping[TopicPartition, Commit]]
) -> Iterator[Checkpoint | LeftOut]:
    """A checkpoint for each commit on a topic of the link, or why there is none: only exact answers are given."""
    for group, positions in sorted(commits.items()):
        for at, commit in sorted(positions.items()):
            if at.topic not in maps.topics:
                continue
            try:
                lane = maps.of_source(at)
            except LaneInDoubtError as error:
                yield LeftOut(group, at, error.reason)
                continue
            if lane is None:
                yield LeftOut(group, at, "nothing of this partition was copied yet")
                continue
            match to_target(lane.runs, commit.offset):
                case Exact(offset=downstream):
                    yield Checkpoint(group, lane.target, commit.offset, downstream, commit.metadata)
                case After(end=end):
                    yield LeftOut(group, at, f"offset {commit.offset:,} was not copied yet: the copy is at {end:,}")
                case Before(start=start):
                    yield LeftOut(group, at, f"offset {commit.offset:,} is before the link's start, {start:,}")


def publish_link(
    source: ClusterContext,
    target: ClusterContext,
    link: str,
    execute: bool,
    *,
    source_alias: str | None = None,
    separator: str = SEPARATOR,
) -> Published:
    """Write the exact positions of all groups on a link's topics, and a heartbeat, where MirrorClient looks for them.

    The alias is the link's name for its source, unless given.  Raises AnabranchError.
    """

    if source_alias:
        check_names(source_alias, separator)

    async def go() -> Published:
        async with open_cluster(source) as here, open_cluster(target) as there:
            maps = await read_maps(there, link)
            notes: list[str] = []
            names = [one.name for one in await list_groups(here)]
            try:
                commits: Mapping[str, Mapping[TopicPartition, Commit]] = await committed(here, names)
            except UnstableCommitsError as error:
                commits = error.read
                notes.append(f"left out: {error.message}")
            alias = source_alias or maps.spec.source.context
            check_names(alias, separator)
            exact, left_out = _parted(checkpoints(maps, commits))
            if execute:
                await beat(there, alias, maps.spec.target.context, separator=separator)
                await publish(there, alias, exact, separator=separator)
            return Published(alias, tuple(exact), tuple(left_out), execute, tuple(notes))

    return asyncio.run(go())


def _parted(found: Iterable[Checkpoint | LeftOut]) -> tuple[list[Checkpoint], list[LeftOut]]:
    exact: list[Checkpoint] = []
    left_out: list[LeftOut] = []
    for one in found:
        if isinstance(one, Checkpoint):
            exact.append(one)
        else:
            left_out.append(one)
    return exact, left_out
