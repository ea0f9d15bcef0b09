"""One round of continuous sync: which inactive target groups move forward, to where, and what blocks the others.

A group that reads at the log's end has always committed a little more than was copied.  Such a commit is not
clipped to the end of the map.  It is kept, and written as soon as the map reaches it; newer commits wait until then.
So the target's committed offset is one that the group really had, at most two rounds old while the link keeps up,
and never one that the target's log does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.groups.refusals import active_refusal, kind_refusal
from anabranch.groups.snapshot import GroupsSnapshot, PartitionMapping
from anabranch.groups.translation import translate_commit, units
from anabranch.model.groups import Commit, Group
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition

WaitingCommits = Mapping[str, Mapping[TopicPartition, Commit]]


class SyncState(StrEnum):
    """The state of a group in continuous sync.

    ``waiting``: for records to be copied.  ``blocked``: for a reason that is named.  ``active``: the group has members
    on the target, which commit for themselves.
    """

    IN_SYNC = "in sync"
    WAITING = "waiting"
    BLOCKED = "blocked"
    ACTIVE = "active"


@dataclass(frozen=True, slots=True)
class GroupSyncPlan:
    """One group in a round: the commits to be written on the target, and its state once they are."""

    group: str
    state: SyncState
    writes: Mapping[TopicPartition, Commit] = field(hash=False)
    why: str = ""


@dataclass(frozen=True, slots=True)
class RoundPlan:
    """What a round writes, and the commits that wait for the next one."""

    groups: tuple[GroupSyncPlan, ...]
    waiting: WaitingCommits = field(hash=False)


def plan_round(snapshot: GroupsSnapshot, names: Iterable[str], waiting: WaitingCommits) -> RoundPlan:
    """Plan a round for the named groups, given the commits that an earlier round could not translate yet."""
    planned = []
    still: dict[str, Mapping[TopicPartition, Commit]] = {}
    for name in sorted(set(names)):
        group, left = _plan_group(snapshot, snapshot.source[name], waiting.get(name, {}))
        planned.append(group)
        if left:
            still[name] = left
    return RoundPlan(tuple(planned), still)


def _plan_group(
    snapshot: GroupsSnapshot, group: Group, waiting: Mapping[TopicPartition, Commit]
) -> tuple[GroupSyncPlan, Mapping[TopicPartition, Commit]]:
    there = snapshot.target.get(group.name)
    kind = kind_refusal(group, "source") or (kind_refusal(there, "target") if there is not None else None)
    if kind is not None:
        return GroupSyncPlan(group.name, SyncState.BLOCKED, {}, kind.what), {}
    active = active_refusal(there)
    if active is not None:
        return GroupSyncPlan(group.name, SyncState.ACTIVE, {}, active.what), {}
    if group.name in snapshot.pending:
        first = min(snapshot.pending[group.name])
        return GroupSyncPlan(group.name, SyncState.WAITING, {}, f"{first} is committed in an open transaction"), waiting
    writes: dict[TopicPartition, Commit] = {}
    left: dict[TopicPartition, Commit] = {}
    blocked: list[Reason] = []
    for partition in sorted(group.commits):
        mapping, commit = snapshot.mappings.get(partition), group.commits[partition]
        if not isinstance(mapping, PartitionMapping):
            if mapping is not None:
                blocked.append(Reason(ReasonKind.UNAVAILABLE, f"{partition}: {mapping.reason}", mapping.fix))
            continue
        found = translate_commit(mapping, commit, snapshot.link)
        if isinstance(found, Reason) and found.why is ReasonKind.NOT_COPIED:
            older = waiting.get(partition)
            left[partition] = commit if older is None or older.offset >= commit.offset else older
            found, commit = translate_commit(mapping, left[partition], snapshot.link), left[partition]
            if isinstance(found, int):
                left[partition] = group.commits[partition]
        if isinstance(found, Reason):
            if found.why is not ReasonKind.NOT_COPIED:
                blocked.append(Reason(found.why, f"{partition}: {found.what}", found.fix))
            continue
        if snapshot.metadata_limit is not None and units(commit.metadata) > snapshot.metadata_limit:
            blocked.append(
                Reason(ReasonKind.METADATA, f"{partition}: {units(commit.metadata):,} characters of metadata")
            )
            continue
        current = None if there is None else there.commits.get(mapping.target)
        if current is not None and found < current.offset:
            if partition not in left:
                blocked.append(
                    Reason(ReasonKind.BACKWARDS, f"{partition}: {found:,} is before {current.offset:,} on the target")
                )
            continue
        if current is None or (current.offset, current.metadata) != (found, commit.metadata):
            writes[mapping.target] = Commit(found, commit.metadata)
    if blocked:
        more = f", and {len(blocked) - 1:,} more" if len(blocked) > 1 else ""
        return GroupSyncPlan(group.name, SyncState.BLOCKED, writes, blocked[0].what + more), left
    if left:
        some = f"{min(left)} and {len(left) - 1:,} more" if len(left) > 1 else f"{min(left)}"
        return GroupSyncPlan(group.name, SyncState.WAITING, writes, f"not copied yet: {some}"), left
    return GroupSyncPlan(group.name, SyncState.IN_SYNC, writes), left
