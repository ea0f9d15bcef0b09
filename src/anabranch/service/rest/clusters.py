"""The contexts, and what each cluster tells."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import JSONResponse

from anabranch.groups.undo import MoveSummary
from anabranch.model.context_probe import ContextProbe
from anabranch.operations.contexts.reaching import reach
from anabranch.operations.groups import undo
from anabranch.service.answers import ClusterAnswer, ClustersAnswer, answered
from anabranch.service.instance import Instance
from anabranch.service.web import AsOperator, AsViewer, Here, answer

router = APIRouter(prefix="/api/v1/clusters", tags=["clusters"])
Target = Annotated[str, Path(min_length=1, max_length=249, description="A context of the contexts file.")]
PROBE_S = 30.0


@router.get("", responses=answered(ClustersAnswer))
async def clusters(here: Here, _: AsViewer) -> JSONResponse:
    """Every context, and when its links were read last."""
    found = here.clusters.contexts()
    rows = tuple(cluster_answer(here, name) for name in found.contexts)
    return answer(ClustersAnswer(str(found.location.path), found.target, rows, here.board.contexts_problem))


@router.get("/{target}", responses=answered(ClusterAnswer))
async def cluster(here: Here, target: Target, _: AsViewer) -> JSONResponse:
    """One context."""
    here.clusters.context(target)
    return answer(cluster_answer(here, target))


@router.get("/{target}/moves", responses=answered(Sequence[MoveSummary]))
async def moves(here: Here, target: Target, _: AsViewer) -> JSONResponse:
    """The changes of groups' positions on a cluster that can be taken back, the newest first."""
    return answer(await undo.moves(here.clusters.cluster(target)))


@router.post("/{target}/probe", responses=answered(ContextProbe))
async def probe(here: Here, target: Target, _: AsOperator) -> JSONResponse:
    """Connect to a cluster as a link would: its version, the principal, and what is missing."""
    context = here.clusters.context(target)
    return answer((await asyncio.wait_for(reach([context]), PROBE_S))[0])


def cluster_answer(here: Instance, name: str) -> ClusterAnswer:
    """A context as it is answered."""
    context = here.clusters.context(name)
    seen = next((one for one in here.board.seen if one.name == name), None)
    login = context.security.login
    return ClusterAnswer(
        name,
        context.bootstrap,
        context.security.protocol.value,
        None if login is None else login.mechanism.value,
        0 if seen is None else len(seen.links),
        None if seen is None else seen.read_at_ms,
        None if seen is None else seen.problem,
        None if seen is None else seen.health,
    )
