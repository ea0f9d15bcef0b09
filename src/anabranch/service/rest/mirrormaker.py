"""MirrorMaker 2's answers beside the exact ones."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from anabranch.mirrormaker.names import SEPARATOR
from anabranch.mirrormaker.report import MirrorReport
from anabranch.operations.mirrormaker.report import LOOKED_AT, report
from anabranch.service.answers import answered
from anabranch.service.verb import Name
from anabranch.service.verb import Request as Body
from anabranch.service.web import AsViewer, Here, answer, body_of, expects

router = APIRouter(prefix="/api/v1/mirrormaker", tags=["mirrormaker"])


class Flow(Body):
    """Two clusters between which MirrorMaker 2 copies; a link's exact positions are told beside its answers."""

    source: Name
    target: Name
    source_alias: Name | None = None
    target_alias: Name | None = None
    separator: Name = SEPARATOR
    link: Name | None = None
    look: Annotated[int, Field(ge=0, le=10_000)] = LOOKED_AT


@router.post("/report", responses=answered(MirrorReport), openapi_extra=expects(Flow))
async def compare(here: Here, request: Request, _: AsViewer) -> JSONResponse:
    """MirrorMaker 2's answer for each group and partition, and how far it is off; nothing is changed."""
    body = await body_of(request, Flow)
    source, target = here.clusters.cluster(body.source), here.clusters.cluster(body.target)
    aliases = body.source_alias, body.target_alias
    return answer(await report(source, target, *aliases, separator=body.separator, link=body.link, look=body.look))
