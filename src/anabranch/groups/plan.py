"""The plan that moves groups: per group and partition what stands, what would stand, and every reason not to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.groups.answer import answer, units
from anabranch.groups.refusals import active_refusal, kind_refusal
from anabranch.groups.select import EVERY, Selection
from anabranch.groups.world import Commits, Untold, World
from anabranch.model.groups import Commit, Group, GroupKind, GroupState
from anabranch.model.plans import REQUEST, plan_hash
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition


class Step(StrEnum):
    """What is to be done, or was done, with a group."""

    MOVE = "move"
    IN_STEP = "in step"
    REFUSED = "refused"
    MOVED = "moved"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Move:
    """One partition of one group.

    ``commit`` is the source's, ``answer`` its offset on the target, ``current`` what the group has committed there
    now, ``lag`` the records left to read on the target after the move.
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
    def in_step(self) -> bool:
        """Whether the target has it already."""
        wanted = self.wanted
        now = self.current
        return wanted is not None and now is not None and (now.offset, now.metadata) == (wanted.offset, wanted.metadata)


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """What is to be done with one group: all of it or nothing.

    ``refusals`` are those of the whole group; those of its partitions are with them.  ``failure`` says what went
    wrong where the step is FAILED; the group then stands where it stood.
    """

    group: str
    kind: GroupKind
    state: GroupState
    target_state: GroupState
    moves: tuple[Move, ...]
    refusals: tuple[Reason, ...]
    step: Step
    failure: str = ""

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Every reason against it."""
        return (*self.refusals, *(refusal for move in self.moves for refusal in move.refusals))

    @property
    def writes(self) -> dict[TopicPartition, Commit]:
        """What one OffsetCommit writes on the target; empty unless the group is to be moved."""
        if self.step is not Step.MOVE:
            return {}
        return {
            move.target: move.wanted
            for move in self.moves
            if move.target is not None and move.wanted is not None and not move.in_step
        }

    @property
    def former(self) -> dict[TopicPartition, Commit | None]:
        """What stands where it writes."""
        written = self.writes
        return {move.target: move.current for move in self.moves if move.target is not None and move.target in written}


@dataclass(frozen=True, slots=True)
class GroupsPlan:
    """A plan for the selected groups of a link.

    ``hash`` covers what it rests on: which groups are moved, with their commits, states and answers, and which are
    refused.  It leaves out what moves while nothing is done with it: the logs' ends, and refused groups' commits, so
    that one group that is still read in does not hold up the others.  ``selection`` is what was asked for, to be
    looked at again.
    """

    link: str
    groups: tuple[GroupPlan, ...]
    hash: str
    selection: Selection = field(default=EVERY, metadata=REQUEST)
    took_ms: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict, hash=False)

    def of(self, step: Step) -> tuple[GroupPlan, ...]:
        """The groups that are at a step."""
        return tuple(group for group in self.groups if group.step is step)

    @property
    def ok(self) -> bool:
        """Whether no group is refused."""
        return not self.of(Step.REFUSED)


@dataclass(frozen=True, slots=True)
class GroupsMoved:
    """What became of a plan: its groups are MOVED, IN_STEP, REFUSED or FAILED; ``undo`` names the undo record."""

    link: str
    groups: tuple[GroupPlan, ...]
    hash: str
    undo: str = ""
    took_ms: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict, hash=False)

    def of(self, step: Step) -> tuple[GroupPlan, ...]:
        """The groups that are at a step."""
        return tuple(group for group in self.groups if group.step is step)

    @property
    def ok(self) -> bool:
        """Whether no group was refused or failed."""
        return not (self.of(Step.REFUSED) or self.of(Step.FAILED))


def plan(world: World, names: Iterable[str], topics: frozenset[str] | None = None) -> GroupsPlan:
    """Plan each named group; with ``topics`` commits of other source topics are left out, and counted by group."""
    groups = []
    left_out: dict[str, int] = {}
    for name in sorted(set(names)):
        group = world.source[name]
        kept = {at: one for at, one in group.commits.items() if topics is None or at.topic in topics}
        if len(kept) != len(group.commits):
            left_out[name] = len(group.commits) - len(kept)
        groups.append(_group(world, group, kept))
    done = tuple(groups)
    return GroupsPlan(world.link, done, plan_hash(world.link, [_seen(group) for group in done]), left_out=left_out)


def _seen(group: GroupPlan) -> list[object]:
    if group.step is Step.REFUSED:
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


def _group(world: World, group: Group, commits: Commits) -> GroupPlan:
    there = world.target.get(group.name)
    refusals = [
        found
        for found in (
            kind_refusal(group, "source"),
            kind_refusal(there, "target") if there is not None else None,
            active_refusal(there),
            *_moving(world, group),
        )
        if found is not None
    ]
    if not commits and group.kind.is_movable:
        refusals.append(
            Reason(
                ReasonKind.NO_COMMITS,
                f"{group.name} has committed nothing that is looked at",
                f"begin it at a position of your choice: anabranch groups create {group.name}",
            )
        )
    moves = tuple(_move(world, at, commits[at], there) for at in sorted(commits))
    if refusals or any(move.refusals for move in moves):
        step = Step.REFUSED
    else:
        step = Step.IN_STEP if all(move.in_step for move in moves) else Step.MOVE
    target_state = GroupState.DEAD if there is None else there.state
    return GroupPlan(group.name, group.kind, group.state, target_state, moves, tuple(refusals), step)


def _moving(world: World, group: Group) -> list[Reason]:
    """Why a group that must be still is not; sync by hand is for the cut, when nobody reads on the source any more."""
    if world.later is None:
        return []
    found = []
    fix = f"stop its consumers on the source, or let the link follow it: anabranch link set {world.link} --sync-groups"
    if group.state.is_active or group.members:
        number = "1 member" if len(group.members) == 1 else f"{len(group.members):,} members"
        found.append(
            Reason(ReasonKind.MOVING, f"{group.name} is {group.state.value} on the source, with {number}", fix)
        )
    pending = world.pending.get(group.name, ())
    if pending:
        some = ", ".join(map(str, pending[:3]))
        found.append(
            Reason(
                ReasonKind.MOVING,
                f"{group.name} has commits in a transaction that is open on the source: {some}",
                "wait until it ends, or until transaction.timeout.ms ends it",
            )
        )
    after = world.later.get(group.name, {})
    changed = [at for at in {*group.commits, *after} if _pair(group.commits.get(at)) != _pair(after.get(at))]
    if changed:
        at = min(changed)
        before, now = group.commits.get(at), after.get(at)
        said = [("nothing" if one is None else str(one.offset)) for one in (before, now)]
        found.append(
            Reason(
                ReasonKind.MOVING, f"{group.name} moved on the source meanwhile: {at} from {said[0]} to {said[1]}", fix
            )
        )
    return found


def _move(world: World, at: TopicPartition, commit: Commit, there: Group | None) -> Move:
    route = world.routes.get(at)
    if route is None:
        refusal = Reason(
            ReasonKind.NOT_IN_LINK,
            f"{at} is not in link {world.link}",
            f"widen the link's filter: anabranch link set {world.link} --include; "
            "or leave the topic out: --topics names those that count",
        )
        return Move(at, commit, None, None, None, None, (refusal,))
    if isinstance(route, Untold):
        refusal = Reason(ReasonKind.UNTOLD, f"{at}: {route.reason}", route.fix)
        return Move(at, commit, None, None, None, None, (refusal,))
    current = None if there is None else there.commits.get(route.target)
    found = answer(route, commit, world.link)
    offset = None if isinstance(found, Reason) else found
    refusals = [Reason(found.why, f"{at}: {found.what}", found.fix)] if isinstance(found, Reason) else []
    if offset is not None and current is not None and offset < current.offset:
        refusals.append(
            Reason(
                ReasonKind.BACKWARDS,
                f"{at}: {offset:,} is before {current.offset:,}, which the group has committed on the target: "
                "records would be read twice",
                "if the target's position is wrong, delete it there: kafka-consumer-groups --delete-offsets "
                f"--group {'' if there is None else there.name} --topic {route.target.topic}",
            )
        )
    if world.metadata_limit is not None and units(commit.metadata) > world.metadata_limit:
        refusals.append(
            Reason(
                ReasonKind.METADATA,
                f"{at}: {units(commit.metadata):,} characters of metadata, the target takes {world.metadata_limit:,}",
                "raise offset.metadata.max.bytes on the target's brokers",
            )
        )
    lag = None if offset is None else route.target_end - offset
    return Move(at, commit, route.target, offset, current, lag, tuple(refusals))
