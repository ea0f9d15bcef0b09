"""Undo ``groups sync`` and ``groups create``, for groups that have not committed since."""

from __future__ import annotations

from dataclasses import dataclass, replace

from anabranch.errors import AnabranchError, RefusedError
from anabranch.groups.undo import GroupsUndone, MoveSummary, UndoPlan, undo, undo_plan
from anabranch.groups.undo import moves as moves_of
from anabranch.kafka.cluster import Cluster
from anabranch.model.clock import now_ms
from anabranch.model.plans import check_holds
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.operations.groups.commits import apply_undo, read_groups
from anabranch.operations.groups.inputs import stored
from anabranch.state.topics.positions import Positions


@dataclass(eq=False)
class NoSuchUndoError(RefusedError):
    """No undo record of that id is stored there."""

    id: str
    cluster: str
    known: tuple[str, ...]

    _message = "cluster {cluster} stores no undo record {id!r}"

    @property
    def hint(self) -> str:
        return f"the newest are {', '.join(self.known)}" if self.known else "nothing was moved there yet"


async def moves(cluster: Cluster) -> tuple[MoveSummary, ...]:
    """The changes of groups' positions on a cluster that it has undo records of, the newest first."""
    return moves_of((await stored(cluster)).undo)


async def plan(cluster: Cluster, undo_id: str) -> UndoPlan:
    """The plan that restores former commits; raises NoSuchUndoError."""
    return await _plan(cluster, await stored(cluster), undo_id)


async def apply(cluster: Cluster, planned: UndoPlan) -> GroupsUndone:
    """Undo the groups that are not refused; raises PlanChangedError if the plan has changed."""
    store = await stored(cluster)
    now = await _plan(cluster, store, planned.id)
    check_holds(f"the undoing of {planned.id}", planned, now, f"anabranch groups undo {planned.id}")
    done = []
    for group in now.groups:
        if group.refusals:
            done.append(group)
            continue
        try:
            await apply_undo(cluster, group)
        except AnabranchError as error:
            done.append(replace(group, refusals=(Reason(ReasonKind.UNAVAILABLE, error.message, error.hint),)))
            continue
        await store.put_undo([replace(group.record, undone_at_ms=now_ms())])
        done.append(replace(group, done=True))
    return GroupsUndone(planned.id, tuple(done))


async def _plan(cluster: Cluster, store: Positions, undo_id: str) -> UndoPlan:
    records = store.undo.get(undo_id)
    if not records:
        raise NoSuchUndoError(undo_id, cluster.name, tuple(sorted(store.undo)[-3:]))
    names = sorted(records)
    now = await read_groups(cluster, names)
    return undo_plan(undo_id, [undo(records[name], now[name]) for name in names])
