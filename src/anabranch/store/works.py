"""Plans that were shown, and the operations that came of them.

Invariants
    S3  a plan is applied at most once: its operation is set in the transaction that makes the operation.  It is taken
        from it only where that operation ends refused, before it did anything, for who had asked for it.
    S4  an operation that ended stays as it ended.
    S5  what an instance no longer vouches for is ``LOST``, never ``RUNNING`` for ever.
    S6  an operation that is there has its first entry in the audit, and one that is lost its last: they are written
        in one transaction.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, Row, and_, delete, insert, or_, select, update

from anabranch.errors import RefusedError
from anabranch.model.clock import DAY_MS
from anabranch.store import audit
from anabranch.store.audit import AuditEntry
from anabranch.store.database import Database
from anabranch.store.tables import OPERATIONS, PLANS

PLAN_MS = DAY_MS
"""How long a plan that nobody applied is kept."""


class WorkState(StrEnum):
    """Where an operation stands.  ``LOST``: the instance that did it is gone, and nobody knows how far it came."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class PlanNote:
    """A plan that was shown, without the plan itself, which may name ten thousand clients."""

    id: str
    verb: str
    request: Mapping[str, Any]
    hash: str
    account: str
    planned_at: int
    applied_at: int | None
    operation: str | None


@dataclass(frozen=True, slots=True)
class ShownPlan(PlanNote):
    """A plan as it was shown; ``document`` is the plan, ``request`` what was asked for."""

    document: Mapping[str, Any]


_NOTE = [PLANS.c[field.name] for field in fields(PlanNote)]


@dataclass(frozen=True, slots=True)
class Work:
    """An operation; times in ms.  ``problem`` is why it failed, ``told_at`` when its instance last vouched for it."""

    id: str
    verb: str
    request: Mapping[str, Any]
    plan: str | None
    hash: str | None
    account: str
    state: WorkState
    progress: Mapping[str, Any] | None
    report: Any
    problem: Mapping[str, Any] | None
    instance: str
    began_at: int
    told_at: int
    ended_at: int | None


LostProblem = Callable[[Work], Mapping[str, Any]]
"""Why an operation is lost, as its ``problem``."""


@dataclass(eq=False)
class NoPlanError(RefusedError):
    """There is no such plan, or it was shown more than a day ago."""

    id: str

    _message = "there is no plan {id}: it was never shown, or more than a day ago"
    _hint = "plan again"


@dataclass(eq=False)
class AppliedPlanError(RefusedError):
    """Somebody has applied the plan already."""

    id: str
    account: str
    operation: str

    _message = "plan {id} was applied already, by {account}: operation {operation}"
    _hint = "look at that operation; plan again to do more"


@dataclass(eq=False)
class AnotherHashError(RefusedError):
    """What was approved is not the plan that was shown."""

    id: str
    shown: str
    given: str

    _message = "plan {id} has the hash {shown}, not {given}"
    _hint = "look at the plan again, and apply the one that you have seen"


@dataclass(eq=False)
class NoOperationError(RefusedError):
    """There is no operation with this id."""

    id: str

    _message = "there is no operation {id}"
    _hint = "list them: GET /api/v1/operations"


class Works:
    """The plans and operations of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- plans -----------------------------------------------------------------------------------------

    def show(
        self, verb: str, request: Mapping[str, Any], hash_: str, document: Mapping[str, Any], account: str, now_ms: int
    ) -> ShownPlan:
        """Keep a plan that is about to be shown; plans that nobody applied within a day go."""
        made = ShownPlan(uuid.uuid4().hex, verb, request, hash_, account, now_ms, None, None, document)
        with self._database.begin() as connection:
            old = delete(PLANS).where(PLANS.c.planned_at < now_ms - PLAN_MS, PLANS.c.operation.is_(None))
            connection.execute(old)
            connection.execute(
                insert(PLANS).values(
                    id=made.id,
                    verb=verb,
                    request=request,
                    hash=hash_,
                    document=document,
                    account=account,
                    planned_at=now_ms,
                )
            )
        return made

    def plan(self, plan_id: str) -> ShownPlan:
        """A plan; raises NoPlanError."""
        return ShownPlan(*self._planned(plan_id, PLANS.c.document))

    def note(self, plan_id: str) -> PlanNote:
        """A plan without its document; raises NoPlanError."""
        return PlanNote(*self._planned(plan_id))

    def _planned(self, plan_id: str, *more: Column[Any]) -> Sequence[Any]:
        with self._database.begin() as connection:
            row = connection.execute(select(*_NOTE, *more).where(PLANS.c.id == plan_id)).first()
        if row is None:
            raise NoPlanError(plan_id)
        return row

    def begin_plan(self, plan_id: str, hash_: str, instance: str, began: AuditEntry) -> Work:
        """The operation that applies a plan, with its first entry of the audit (S3, S6).

        Raises NoPlanError, AnotherHashError, AppliedPlanError.
        """
        account, now_ms = began.account, began.at
        with self._database.begin() as connection:
            row = connection.execute(select(*_NOTE).where(PLANS.c.id == plan_id).with_for_update()).first()
            if row is None:
                raise NoPlanError(plan_id)
            plan = PlanNote(*row)
            if plan.hash != hash_:
                raise AnotherHashError(plan_id, plan.hash, hash_)
            if plan.operation is not None:
                by = connection.execute(select(OPERATIONS.c.account).where(OPERATIONS.c.id == plan.operation))
                raise AppliedPlanError(plan_id, by.scalar_one(), plan.operation)
            made = _made(plan.verb, plan.request, account, instance, now_ms, plan.id, plan.hash)
            connection.execute(insert(OPERATIONS).values(**_values(made)))
            connection.execute(update(PLANS).where(PLANS.c.id == plan_id).values(operation=made.id, applied_at=now_ms))
            audit.write(connection, replace(began, plan=plan.id, hash=plan.hash, operation=made.id))
        return made

    # -- operations ------------------------------------------------------------------------------------

    def begin(self, verb: str, request: Mapping[str, Any], account: str, instance: str, now_ms: int) -> Work:
        """An operation that needs no plan."""
        made = _made(verb, request, account, instance, now_ms, None, None)
        with self._database.begin() as connection:
            connection.execute(insert(OPERATIONS).values(**_values(made)))
        return made

    def tell(self, work_id: str, progress: Mapping[str, Any] | None, now_ms: int) -> None:
        """How far an operation came; without progress, that its instance lives."""
        values: dict[str, Any] = {"told_at": now_ms}
        if progress is not None:
            values["progress"] = progress
        self._change(work_id, values)

    def done(self, work_id: str, report: Any, now_ms: int) -> None:
        """An operation ended as it was meant to."""
        self._change(work_id, {"state": WorkState.DONE.value, "report": report, "ended_at": now_ms, "told_at": now_ms})

    def failed(self, work_id: str, problem: Mapping[str, Any], now_ms: int, *, plan_stands: bool = False) -> None:
        """An operation ended with an error; with ``plan_stands`` somebody else may apply its plan (S3)."""
        ended = {"state": WorkState.FAILED.value, "problem": problem, "ended_at": now_ms, "told_at": now_ms}
        self._change(work_id, ended, plan_stands=plan_stands)

    def _change(self, work_id: str, values: Mapping[str, Any], *, plan_stands: bool = False) -> None:
        running = OPERATIONS.c.state == WorkState.RUNNING.value
        with self._database.begin() as connection:
            asked = update(OPERATIONS).where(OPERATIONS.c.id == work_id, running).values(**values)
            if connection.execute(asked).rowcount and plan_stands:
                free = update(PLANS).where(PLANS.c.operation == work_id).values(operation=None, applied_at=None)
                connection.execute(free)

    def lose(self, problem: LostProblem, before_ms: int, now_ms: int, instance: str | None = None) -> list[str]:
        """End what nobody has vouched for since, or all of an instance's; returns the operations' ids (S5, S6)."""
        lost = OPERATIONS.c.state == WorkState.RUNNING.value
        lost &= OPERATIONS.c.told_at < before_ms if instance is None else OPERATIONS.c.instance == instance
        found = []
        with self._database.begin() as connection:
            for work in [_work(row) for row in connection.execute(select(OPERATIONS).where(lost))]:
                told = dict(problem(work))
                values = {"state": WorkState.LOST.value, "problem": told, "ended_at": now_ms}
                ended = connection.execute(update(OPERATIONS).where(OPERATIONS.c.id == work.id, lost).values(**values))
                if ended.rowcount:  # another instance may have been sooner
                    audit.write_lost(connection, work.id, str(told.get("detail", "")), now_ms)
                    found.append(work.id)
        return found

    def get(self, work_id: str) -> Work:
        """An operation; raises NoOperationError."""
        with self._database.begin() as connection:
            row = connection.execute(select(OPERATIONS).where(OPERATIONS.c.id == work_id)).first()
        if row is None:
            raise NoOperationError(work_id)
        return _work(row)

    def recent(self, most: int, *, running: bool = False, before: str | None = None) -> Sequence[Work]:
        """Operations, the newest first, those that follow ``before``; raises NoOperationError for one not there."""
        asked = select(OPERATIONS).order_by(OPERATIONS.c.began_at.desc(), OPERATIONS.c.id).limit(most)
        if before is not None:
            last = self.get(before)
            same = and_(OPERATIONS.c.began_at == last.began_at, OPERATIONS.c.id > last.id)
            asked = asked.where(or_(OPERATIONS.c.began_at < last.began_at, same))
        if running:
            asked = asked.where(OPERATIONS.c.state == WorkState.RUNNING.value)
        with self._database.begin() as connection:
            return [_work(row) for row in connection.execute(asked)]


def _made(
    verb: str,
    request: Mapping[str, Any],
    account: str,
    instance: str,
    now_ms: int,
    plan: str | None,
    hash_: str | None,
) -> Work:
    began = WorkState.RUNNING, None, None, None, instance, now_ms, now_ms, None
    return Work(uuid.uuid4().hex, verb, request, plan, hash_, account, *began)


def _values(work: Work) -> dict[str, Any]:
    return {name: getattr(work, name) for name in Work.__slots__}


def _work(row: Row[Any]) -> Work:
    found = dict(row._mapping)
    return Work(**{**found, "state": WorkState(found["state"])})
