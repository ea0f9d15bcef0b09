"""Carrying plans out: one instance at a time acts, and an operation goes on when who asked for it is gone.

Invariants
    A1  an operation begins only on the instance that holds the lease, and only of a plan that still holds.
    A2  each operation that began is audited twice: as it began, and with how it ended, or that it was lost.
    A3  who asked is told at once that it began; how it ended is in the store, also where nobody listens.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import structlog

from anabranch.errors import AnabranchError, RefusedError
from anabranch.model.accounts import Role
from anabranch.model.clock import now_ms
from anabranch.model.plans import PlanChangedError
from anabranch.operations.documents import plain
from anabranch.service.caller import Caller, need
from anabranch.service.errors import NotActingError, OperationLostError, PlanStandsError
from anabranch.service.hub import Hub
from anabranch.service.problems import Problem, problem_of, unexpected
from anabranch.service.reach import Reach
from anabranch.service.stored import Stored
from anabranch.service.verb import Verb
from anabranch.service.verbs import VERBS, asked
from anabranch.store.audit import AuditEntry, Outcome
from anabranch.store.errors import StoreError
from anabranch.store.leases import of_instance
from anabranch.store.works import PlanNote, ShownPlan, Work

LEASE = "acting"
LEASE_MS = 15_000
RENEW_S = 5.0
VOUCHED_MS = 60_000
"""For how long an operation that its instance no longer vouches for is taken to run."""
END_S = 30.0
"""How long operations are waited for as the service ends."""
KEEP_TRIES, KEEP_WAIT_S = 30, 1.0
"""How often, and with how many seconds between, the store is asked to keep how an operation ended."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Ended:
    """How an operation ended; ``problem`` where it was not as it was meant to.

    ``plan_stands`` where somebody else may apply its plan.
    """

    outcome: Outcome
    report: Any = None
    problem: Problem | None = None
    plan_stands: bool = False


class Acting:
    """The operations of one instance."""

    def __init__(self, stored: Stored, reach: Reach, hub: Hub, instance: str) -> None:
        self._stored = stored
        self._reach = reach
        self._hub = hub
        self.instance = instance
        self.holder = ""
        self.acts = False
        self._tasks: dict[str, asyncio.Task[None]] = {}

    # -- which instance acts ---------------------------------------------------------------------------

    async def keep(self) -> None:
        """Hold the lease, or wait for it, and vouch for what runs here, until this is cancelled."""
        while True:
            try:
                for lost in await self._stored.ask(self._renew):
                    await self._tell_lost(lost)
            except StoreError as error:
                self.acts = False
                log.warning("the store does not answer", why=error.message)
            await asyncio.sleep(RENEW_S)

    async def begin(self) -> None:
        """Be there: from now on others wait for what this instance has to say.  Raises StoreError."""
        await self._stored.ask(self._be_there)

    def _be_there(self) -> None:
        self._stored.leases.take(of_instance(self.instance), self.instance, now_ms(), LEASE_MS)

    def _renew(self) -> list[str]:
        """Vouch for what runs here; returns the operations that were found lost."""
        self._be_there()
        now = now_ms()
        held = self._stored.leases.take(LEASE, self.instance, now, LEASE_MS)
        self.holder, self.acts = held.holder, held.holds(self.instance, now)
        for work_id in tuple(self._tasks):
            self._stored.works.tell(work_id, None, now)
        return self._stored.works.lose(lost_problem, now - VOUCHED_MS, now) if self.acts else []

    async def _tell_lost(self, work_id: str) -> None:
        work = await self._stored.ask(lambda: self._stored.works.get(work_id))
        self._told(work)
        self._hub.tell("audit", {"verb": work.verb, "account": work.account, "outcome": Outcome.LOST.value})

    async def end(self) -> None:
        """Wait for what runs, tell what does not end, and give the lease back."""
        self._reach.ending.set()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks.values()), timeout=END_S)
        for task in tuple(self._tasks.values()):
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        try:
            for name in (LEASE, of_instance(self.instance)):
                await self._stored.ask(partial(self._stored.leases.give_back, name, self.instance))
        except StoreError as error:
            log.warning("the lease was not given back", why=error.message)

    def check_acts(self) -> None:
        """Raise NotActingError where another instance acts."""
        if not self.acts:
            raise NotActingError("" if self.holder == self.instance else self.holder)

    # -- plans -----------------------------------------------------------------------------------------

    async def plan(self, verb: Verb[Any, Any], request: Any, caller: Caller) -> ShownPlan:
        """Plan and keep what is shown; raises NotPermittedError, and what planning raises."""
        need(caller, Role.OPERATOR)
        planned = await verb.plan(replace(self._reach, account=caller.account.name), request)
        fields = request.model_dump(mode="json", by_alias=True, exclude_unset=True)
        document = await asyncio.to_thread(plain, planned)  # it may name ten thousand clients
        account = caller.account.name
        return await self._stored.ask(
            lambda: self._stored.works.show(verb.name, fields, planned.hash, document, account, now_ms())
        )

    async def apply(self, plan_id: str, hash_: str, caller: Caller) -> Work:
        """Begin to apply a plan that was shown, and return its operation at once.

        Raises NoPlanError, NotPermittedError, NotActingError, AnotherHashError, AppliedPlanError, StoreError.
        """
        works = self._stored.works
        shown = await self._stored.ask(lambda: works.note(plan_id))
        verb, request = asked(shown)
        subject = verb.subject(request)
        try:
            need(caller, verb.role)
            self.check_acts()
            began = _entry(caller, shown.verb, subject, Outcome.STARTED, "", shown)
            work = await self._stored.ask(lambda: works.begin_plan(plan_id, hash_, self.instance, began))
        except RefusedError as error:
            await self._audit(_entry(caller, shown.verb, subject, Outcome.REFUSED, error.message, shown))
            raise
        # From here the operation runs: its task is there before anything else may fail.
        self._tasks[work.id] = asyncio.create_task(self._carry_out(work, verb, request, subject, caller, shown))
        self._audited(began)
        return work

    async def _carry_out(
        self, work: Work, verb: Verb[Any, Any], request: Any, subject: str, caller: Caller, shown: PlanNote
    ) -> None:
        """Plan again, compare, apply; whatever happens is kept."""
        works = self._stored.works
        try:
            ended = await self._ended(work, verb, request, subject, caller, shown)
            at = now_ms()
            if ended.problem is None:
                kept = await self._keep(lambda: works.done(work.id, ended.report, at))
            else:
                problem = plain(ended.problem)
                stands = ended.plan_stands
                kept = await self._keep(lambda: works.failed(work.id, problem, at, plan_stands=stands))
            if not kept:
                log.error("how an operation ended could not be kept", operation=work.id, outcome=ended.outcome.value)
                return
            detail = "" if ended.problem is None else ended.problem.detail
            entry = _entry(caller, verb.name, subject, ended.outcome, detail, shown, work.id)
            if await self._keep(lambda: self._stored.audit.add(entry)):
                self._audited(entry)
            self._told(await self._stored.ask(lambda: works.get(work.id)))
        except StoreError as error:
            log.warning("the end of an operation could not be announced", operation=work.id, why=error.message)
        finally:
            self._tasks.pop(work.id, None)

    async def _ended(
        self, work: Work, verb: Verb[Any, Any], request: Any, subject: str, caller: Caller, shown: PlanNote
    ) -> _Ended:
        """How it ended; raises nothing."""
        try:
            self._told(work)
            reach = replace(
                self._reach,
                account=caller.account.name,
                planned_by=shown.account,
                tell=partial(self._came, work.id),
            )
            await reach.tell({"stage": "planning again"})
            planned = await verb.plan(reach, request)
            if planned.hash != shown.hash:
                raise PlanChangedError(subject, shown.hash, planned.hash, verb.command(request))
            await reach.tell({"stage": "applying"})
            return _Ended(Outcome.DONE, plain(await verb.apply(reach, request, planned)))
        except asyncio.CancelledError:
            return _Ended(Outcome.FAILED, problem=problem_of(OperationLostError(self.instance, verb.goes_on(request))))
        except AnabranchError as error:
            outcome = Outcome.REFUSED if isinstance(error, RefusedError) else Outcome.FAILED
            return _Ended(outcome, problem=problem_of(error), plan_stands=isinstance(error, PlanStandsError))
        except Exception:
            log.exception("an operation failed", operation=work.id, verb=verb.name)
            return _Ended(Outcome.FAILED, problem=unexpected())

    async def _came(self, work_id: str, progress: Mapping[str, Any]) -> None:
        """Keep and tell how far an operation came; a store that does not answer just now holds nothing up."""
        try:
            await self._stored.ask(lambda: self._stored.works.tell(work_id, progress, now_ms()))
            self._told(await self._stored.ask(lambda: self._stored.works.get(work_id)))
        except StoreError as error:
            log.warning("the store does not answer", why=error.message)

    async def _keep(self, question: Callable[[], None]) -> bool:
        """Have the store keep something, also where it is locked or away for a while; whether it did."""
        for attempt in range(KEEP_TRIES):
            try:
                await self._stored.ask(question)
                return True
            except StoreError as error:
                log.warning("the store does not answer", why=error.message, attempt=attempt)
                await asyncio.sleep(KEEP_WAIT_S)
        return False

    async def note(
        self, caller: Caller, verb: str, subject: str, outcome: Outcome = Outcome.DONE, detail: str = ""
    ) -> None:
        """Audit what needs no plan: accounts, tokens, logins; raises StoreError."""
        await self._audit(_entry(caller, verb, subject, outcome, detail))

    async def _audit(self, entry: AuditEntry) -> None:
        await self._stored.ask(lambda: self._stored.audit.add(entry))
        self._audited(entry)

    def _audited(self, entry: AuditEntry) -> None:
        self._hub.tell("audit", {"verb": entry.verb, "account": entry.account, "outcome": entry.outcome.value})

    def _told(self, work: Work) -> None:
        self._hub.tell("operation", summary(work))


def lost_problem(work: Work, instance: str = "") -> Mapping[str, Any]:
    """Why an operation is lost, and where what it began may be seen."""
    verb = VERBS.get(work.verb)
    try:
        goes_on = "" if verb is None else verb.goes_on(verb.request.model_validate_json(json.dumps(work.request)))
    except ValueError:  # asked of a version whose requests had other fields
        goes_on = ""
    problem: Mapping[str, Any] = plain(problem_of(OperationLostError(instance, goes_on)))
    return problem


def summary(work: Work) -> Mapping[str, Any]:
    """An operation for a listener: without what it was asked and what it reported."""
    fields = asdict(work)
    for name in ("request", "report"):
        del fields[name]
    known = VERBS.get(work.verb)
    if known is not None and known.private:
        fields["problem"] = None
    return {**fields, "state": work.state.value}


def _entry(
    caller: Caller,
    verb: str,
    subject: str,
    outcome: Outcome,
    detail: str,
    shown: PlanNote | None = None,
    operation: str | None = None,
) -> AuditEntry:
    return AuditEntry(
        now_ms(),
        caller.account.name,
        caller.account.role.word,
        caller.address,
        verb,
        subject,
        outcome,
        detail,
        None if shown is None else shown.id,
        None if shown is None else shown.hash,
        operation,
    )
