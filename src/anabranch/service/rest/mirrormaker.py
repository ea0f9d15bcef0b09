"""MirrorMaker 2's answers beside the exact ones."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from anabranch.mirrormaker.names import SEPARATOR
from anabranch.mirrormaker.report import MirrorReport
from anabranch.model.positions import Translation
from anabranch.model.topics import TopicPartition
from anabranch.operations.mirrormaker import translate as translating
from anabranch.operations.mirrormaker.report import LOOKED_AT, report
from anabranch.service.answers import answered
from anabranch.service.rest.positions import Question
from anabranch.service.verb import Name
from anabranch.service.verb import Request as Body
from anabranch.service.web import AsClient, AsViewer, Here, answer, body_of, expects

router = APIRouter(prefix="/api/v1/mirrormaker", tags=["mirrormaker"])


class MirrorFlow(Body):
    """Two clusters between which MirrorMaker 2 copies; ``look`` positions are looked up in the logs' records."""

    source: Name
    target: Name
    source_alias: Name | None = None
    target_alias: Name | None = None
    separator: Name = SEPARATOR
    look: Annotated[int, Field(ge=0, le=10_000)] = LOOKED_AT


class FlowReport(MirrorFlow):
    """A flow, and a link whose exact positions are told beside MirrorMaker's answers."""

    link: Name | None = None


class FlowQuestions(MirrorFlow):
    """A flow, and offsets of source partitions: each is the next record to read."""

    questions: Annotated[tuple[Question, ...], Field(min_length=1, max_length=10_000)]


@router.post("/translate", responses=answered(Translation), openapi_extra=expects(FlowQuestions))
async def translate(here: Here, request: Request, _: AsClient) -> JSONResponse:
    """Where readers of MirrorMaker 2's copy go on: exact, or approximate with the error's bound, or refused."""
    body = await body_of(request, FlowQuestions)
    source, target = here.clusters.cluster(body.source), here.clusters.cluster(body.target)
    questions = [(TopicPartition(one.topic, one.partition), one.offset) for one in body.questions]
    aliases = body.source_alias, body.target_alias
    return answer(
        await translating.translate(source, target, questions, *aliases, separator=body.separator, look=body.look)
    )


@router.post("/report", responses=answered(MirrorReport), openapi_extra=expects(FlowReport))
async def compare(here: Here, request: Request, _: AsViewer) -> JSONResponse:
    """MirrorMaker 2's answer for each group and partition, and how far it is off; nothing is changed."""
    body = await body_of(request, FlowReport)
    source, target = here.clusters.cluster(body.source), here.clusters.cluster(body.target)
    aliases = body.source_alias, body.target_alias
    return answer(await report(source, target, *aliases, separator=body.separator, link=body.link, look=body.look))
