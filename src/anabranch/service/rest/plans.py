"""Changes: a plan is shown, then applied by its hash, as an operation that goes on by itself."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import StringConstraints
from starlette.requests import Request
from starlette.responses import JSONResponse

from anabranch.model.accounts import Role
from anabranch.model.plans import HASH_DIGITS
from anabranch.service.answers import PlanAnswer, VerbAnswer, answered
from anabranch.service.caller import Caller
from anabranch.service.verb import Request as Body
from anabranch.service.verb import Verb
from anabranch.service.verbs import VERBS, asked
from anabranch.service.web import AsOperator, AsViewer, Here, answer, body_of, expects
from anabranch.store.works import NoOperationError, NoPlanError, ShownPlan, Work

router = APIRouter(prefix="/api/v1", tags=["changes"])
ID = r"^[0-9a-f]{32}$"
Id = Annotated[str, Path(json_schema_extra={"pattern": ID}, description="As it was answered.")]
"""Looked at by ``_is_id``: of an address that was cut it is to be said that there is no such plan."""
NO_ID = "with the id in this address"
"""In place of what has not the form of an id: it may be a token that somebody has pasted, and is not repeated."""


class Approval(Body):
    """The hash of the plan that was seen: another one is refused."""

    hash: Annotated[str, StringConstraints(pattern=rf"^[0-9a-f]{{{HASH_DIGITS}}}$")]


@router.get("/verbs", responses=answered(Sequence[VerbAnswer]))
async def verbs(_: AsViewer) -> JSONResponse:
    """What can be changed, and the role that applies its plans."""
    return answer([VerbAnswer(verb.name, verb.summary, verb.role.word) for verb in VERBS.values()])


@router.get("/plans/{plan_id}", responses=answered(PlanAnswer))
async def plan(here: Here, plan_id: Id, caller: AsViewer) -> JSONResponse:
    """A plan that was shown within the last day."""
    if not _is_id(plan_id):
        raise NoPlanError(NO_ID)
    shown = await here.stored.ask(lambda: here.stored.works.plan(plan_id))
    if not _may_see(caller, shown.verb, shown.account):
        raise NoPlanError(plan_id)
    return await _written(shown)


@router.post(
    "/plans/{plan_id}/apply",
    status_code=202,
    responses=answered(Work, 202, "It has begun"),
    openapi_extra=expects(Approval),
)
async def apply(here: Here, plan_id: Id, request: Request, caller: AsOperator) -> JSONResponse:
    """Apply a plan that was seen; it is made again first, and refused where it would be another one now."""
    body = await body_of(request, Approval)
    if not _is_id(plan_id):
        raise NoPlanError(NO_ID)
    work = await here.acting.apply(plan_id, body.hash, caller)
    return answer(work, 202, {"Location": f"/api/v1/operations/{work.id}"})


@router.get("/operations", responses=answered(Sequence[Work]))
async def operations(
    here: Here,
    caller: AsViewer,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    running: bool = False,
    before: Annotated[str | None, Query(pattern=ID, description="The last one of the page before.")] = None,
) -> JSONResponse:
    """Operations, the newest first."""
    found = await here.stored.ask(lambda: here.stored.works.recent(limit, running=running, before=before))
    return answer([_shown(caller, one) for one in found])


@router.get("/operations/{work_id}", responses=answered(Work))
async def operation(here: Here, work_id: Id, caller: AsViewer) -> JSONResponse:
    """One operation: where it stands, and what came of it."""
    if not _is_id(work_id):
        raise NoOperationError(NO_ID)
    return answer(_shown(caller, await here.stored.ask(lambda: here.stored.works.get(work_id))))


def _is_id(text: str) -> bool:
    return re.fullmatch(ID, text) is not None


def _may_see(caller: Caller, verb: str, account: str) -> bool:
    """Whether what was asked and answered may be shown: of a private verb, to who asked and to admins."""
    known = VERBS.get(verb)
    is_own = caller.account.name == account or caller.account.role is Role.ADMIN
    return known is None or not known.private or is_own


def _shown(caller: Caller, work: Work) -> Work:
    """An operation as it is shown."""
    return work if _may_see(caller, work.verb, work.account) else replace(work, request={}, report=None, problem=None)


async def _written(shown: ShownPlan) -> JSONResponse:
    """The answer, written in a thread: it may name ten thousand clients, and nobody else is to wait for that."""
    return await asyncio.to_thread(lambda: answer(told(shown)))


def told(shown: ShownPlan) -> PlanAnswer:
    """A plan as it is answered; raises NoPlanError for one of a version that had other verbs."""
    verb, request = asked(shown)
    return PlanAnswer(
        shown.id,
        shown.verb,
        verb.subject(request),
        shown.request,
        shown.hash,
        shown.document,
        shown.account,
        shown.planned_at,
        verb.role.word,
        verb.typed(request),
        verb.files(request),
        shown.operation,
    )


def _planning(verb: Verb[Any, Any]) -> Callable[..., Coroutine[Any, Any, JSONResponse]]:
    async def planned(here: Here, request: Request, caller: AsOperator) -> JSONResponse:
        body = await body_of(request, verb.request)
        return await _written(await here.acting.plan(verb, body, caller))

    return planned


for _verb in VERBS.values():
    router.add_api_route(
        f"/{_verb.noun}/{_verb.word}/plan",
        _planning(_verb),
        methods=["POST"],
        summary=_verb.summary,
        name=f"plan_{_verb.name}".replace(".", "_").replace("-", "_"),
        responses=answered(PlanAnswer, description="The plan"),
        openapi_extra=expects(_verb.request),
    )
