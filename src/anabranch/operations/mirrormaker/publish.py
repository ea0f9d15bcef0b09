"""A link's exact positions as checkpoints, for the clients of MirrorMaker 2."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups import UnstableCommitsError, committed, list_groups
from anabranch.mirrormaker.names import SEPARATOR, check_names
from anabranch.mirrormaker.wire import MirrorCheckpoint
from anabranch.model.groups import Commit
from anabranch.model.plans import REQUEST, check_holds, plan_hash
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
class PublishPlan:
    """The checkpoints of one link under one alias, as they would be written now.

    ``hash`` covers the link, the names that clients look under and the copied topics, and not the positions: groups
    that are read in move by themselves, and what is published is where they stand then.
    """

    link: str = field(metadata=REQUEST)
    source_alias: str
    separator: str = field(metadata=REQUEST)
    checkpoints: tuple[MirrorCheckpoint, ...]
    left_out: tuple[LeftOut, ...]
    hash: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Published:
    """The checkpoints that are on the target, and the positions that are not."""

    source_alias: str
    checkpoints: tuple[MirrorCheckpoint, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...] = ()


def checkpoints(
    maps: LinkMaps, commits: Mapping[str, Mapping[TopicPartition, Commit]]
) -> Iterator[MirrorCheckpoint | LeftOut]:
    """A checkpoint for each commit on a topic of the link, or why there is none: only exact offsets are published."""
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
            match to_target(lane.ranges, commit.offset):
                case Exact(offset=downstream):
                    yield MirrorCheckpoint(group, lane.target, commit.offset, downstream, commit.metadata)
                case After(end=end):
                    yield LeftOut(group, at, f"offset {commit.offset:,} was not copied yet: the copy is at {end:,}")
                case Before(start=start):
                    yield LeftOut(group, at, f"offset {commit.offset:,} is before the link's start, {start:,}")


async def plan(
    source: Cluster, target: Cluster, link: str, *, source_alias: str | None = None, separator: str = SEPARATOR
) -> PublishPlan:
    """The exact positions of all groups on a link's topics; raises AnabranchError.

    The alias is the link's name for its source, unless given.
    """
    return (await _look(source, target, link, source_alias, separator))[0]


async def apply(source: Cluster, target: Cluster, planned: PublishPlan) -> Published:
    """Write them, and a heartbeat, where MirrorClient looks for them.

    Raises PlanChangedError where the link copies other topics by now.
    """
    now, target_alias = await _look(source, target, planned.link, planned.source_alias, planned.separator)
    check_holds(f"link {planned.link!r}", planned, now, f"anabranch mm2 publish {planned.link}")
    await beat(target, now.source_alias, target_alias, separator=now.separator)
    await publish(target, now.source_alias, now.checkpoints, separator=now.separator)
    return Published(now.source_alias, now.checkpoints, now.left_out, now.notes)


async def _look(
    source: Cluster, target: Cluster, link: str, source_alias: str | None, separator: str
) -> tuple[PublishPlan, str]:
    """The plan, and the target's alias."""
    if source_alias:
        check_names(source_alias, separator)
    maps = await read_maps(target, link)
    notes: list[str] = []
    names = [one.name for one in await list_groups(source)]
    try:
        commits: Mapping[str, Mapping[TopicPartition, Commit]] = await committed(source, names)
    except UnstableCommitsError as error:
        commits = error.read
        notes.append(f"left out: {error.message}")
    alias = source_alias or maps.spec.source.context
    check_names(alias, separator)
    exact, left_out = _parted(checkpoints(maps, commits))
    hash_ = plan_hash(link, alias, separator, dict(maps.topics))
    found = PublishPlan(link, alias, separator, tuple(exact), tuple(left_out), hash_, tuple(notes))
    return found, maps.spec.target.context


def _parted(found: Iterable[MirrorCheckpoint | LeftOut]) -> tuple[list[MirrorCheckpoint], list[LeftOut]]:
    exact: list[MirrorCheckpoint] = []
    left_out: list[LeftOut] = []
    for one in found:
        if isinstance(one, MirrorCheckpoint):
            exact.append(one)
        else:
            left_out.append(one)
    return exact, left_out
