"""Switches of live clients from one cluster to another: how far they came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import JSONResponse

from anabranch.service.answers import answered
from anabranch.service.switch_answers import SwitchAnswer, SwitchSummary, summary_of, switch_answer
from anabranch.service.web import AsViewer, Here, answer

router = APIRouter(prefix="/api/v1/switches", tags=["routes"])
SwitchId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]


@router.get("", responses=answered(Sequence[SwitchSummary]))
async def switches(here: Here, _: AsViewer, limit: Annotated[int, Query(ge=1, le=100)] = 20) -> JSONResponse:
    """Switches, the newest first."""
    found = await here.stored.ask(lambda: here.stored.switches.last(limit))
    return answer([summary_of(one) for one in found])


@router.get("/{switch_id}", responses=answered(SwitchAnswer))
async def switch(here: Here, switch_id: SwitchId, _: AsViewer) -> JSONResponse:
    """One switch, with its clients."""
    return answer(switch_answer(await here.stored.ask(lambda: here.stored.switches.get(switch_id))))
