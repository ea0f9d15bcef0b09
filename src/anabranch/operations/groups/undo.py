"""Undoing what ``groups sync`` and ``groups create`` have written, for groups that have not moved since."""

from __future__ import annotations

from dataclasses import dataclass, replace

from anabranch.errors import AnabranchError, RefusedError
from anabranch.groups.undo import GroupsUndone, UndoPlan, undo, undo_plan
from anabranch.kafka.cluster import Cluster
from anabranch.model.clock import now_ms
from anabranch.model.plans import check_holds
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.operations.groups.groupmoves import carry_out, stands
from anabranch.operations.groups.looking import stored
from anabranch.state.topics.positions import Positions


@dataclass(eq=False)
class NoSuchUndoError(RefusedError):
    """No undo record of that id is stored there."""

    id: str
    cluster: str
    known: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"cluster {self.cluster} stores no undo record {self.id!r}"

    @property
    def hint(self) -> str:
        return f"the newest are {', '.join(self.known)}" if self.known else "nothing was moved there yet"


async def plan(cluster: Cluster, undo_id: str) -> UndoPlan:
    """What giving groups back what they had means; raises NoSuchUndoError."""
    return await _look(cluster, await stored(cluster), undo_id)


async def apply(cluster: Cluster, planned: UndoPlan) -> GroupsUndone:
    """Undo the groups that nothing forbids; raises PlanChangedError where the plan is another one by now."""
    store = await stored(cluster)
    now = await _look(cluster, store, planned.id)
    check_holds(f"the undoing of {planned.id}", planned, now, f"anabranch groups undo {planned.id}")
    done = []
    for one in now.groups:
        if one.refusals:
            done.append(one)
            continue
        try:
            await carry_out(cluster, one)
        except AnabranchError as error:
            done.append(replace(one, refusals=(Reason(ReasonKind.UNTOLD, error.message, error.hint),)))
            continue
        await store.put_undo([replace(one.record, undone_at_ms=now_ms())])
        done.append(replace(one, done=True))
    return GroupsUndone(planned.id, tuple(done))


async def _look(cluster: Cluster, store: Positions, undo_id: str) -> UndoPlan:
    records = store.undo.get(undo_id)
    if not records:
        raise NoSuchUndoError(undo_id, cluster.name, tuple(sorted(store.undo)[-3:]))
    names = sorted(records)
    now = await stands(cluster, names)
    return undo_plan(undo_id, [undo(records[name], now[name]) for name in names])
