"""Comparisons that run."""

from __future__ import annotations

from typing import Any

from anabranch.model.accounts import Role
from anabranch.operations.verify import stop
from anabranch.operations.verify.stop import VerifyStopPlan, VerifyStopReport
from anabranch.service.clusters import ClusterPool
from anabranch.service.verb import LinkRequest, Verb
from anabranch.service.words import command


async def _plan(pool: ClusterPool, request: LinkRequest) -> VerifyStopPlan:
    return await stop.plan(pool.cluster(request.target), request.link)


async def _apply(pool: ClusterPool, request: LinkRequest, planned: VerifyStopPlan) -> VerifyStopReport:
    return await stop.apply(pool.cluster(request.target), planned)


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "verify.stop",
        "Ask a link's comparison to end; `resume` goes on with it",
        Role.OPERATOR,
        LinkRequest,
        VerifyStopPlan,
        VerifyStopReport,
        lambda request: f"comparison of link {request.link}",
        lambda request: command("verify", "stop", request.link, options=[("--target", request.target)]),
        _plan,
        _apply,
        execute="",
    ),
)
