"""Checkpoints below the service's own directories: what they hold, and the proof of a rewrite."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

from anabranch.checkpoints.reports import Inspection, VerificationReport
from anabranch.kafka.clusters import Clusters
from anabranch.operations.checkpoints import inspect as inspecting
from anabranch.operations.checkpoints import verify as proving
from anabranch.service.answers import answered
from anabranch.service.verb import Name
from anabranch.service.verb import Request as Body
from anabranch.service.verbs.checkpoints import Place, RewritePositions, as_rewrite
from anabranch.service.web import AsViewer, Here, answer, body_of, expects

router = APIRouter(prefix="/api/v1/checkpoints", tags=["checkpoints"])


class Look(Body):
    """A checkpoint, and the cluster against which its lag is counted, None for no lag."""

    path: Place
    cluster: Name | None = None


class ProofRequest(RewritePositions):
    """A rewrite that was made; ``was`` is the place that it was made from, None for its own backup."""

    was: Place | None = None


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
    asked = as_rewrite(here.reach, body)
    was = None if body.was is None else here.reach.place(body.was)
    async with Clusters(here.clusters.context) as clusters:
        return answer(await proving.verify(clusters, asked.path, asked.spec, asked.translation, was))
