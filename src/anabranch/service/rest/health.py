"""Whether the service lives and can do its work: asked without a token, and telling nothing else."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import JSONResponse

from anabranch.service.acting import LEASE
from anabranch.service.answers import Health, answered
from anabranch.service.web import Here, answer
from anabranch.store.errors import StoreError

router = APIRouter(tags=["health"])


@router.get("/healthz", responses=answered(Health, description="It lives"))
async def lives() -> JSONResponse:
    """Whether the process answers; ``ready`` is not asked for here."""
    return answer(Health(True, True, ""))


@router.get("/readyz", responses=answered(Health, description="It can do its work"))
async def ready(here: Here) -> JSONResponse:
    """Whether the store answers, and whether this instance acts; 503 where it is not ready."""
    try:
        held = await here.stored.ask(lambda: here.stored.leases.get(LEASE))
    except StoreError as error:
        return answer(Health(False, False, error.message), 503)
    if here.board.contexts_problem is not None:
        return answer(Health(False, here.acting.acts, here.board.contexts_problem.detail), 503)
    acts = here.acting.acts
    why = "" if acts else f"the instance {held.holder if held else '(none)'} acts, this one only shows"
    return answer(Health(True, acts, why))
