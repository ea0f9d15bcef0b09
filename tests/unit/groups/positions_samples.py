"""Small worlds that tests of plans begin with."""

from __future__ import annotations

from anabranch.groups.snapshot import GroupsSnapshot, PartitionMapping
from anabranch.model.groups import Commit, Group, GroupKind, GroupState
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap

A = TopicPartition("orders", 0)
B = TopicPartition("orders", 1)
TO_A = TopicPartition("old.orders", 0)
TO_B = TopicPartition("old.orders", 1)
MAP = OffsetMap.of([MappedRange(10, 0, 10), MappedRange(25, 10, 5)], 10, 0).advance(32, 15)


def mapping(
    target: TopicPartition = TO_A, *, source_start: int = 0, target_start: int = 0, end: int = 15
) -> PartitionMapping:
    """The map above: source 10 to 19 and 25 to 29 are target 0 to 14; 30 and 31 are gaps."""
    return PartitionMapping(target, MAP, source_start, target_start, end)


def group(
    commits: dict[TopicPartition, Commit],
    name: str = "g",
    state: GroupState = GroupState.EMPTY,
    kind: GroupKind = GroupKind.CLASSIC,
) -> Group:
    """A group that nobody reads in."""
    return Group(name, kind, state, (), commits)


def snapshot(source: Group, target: Group | None = None, **fields: object) -> GroupsSnapshot:
    """One group at both ends of a link with one lane."""
    there = {} if target is None else {target.name: target}
    chosen = {"mappings": {A: mapping()}, "later": {source.name: source.commits}, **fields}
    return GroupsSnapshot("old-new", chosen.pop("mappings"), {source.name: source}, there, **chosen)  # type: ignore[arg-type]
