"""Undo a move: restore exactly the former commits, and delete those that were not there, if nothing changed since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from anabranch.groups.refusals import active_refusal
from anabranch.model.groups import Commit, Group
from anabranch.model.plans import plan_hash
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """What one group had committed where a move wrote, stored before the move.

    ``former`` None means nothing; ``existed`` whether the group was there at all.  ``undone_at_ms`` is set once it
    was undone.
    """

    id: str
    group: str
    existed: bool
    former: Mapping[TopicPartition, Commit | None] = field(hash=False)
    wrote: Mapping[TopicPartition, Commit] = field(hash=False)
    made_at_ms: int
    what: str
    undone_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class MoveSummary:
    """A change of groups' positions that can be taken back by its ``id``; ``undone`` are the groups where it was."""

    id: str
    what: str
    made_at_ms: int
    groups: tuple[str, ...]
    undone: tuple[str, ...]


def moves(undo: Mapping[str, Mapping[str, UndoRecord]]) -> tuple[MoveSummary, ...]:
    """The changes that undo records tell of, the newest first."""
    found = []
    for id_, records in undo.items():
        if records:
            first = min(records.values(), key=lambda one: one.made_at_ms)
            undone = tuple(sorted(name for name, one in records.items() if one.undone_at_ms is not None))
            found.append(MoveSummary(id_, first.what, first.made_at_ms, tuple(sorted(records)), undone))
    return tuple(sorted(found, key=lambda one: (-one.made_at_ms, one.id)))


@dataclass(frozen=True, slots=True)
class GroupUndo:
    """The undo of one group: commits to restore, commits to delete, and whether to delete the group."""

    record: UndoRecord
    restore: Mapping[TopicPartition, Commit] = field(hash=False)
    delete: tuple[TopicPartition, ...]
    delete_group: bool
    refusals: tuple[Reason, ...] = ()
    done: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to undo."""
        return not (self.restore or self.delete or self.delete_group)


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """The undo of one applied plan, group by group.

    ``hash`` covers what would be restored and deleted; of a refused group, only that it is refused.
    """

    id: str
    groups: tuple[GroupUndo, ...]
    hash: str

    @property
    def ok(self) -> bool:
        """Whether no group is refused."""
        return not any(group.refusals for group in self.groups)


@dataclass(frozen=True, slots=True)
class GroupsUndone:
    """The result of an undo: groups that are ``done`` have their former commits, the others have refusals."""

    id: str
    groups: tuple[GroupUndo, ...]

    @property
    def ok(self) -> bool:
        """Whether every group was undone."""
        return not any(group.refusals for group in self.groups)


def undo_plan(id_: str, groups: Iterable[GroupUndo]) -> UndoPlan:
    """The plan of all groups of one move."""
    found = tuple(groups)
    return UndoPlan(id_, found, plan_hash(id_, [_seen(group) for group in found]))


def _seen(group: GroupUndo) -> list[object]:
    if group.refusals:
        return [group.record.group, "refused"]
    restored = {str(partition): [commit.offset, commit.metadata] for partition, commit in group.restore.items()}
    return [group.record.group, restored, [str(partition) for partition in group.delete], group.delete_group]


def undo(record: UndoRecord, now: Group | None) -> GroupUndo:
    """Plan to undo one group's move, given the group as it is now.

    A partition that has the commit that was written gets its former one back.  A partition that has its former
    commit needs nothing: the move never reached it, or was undone already.  If any other has changed since, nothing
    is touched.  A group that the move created, and that has committed nothing else, is deleted.
    """
    commits = {} if now is None else now.commits
    refusals = [reason for reason in (active_refusal(now),) if reason is not None]
    if record.undone_at_ms is not None:
        refusals.append(Reason(ReasonKind.UNDONE, f"{record.group}: {record.id} was undone already"))
    restore: dict[TopicPartition, Commit] = {}
    delete = []
    for partition, wrote in sorted(record.wrote.items()):
        committed, former = commits.get(partition), record.former[partition]
        if same(committed, former):
            continue
        if not same(committed, wrote):
            said = "nothing" if committed is None else f"offset {committed.offset:,}"
            refusals.append(
                Reason(
                    ReasonKind.MOVING,
                    f"{record.group} moved since: {partition} has {said}, {wrote.offset:,} was written",
                    "what was read since would be read again: keep the position, or delete it by hand",
                )
            )
        elif former is None:
            delete.append(partition)
        else:
            restore[partition] = former
    whole = not record.existed and bool(delete) and set(commits) == set(delete)
    if refusals:
        restore, delete, whole = {}, [], False
    return GroupUndo(record, restore, tuple(delete), whole, tuple(refusals))


AT_ONCE_MS = 3_600_000
"""Moves whose records are further apart did not race, whatever the clocks of two machines differ by."""


def without_shared(record: UndoRecord, others: Iterable[UndoRecord]) -> tuple[UndoRecord, tuple[str, ...]]:
    """The record without the partitions in which another move of about the same time began at the same commit and
    wrote the same, and the ids of those moves.

    Which of the two wrote what stands there cannot be told, and the other one may have told that it moved the group.
    """
    shared: set[TopicPartition] = set()
    ids = []
    for other in others:
        if other.id == record.id or other.group != record.group or other.undone_at_ms is not None:
            continue
        if abs(other.made_at_ms - record.made_at_ms) > AT_ONCE_MS:
            continue
        both = {
            at
            for at in record.wrote.keys() & other.wrote.keys()
            if same(record.wrote[at], other.wrote[at]) and same(record.former[at], other.former[at])
        }
        if both:
            ids.append(other.id)
        shared |= both
    wrote = {at: commit for at, commit in record.wrote.items() if at not in shared}
    return replace(record, wrote=wrote, former={at: record.former[at] for at in wrote}), tuple(ids)


def same(one: Commit | None, other: Commit | None) -> bool:
    """Whether two commits have the same offset and metadata; leader epochs are ignored."""
    if one is None or other is None:
        return one is other
    return (one.offset, one.metadata) == (other.offset, other.metadata)
