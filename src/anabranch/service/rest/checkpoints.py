"""Checkpoints below the service's own directories: what they hold, and the proof of a rewrite."""

from __future__ import annotations

import shlex
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from anabranch.checkpoints.reports import Inspection, VerificationReport
from anabranch.kafka.clusters import Clusters
from anabranch.model.reasons import Reason
from anabranch.operations.checkpoints import advise as advising
from anabranch.operations.checkpoints import inspect as inspecting
from anabranch.operations.checkpoints import verify as proving
from anabranch.operations.checkpoints.advice_input import AdviceInput
from anabranch.service.answers import AdviceAnswer, answered
from anabranch.service.verb import Name, Place
from anabranch.service.verb import Request as Body
from anabranch.service.verbs.rewrite_request import (
    Leading,
    RewritePositions,
    as_rewrite,
    leading_options,
    rewrite_spec,
    translation_source,
)
from anabranch.service.web import AsViewer, Here, answer, body_of, expects
from anabranch.service.words import command

router = APIRouter(prefix="/api/v1/checkpoints", tags=["checkpoints"])


class Look(Body):
    """A checkpoint, and the cluster against which its lag is counted, None for no lag."""

    path: Place
    cluster: Name | None = None


class ProofRequest(RewritePositions):
    """A rewrite that was made; ``was`` is the place that it was made from, None for its own backup."""

    was: Place | None = None


class AdviceRequest(Leading):
    """A job that is to be moved, with what only its people know of it; with no way that positions lead less is told.

    ``cluster`` is the old one, where no link tells it; ``group`` the job's own, ``downtime_s`` what it may be away,
    ``measure_s`` the time between two looks at the clusters.
    """

    cluster: Name | None = None
    group: Name | None = None
    downtime_s: Annotated[float, Field(ge=0, le=1e9)] | None = None
    sql: bool | None = None
    uids: bool | None = None
    measure_s: Annotated[float, Field(ge=0, le=30)] = 5.0


@router.post("/inspect", responses=answered(Inspection), openapi_extra=expects(Look))
async def inspect(here: Here, request: Request, _: AsViewer) -> JSONResponse:
    """What a checkpoint or savepoint holds, with its lag; nothing is written."""
    body = await body_of(request, Look)
    cluster = None if body.cluster is None else here.clusters.cluster(body.cluster)
    return answer(await inspecting.inspect(here.reach.place(body.path), cluster))


@router.post("/verify", responses=answered(VerificationReport), openapi_extra=expects(ProofRequest))
async def verify(here: Here, request: Request, _: AsViewer) -> JSONResponse:
    """Read a rewritten checkpoint again and prove it, position by position; nothing is written."""
    body = await body_of(request, ProofRequest)
    asked = await as_rewrite(here.reach, body)
    was = None if body.was is None else here.reach.place(body.was)
    async with Clusters(here.clusters.context) as clusters:
        return answer(await proving.verify(clusters, asked.path, asked.spec, asked.translation, was))


@router.post("/advise", responses=answered(AdviceAnswer), openapi_extra=expects(AdviceRequest))
async def advise(here: Here, request: Request, _: AsViewer) -> JSONResponse:
    """The ways to move a job, the best first; nothing is written."""
    body = await body_of(request, AdviceRequest)
    by = await translation_source(here.reach, body) if body.ways else None
    old = None if body.cluster is None else here.clusters.context(body.cluster)
    typed = tuple(shlex.split(command(options=leading_options(body)))[1:]) if by is not None else ()
    inputs = AdviceInput(typed, body.group, body.uids, body.sql, body.downtime_s, body.measure_s)
    async with Clusters(here.clusters.context) as clusters:
        found, exact = await advising.advise(clusters, here.reach.place(body.path), inputs, rewrite_spec(body), by, old)
    return answer(AdviceAnswer(found, *((None, exact) if isinstance(exact, Reason) else (exact, None))))
