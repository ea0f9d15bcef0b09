"""Migrations: where their waves stand, and how far what is under way has come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import JSONResponse

from anabranch.service.answers import answered
from anabranch.service.migrating import migration_in
from anabranch.service.migration_answers import (
    MigrationAnswer,
    MigrationSummary,
    WaveRunAnswer,
    answer_of,
    run_answer,
    summary_of,
)
from anabranch.service.web import AsViewer, Here, answer

router = APIRouter(prefix="/api/v1/migrations", tags=["migrations"])
MigrationName = Annotated[str, Path(min_length=1, max_length=40, pattern=r"^[a-z0-9][a-z0-9_-]*$")]


@router.get("", responses=answered(Sequence[MigrationSummary]))
async def migrations(here: Here, _: AsViewer) -> JSONResponse:
    """The migrations, by name, with where their waves stand."""
    stored = here.stored.migrations
    found = await here.stored.ask(lambda: [(one, stored.runs_of(one.name)) for one in stored.all()])
    return answer([summary_of(*one) for one in found])


@router.get("/{name}", responses=answered(MigrationAnswer))
async def migration(here: Here, name: MigrationName, _: AsViewer) -> JSONResponse:
    """One migration: its file, its waves, and each run with its steps."""
    stored = here.stored.migrations
    return answer(answer_of(*await here.stored.ask(lambda: (stored.get(name), stored.runs_of(name)))))


@router.get("/{name}/runs/{run_id}", responses=answered(WaveRunAnswer))
async def run(
    here: Here, name: MigrationName, run_id: Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")], _: AsViewer
) -> JSONResponse:
    """One run of a wave, with its steps."""
    stored = here.stored.migrations
    kept, found = await here.stored.ask(lambda: (stored.get(name), stored.run_of(name, run_id)))
    return answer(run_answer(migration_in(kept.document, name), found))
