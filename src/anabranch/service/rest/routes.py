"""The route table: what applies, what applied before, and where a client would be led."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field, StringConstraints
from starlette.requests import Request
from starlette.responses import JSONResponse

from anabranch.model.routing import ClientRole, RouteQuery
from anabranch.operations.routes.show import explain as explained
from anabranch.service.answers import answered
from anabranch.service.errors import NoRoutesError
from anabranch.service.problems import problem_of
from anabranch.service.route_answers import (
    ExplainedAnswer,
    VersionAnswer,
    VersionSummary,
    route_answer,
    version_answer,
)
from anabranch.service.verb import Name
from anabranch.service.verb import Request as Body
from anabranch.service.web import AsClient, AsViewer, Here, answer, body_of, expects
from anabranch.store.routes import NoVersionError

router = APIRouter(prefix="/api/v1/routes", tags=["routes"])
Text = Annotated[str, StringConstraints(max_length=249, pattern=r"^[^\x00-\x1f\x7f]*$")]
Topic = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00-\x1f\x7f]+$")]
MOST_TOPICS, MOST_PARAMETERS = 1000, 50


class RouteQuestion(Body):
    """A client as it asks for a cluster; a topic that begins with ``^`` is a regular expression."""

    code: Name
    role: Literal["producer", "consumer"]
    topics: Annotated[tuple[Topic, ...], Field(max_length=MOST_TOPICS)] = ()
    group: Text = ""
    client_id: Text = ""
    parameters: Annotated[dict[Name, Text], Field(max_length=MOST_PARAMETERS)] = {}

    def query(self) -> RouteQuery:
        """As it is resolved."""
        role = ClientRole(self.role)
        return RouteQuery(self.code, role, self.topics, self.group, self.client_id, dict(self.parameters))


@router.get("", responses=answered(VersionAnswer))
async def newest(here: Here, _: AsViewer) -> JSONResponse:
    """The route table that applies."""
    found = here.routing.newest
    if found is None:
        raise NoVersionError(0)
    return answer(version_answer(found))


@router.get("/versions", responses=answered(Sequence[VersionSummary]))
async def versions(
    here: Here,
    _: AsViewer,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    before: Annotated[int | None, Query(ge=1, lt=2**31, description="The last one of the page before.")] = None,
) -> JSONResponse:
    """Versions of the route table, the newest first."""
    found = await here.stored.ask(lambda: here.stored.versions.notes(limit, before))
    return answer([VersionSummary(one.version, one.at, one.author, one.reason) for one in found])


@router.get("/versions/{version}", responses=answered(VersionAnswer))
async def version(here: Here, version: Annotated[int, Path(ge=1, lt=2**31)], _: AsViewer) -> JSONResponse:
    """One version of the route table."""
    return answer(version_answer(await here.desk.version(version)))


@router.post("/explain", responses=answered(ExplainedAnswer), openapi_extra=expects(RouteQuestion))
async def explain(here: Here, request: Request, _: AsClient) -> JSONResponse:
    """Where a client would be led and why, each rule on its way; nothing is registered."""
    query = (await body_of(request, RouteQuestion)).query()
    newest = here.routing.newest
    if newest is None:
        return answer(ExplainedAnswer(None, problem_of(NoRoutesError(query.code)), ()))
    # In a thread: of many topics and many rules it would be felt.
    found = await asyncio.to_thread(explained, newest.table, here.routing.route, query)
    route = None if found.route is None else route_answer(found.route)
    problem = None if found.refusal is None else problem_of(found.refusal)
    return answer(ExplainedAnswer(route, problem, found.ways))
