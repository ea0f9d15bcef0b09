"""Migrations: where their waves stand, and how far what is under way has come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import Field, StringConstraints
from starlette.requests import Request
from starlette.responses import JSONResponse

from anabranch.config.migration_file import migration_fields
from anabranch.operations.migrations.discover import discover
from anabranch.operations.migrations.known import migration_in
from anabranch.service.answers import answered
from anabranch.service.migration_answers import (
    MigrationAnswer,
    MigrationSummary,
    SuggestedMigration,
    WaveRunAnswer,
    answer_of,
    run_answer,
    summary_of,
)
from anabranch.service.migration_links import WaveLinks
from anabranch.service.verb import Name
from anabranch.service.verb import Request as Body
from anabranch.service.web import AsOperator, AsViewer, Here, answer, body_of, expects

router = APIRouter(prefix="/api/v1/migrations", tags=["migrations"])
MigrationName = Annotated[str, Path(min_length=1, max_length=40, pattern=r"^[a-z0-9][a-z0-9_-]*$")]


@router.get("", responses=answered(Sequence[MigrationSummary]))
async def migrations(here: Here, _: AsViewer) -> JSONResponse:
    """The migrations, by name, with where their waves stand."""
    stored = here.stored.migrations
    found = await here.stored.ask(lambda: [(one, stored.runs_of(one.name)) for one in stored.all()])
    links = WaveLinks(here.board)
    return answer([summary_of(*one, links.why_not_copied) for one in found])


class DiscoverRequest(Body):
    """Two contexts; ``name`` names the migration, by default SOURCE-TARGET.

    ``watch_s`` is for how long logs are watched, to learn how fast they grow.
    """

    source: Name
    target: Name
    name: Annotated[str, StringConstraints(max_length=40, pattern=r"^([a-z0-9][a-z0-9_-]*)?$")] = ""
    watch_s: Annotated[float, Field(ge=0, le=60)] = 5.0


@router.post("/discover", responses=answered(SuggestedMigration), openapi_extra=expects(DiscoverRequest))
async def suggested(here: Here, request: Request, _: AsOperator) -> JSONResponse:
    """See what a cluster holds, and suggest a migration of it, as `migrate discover` does; nothing is changed."""
    asked = await body_of(request, DiscoverRequest)
    both = here.clusters.cluster(asked.source), here.clusters.cluster(asked.target)
    name = asked.name or f"{asked.source}-{asked.target}"
    found = await discover(*both, name, watch_s=asked.watch_s)
    return answer(SuggestedMigration(found.source, migration_fields(found.migration), found.reasons))


@router.get("/{name}", responses=answered(MigrationAnswer))
async def migration(here: Here, name: MigrationName, _: AsViewer) -> JSONResponse:
    """One migration: its file, its waves, and each run with its steps."""
    stored = here.stored.migrations
    found = await here.stored.ask(lambda: (stored.get(name), stored.runs_of(name)))
    return answer(answer_of(*found, WaveLinks(here.board).why_not_copied))


@router.get("/{name}/runs/{run_id}", responses=answered(WaveRunAnswer))
async def run(
    here: Here, name: MigrationName, run_id: Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")], _: AsViewer
) -> JSONResponse:
    """One run of a wave, with its steps."""
    stored = here.stored.migrations
    kept, found = await here.stored.ask(lambda: (stored.get(name), stored.run_of(name, run_id)))
    return answer(run_answer(migration_in(kept.document, name), found))
