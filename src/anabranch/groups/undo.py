"""Undoing a move: exactly the former commits, and nothing where there was nothing, unless the group moved since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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
class GroupUndo:
    """What undoing means for one group: commits given back, others deleted, perhaps the group with them."""

    record: UndoRecord
    restore: Mapping[TopicPartition, Commit] = field(hash=False)
    delete: tuple[TopicPartition, ...]
    delete_group: bool
    refusals: tuple[Reason, ...] = ()
    done: bool = False

    @property
    def empty(self) -> bool:
        """Whether the group stands as it stood."""
        return not (self.restore or self.delete or self.delete_group)


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What undoing one carried out plan means, group by group.

    ``hash`` covers what would be given back and deleted; of a refused group, only that it is.
    """

    id: str
    groups: tuple[GroupUndo, ...]
    hash: str

    @property
    def ok(self) -> bool:
        """Whether nothing forbids it."""
        return not any(group.refusals for group in self.groups)


@dataclass(frozen=True, slots=True)
class GroupsUndone:
    """What became of it: groups that are ``done`` have what was there before, the others have their refusals."""

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
    back = {str(at): [commit.offset, commit.metadata] for at, commit in group.restore.items()}
    return [group.record.group, back, [str(at) for at in group.delete], group.delete_group]


def undo(record: UndoRecord, now: Group | None) -> GroupUndo:
    """Plan to undo one group's move, given how it stands.

    A partition that stands as it was written is given back; one that stands as before needs nothing (the move
    never reached it, or was undone already); any other was moved since, and then nothing is touched.  A group
    that the move made, and that has committed nothing else, goes with its commits.
    """
    commits = {} if now is None else now.commits
    refusals = [one for one in (active_refusal(now),) if one is not None]
    if record.undone_at_ms is not None:
        refusals.append(Reason(ReasonKind.UNDONE, f"{record.group}: {record.id} was undone already"))
    restore: dict[TopicPartition, Commit] = {}
    delete = []
    for at, wrote in sorted(record.wrote.items()):
        stands, former = commits.get(at), record.former[at]
        if same(stands, former):
            continue
        if not same(stands, wrote):
            said = "nothing" if stands is None else f"offset {stands.offset:,}"
            refusals.append(
                Reason(
                    ReasonKind.MOVING,
                    f"{record.group} moved since: {at} has {said}, {wrote.offset:,} was written",
                    "what was read since would be read again: keep the position, or delete it by hand",
                )
            )
        elif former is None:
            delete.append(at)
        else:
            restore[at] = former
    whole = not record.existed and bool(delete) and set(commits) == set(delete)
    if refusals:
        restore, delete, whole = {}, [], False
    return GroupUndo(record, restore, tuple(delete), whole, tuple(refusals))


def same(one: Commit | None, other: Commit | None) -> bool:
    """Whether two commits are one position with the same note; a leader epoch is only a broker's remark on it."""
    if one is None or other is None:
        return one is other
    return (one.offset, one.metadata) == (other.offset, other.metadata)
