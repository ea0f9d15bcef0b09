"""The plan that moves groups: per group and partition the committed offset now and then, and every refusal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.groups.refusals import active_refusal, kind_refusal
from anabranch.groups.select import EVERY, GroupSelection
from anabranch.groups.snapshot import Commits, GroupsSnapshot, UnavailableMapping
from anabranch.groups.translation import translate_commit, units
from anabranch.model.groups import Commit, Group, GroupKind, GroupState
from anabranch.model.plans import REQUEST, plan_hash
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition


class GroupStep(StrEnum):
    """What the plan does with a group, or what became of that."""

    MOVE = "move"
    IN_SYNC = "in sync"
    REFUSED = "refused"
    MOVED = "moved"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Move:
    """One partition of one group.

    ``commit`` is the source's, ``answer`` its offset on the target, ``current`` what the group has committed there now,
    ``lag`` the records left to read on the target after the move.
    """

    source: TopicPartition
    commit: Commit
    target: TopicPartition | None
    answer: int | None
    current: Commit | None
    lag: int | None
    refusals: tuple[Reason, ...] = ()

    @property
    def wanted(self) -> Commit | None:
        """What is to be committed on the target: metadata is kept, the source's leader epoch means nothing there."""
        return None if self.answer is None else Commit(self.answer, self.commit.metadata)

    @property
    def in_sync(self) -> bool:
        """Whether the target has it already."""
        wanted = self.wanted
        now = self.current
        return wanted is not None and now is not None and (now.offset, now.metadata) == (wanted.offset, wanted.metadata)


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """What is to be done with one group: all of it or nothing.

    ``refusals`` are those of the whole group; those of its partitions are with them.  ``failure`` says what went
    wrong if the step is FAILED; the group then has its former commits.
    """

    group: str
    kind: GroupKind
    state: GroupState
    target_state: GroupState
    moves: tuple[Move, ...]
    refusals: tuple[Reason, ...]
    step: GroupStep
    failure: str = ""

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Every reason against it."""
        return (*self.refusals, *(refusal for move in self.moves for refusal in move.refusals))

    @property
    def is_blocked(self) -> bool:
        """Whether something is in its way; a group that has committed nothing is where it belongs."""
        return self.step is GroupStep.REFUSED and {reason.why for reason in self.reasons} != {ReasonKind.NO_COMMITS}

    @property
    def writes(self) -> dict[TopicPartition, Commit]:
        """What one OffsetCommit writes on the target; empty unless the group is to be moved."""
        if self.step is not GroupStep.MOVE:
            return {}
        return {
            move.target: move.wanted
            for move in self.moves
            if move.target is not None and move.wanted is not None and not move.in_sync
        }

    @property
    def former(self) -> dict[TopicPartition, Commit | None]:
        """What is committed now where it writes."""
        written = self.writes
        return {move.target: move.current for move in self.moves if move.target is not None and move.target in written}


@dataclass(frozen=True, slots=True)
class GroupsPlan:
    """A plan for the selected groups of a link.

    ``hash`` covers which groups are moved, with their commits, states and target offsets, and which are refused.  It
    does not cover what changes all the time: the ends of the logs, and commits of refused groups, so that one group
    that is still active does not invalidate the plan of the others.  ``selection`` is what was asked for; ``apply``
    plans it again.
    """

    link: str
    groups: tuple[GroupPlan, ...]
    hash: str
    selection: GroupSelection = field(default=EVERY, metadata=REQUEST)
    took_ms: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict, hash=False)

    def of(self, step: GroupStep) -> tuple[GroupPlan, ...]:
        """The groups that are at a step."""
        return tuple(group for group in self.groups if group.step is step)

    @property
    def ok(self) -> bool:
        """Whether no group is refused."""
        return not self.of(GroupStep.REFUSED)


@dataclass(frozen=True, slots=True)
class GroupsMoved:
    """What became of a plan: its groups are MOVED, IN_STEP, REFUSED or FAILED; ``undo`` names the undo record."""

    link: str
    groups: tuple[GroupPlan, ...]
    hash: str
    undo: str = ""
    took_ms: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict, hash=False)

    def of(self, step: GroupStep) -> tuple[GroupPlan, ...]:
        """The groups that are at a step."""
        return tuple(group for group in self.groups if group.step is step)

    @property
    def ok(self) -> bool:
        """Whether no group was refused or failed."""
        return not (self.of(GroupStep.REFUSED) or self.of(GroupStep.FAILED))


def plan(snapshot: GroupsSnapshot, names: Iterable[str], topics: frozenset[str] | None = None) -> GroupsPlan:
    """Plan each named group; with ``topics`` commits of other source topics are left out, and counted by group."""
    groups = []
    left_out: dict[str, int] = {}
    for name in sorted(set(names)):
        group = snapshot.source[name]
        kept = {
            partition: commit
            for partition, commit in group.commits.items()
            if topics is None or partition.topic in topics
        }
        if len(kept) != len(group.commits):
            left_out[name] = len(group.commits) - len(kept)
        groups.append(_group(snapshot, group, kept))
    done = tuple(groups)
    return GroupsPlan(
        snapshot.link, done, plan_hash(snapshot.link, [_seen(group) for group in done]), left_out=left_out
    )


def _seen(group: GroupPlan) -> list[object]:
    if group.step is GroupStep.REFUSED:
        return [group.group, group.step]
    return [
        group.group,
        group.kind,
        group.state,
        group.target_state,
        [
            [str(move.source), _pair(move.commit), str(move.target), move.answer, _pair(move.current)]
            for move in group.moves
        ],
    ]


def _pair(commit: Commit | None) -> list[object] | None:
    return None if commit is None else [commit.offset, commit.metadata]


def _group(snapshot: GroupsSnapshot, group: Group, commits: Commits) -> GroupPlan:
    there = snapshot.target.get(group.name)
    refusals = [
        found
        for found in (
            kind_refusal(group, "source"),
            kind_refusal(there, "target") if there is not None else None,
            active_refusal(there),
            *_moving(snapshot, group),
        )
        if found is not None
    ]
    if not commits and group.kind.is_movable:
        refusals.append(
            Reason(
                ReasonKind.NO_COMMITS,
                f"{group.name} has no commits in the selected topics",
                f"begin it at a position of your choice: anabranch groups create {group.name}",
            )
        )
    moves = tuple(_move(snapshot, partition, commits[partition], there) for partition in sorted(commits))
    if refusals or any(move.refusals for move in moves):
        step = GroupStep.REFUSED
    else:
        step = GroupStep.IN_SYNC if all(move.in_sync for move in moves) else GroupStep.MOVE
    target_state = GroupState.DEAD if there is None else there.state
    return GroupPlan(group.name, group.kind, group.state, target_state, moves, tuple(refusals), step)


def _moving(snapshot: GroupsSnapshot, group: Group) -> list[Reason]:
    """Why a group cannot be moved now: ``groups sync`` is for the cutover, when no consumer runs on the source."""
    if snapshot.later is None:
        return []
    found = []
    fix = (
        "stop its consumers on the source, or have the link sync it continuously: "
        f"anabranch link set {snapshot.link} --sync-groups '{re.escape(group.name)}'"
    )
    if group.state.is_active or group.members:
        number = "1 member" if len(group.members) == 1 else f"{len(group.members):,} members"
        found.append(
            Reason(ReasonKind.MOVING, f"{group.name} is {group.state.value} on the source, with {number}", fix)
        )
    pending = snapshot.pending.get(group.name, ())
    if pending:
        some = ", ".join(map(str, pending[:3]))
        found.append(
            Reason(
                ReasonKind.MOVING,
                f"{group.name} has commits in a transaction that is open on the source: {some}",
                "wait until it ends, or until transaction.timeout.ms ends it",
            )
        )
    after = snapshot.later.get(group.name, {})
    changed = [
        partition
        for partition in {*group.commits, *after}
        if _pair(group.commits.get(partition)) != _pair(after.get(partition))
    ]
    if changed:
        partition = min(changed)
        before, now = group.commits.get(partition), after.get(partition)
        said = [("nothing" if commit is None else str(commit.offset)) for commit in (before, now)]
        found.append(
            Reason(
                ReasonKind.MOVING,
                f"{group.name} committed on the source meanwhile: {partition} from {said[0]} to {said[1]}",
                fix,
            )
        )
    return found


def _move(snapshot: GroupsSnapshot, partition: TopicPartition, commit: Commit, there: Group | None) -> Move:
    mapping = snapshot.mappings.get(partition)
    if mapping is None:
        refusal = Reason(
            ReasonKind.NOT_IN_LINK,
            f"{partition} is not in link {snapshot.link}",
            f"widen the link's filter: anabranch link set {snapshot.link} --include; "
            "or leave the topic out: --topics names those that count",
        )
        return Move(partition, commit, None, None, None, None, (refusal,))
    if isinstance(mapping, UnavailableMapping):
        refusal = Reason(ReasonKind.UNAVAILABLE, f"{partition}: {mapping.reason}", mapping.fix)
        return Move(partition, commit, None, None, None, None, (refusal,))
    current = None if there is None else there.commits.get(mapping.target)
    found = translate_commit(mapping, commit, snapshot.link)
    offset = None if isinstance(found, Reason) else found
    refusals = [Reason(found.why, f"{partition}: {found.what}", found.fix)] if isinstance(found, Reason) else []
    if offset is not None and current is not None and offset < current.offset:
        refusals.append(
            Reason(
                ReasonKind.BACKWARDS,
                f"{partition}: {offset:,} is before {current.offset:,}, which the group has committed on the target: "
                "records would be read twice",
                "if the target's position is wrong, delete it there: kafka-consumer-groups --delete-offsets "
                f"--group {'' if there is None else there.name} --topic {mapping.target.topic}",
            )
        )
    if snapshot.metadata_limit is not None and units(commit.metadata) > snapshot.metadata_limit:
        refusals.append(
            Reason(
                ReasonKind.METADATA,
                f"{partition}: {units(commit.metadata):,} characters of metadata, the target takes "
                f"{snapshot.metadata_limit:,}",
                "raise offset.metadata.max.bytes on the target's brokers",
            )
        )
    lag = None if offset is None else mapping.target_end - offset
    return Move(partition, commit, mapping.target, offset, current, lag, tuple(refusals))
