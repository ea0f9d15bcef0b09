"""Lineage: of a stream, of a column over all streams, and as events of OpenLineage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import JSONResponse

from anabranch.operations.catalog.desk import known
from anabranch.operations.streams.lineage import column_of, streams_lineage
from anabranch.service.answers import answered
from anabranch.service.caller import Caller
from anabranch.service.catalog_desk import ServiceCatalogDesk
from anabranch.service.errors import NoLineageError
from anabranch.service.instance import Instance
from anabranch.service.lineage_answers import (
    ColumnLineageAnswer,
    MaySee,
    StreamLineageAnswer,
    column_lineage,
    may_see_of,
    shown,
    stream_lineage,
)
from anabranch.service.web import AsViewer, Here, answer
from anabranch.store.catalog import NoEntryError
from anabranch.streams.kinds import NotOfPySparkError, StreamKind
from anabranch.streams.lineage.document import StoredLineage, lineage_of
from anabranch.streams.lineage.openlineage import RunEventType, lineage_run, run_event

router = APIRouter(prefix="/api/v1", tags=["lineage"])
StreamNamePath = Annotated[str, Path(min_length=1, max_length=60, pattern=r"^[a-z0-9][a-z0-9._-]*$")]
VersionQuery = Annotated[int | None, Query(ge=1, lt=2**31, description="Default: the version that runs.")]


async def _may_see(here: Instance, caller: Caller) -> MaySee:
    return may_see_of(await known(ServiceCatalogDesk(here.stored, here.routing, here.clusters, caller.account.name)))


async def _kept(here: Instance, name: str, version: int | None) -> StoredLineage:
    streams, lineages = here.stored.streams, here.stored.lineages
    with here.stream_links.refusing("lineage"):
        runs = await here.stored.ask(lambda: streams.version(name, streams.get(name).published))
    if runs.kind is StreamKind.PYSPARK:
        why = "its code may read and write what no plan of Spark shows"
        raise NotOfPySparkError("lineage", why, "write what matters as SQL; docs/reference/streams.md")
    if version is None:
        kept = (await here.stored.ask(lineages.now)).get(name)
    else:
        kept = await here.stored.ask(lambda: lineages.of(name, version))
    if kept is None:
        raise NoLineageError(name)
    return kept


@router.get("/streams/{name}/lineage", responses=answered(StreamLineageAnswer))
async def lineage(here: Here, name: StreamNamePath, caller: AsViewer, version: VersionQuery = None) -> JSONResponse:
    """Which columns of which tables make which columns of what a stream writes."""
    kept = await _kept(here, name, version)
    pins = (await here.stored.ask(lambda: here.stored.streams.version(name, kept.version))).artifacts
    return answer(stream_lineage(kept, lineage_of(kept.document), await _may_see(here, caller), pins))


@router.get("/streams/{name}/lineage/openlineage", responses=answered(Sequence[Mapping[str, Any]]))
async def events(here: Here, name: StreamNamePath, caller: AsViewer, version: VersionQuery = None) -> JSONResponse:
    """The same as run events of OpenLineage, one for each INSERT."""
    kept, may_see = await _kept(here, name, version), await _may_see(here, caller)
    found = lineage_of(kept.document)
    time = datetime.fromtimestamp(kept.at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    runs = await here.stored.ask(lambda: here.stored.streams.runs_of(name, 10_000))
    # A stream has one run at a time: the newest that began before it was told has told it.
    teller = next((one for one in runs if one.version == kept.version and one.began_at <= kept.at), None)
    if teller is None:
        raise NoLineageError(name)
    made = []
    for number, one in enumerate(found.inserts, 1):
        told = shown(one, may_see)
        run = lineage_run(RunEventType.RUNNING, time, name, teller.id, number)
        made.append(run_event(run, told, {key: value for key, value in found.datasets.items() if may_see(key)}))
    return answer(made)


@router.get("/lineage", responses=answered(ColumnLineageAnswer))
async def column(
    here: Here,
    caller: AsViewer,
    column: Annotated[str, Query(min_length=3, max_length=500, description="shop.orders.id, or kafka://main/t.id")],
) -> JSONResponse:
    """Who reads a column, and what breaks if it goes, over all streams."""
    found, may_see = column_of(column), await _may_see(here, caller)
    if not may_see(found.table):
        raise NoEntryError(found.table)
    every = await here.stored.ask(here.stored.streams.all)
    kept = await here.stored.ask(here.stored.lineages.now)
    unknown = [one.name for one in every if one.name not in kept]
    return answer(column_lineage(found, streams_lineage(kept), unknown, may_see))
