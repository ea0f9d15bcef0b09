"""Where records and groups are on the other side: offset maps, translations, groups, comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from anabranch.config import maps_file
from anabranch.groups.report import GroupReport, GroupsReport
from anabranch.model.positions import LaneRanges, Translation
from anabranch.model.topics import TopicPartition
from anabranch.operations.groups import show as groups
from anabranch.operations.offsets import export as exporting
from anabranch.operations.offsets import ranges as ranges_of
from anabranch.operations.offsets import translate as translating
from anabranch.operations.verify import show as verification
from anabranch.service.answers import VerificationAnswer, answered
from anabranch.service.errors import NoReportError
from anabranch.service.rest.clusters import Target
from anabranch.service.rest.links import Link
from anabranch.service.verb import Name, Offset
from anabranch.service.verb import Request as Body
from anabranch.service.web import AsClient, AsViewer, Here, answer, body_of, expects
from anabranch.verify.page import page

router = APIRouter(prefix="/api/v1/clusters/{target}/links/{link}", tags=["positions"])


class Question(Body):
    """One offset of a partition."""

    topic: Name
    partition: Annotated[int, Field(ge=0, lt=2**31)]
    offset: Offset


class Questions(Body):
    """Offsets of source partitions, with ``reverse`` of target partitions.

    An offset is the next record to read; with ``records`` the very record there is meant.
    """

    questions: Annotated[tuple[Question, ...], Field(min_length=1, max_length=10_000)]
    reverse: bool = False
    records: bool = False


@router.post("/translate", responses=answered(Translation), openapi_extra=expects(Questions))
async def translate(here: Here, target: Target, link: Link, request: Request, _: AsClient) -> JSONResponse:
    """Where offsets are on the other side: exact, or refused with the reason."""
    asked = await body_of(request, Questions)
    questions = [(TopicPartition(one.topic, one.partition), one.offset) for one in asked.questions]
    cluster = here.clusters.cluster(target)
    return answer(await translating.translate(cluster, link, questions, reverse=asked.reverse, records=asked.records))


@router.get("/translate/group", responses=answered(Translation))
async def translate_group(
    here: Here,
    target: Target,
    link: Link,
    _: AsViewer,
    group: Annotated[str, Query(min_length=1, max_length=249)],
    reverse: bool = False,
) -> JSONResponse:
    """Everything that a group has committed, on the other side."""
    clusters = await here.clusters.pair(target, link)
    return answer(await translating.translate_group(*clusters, link, group, reverse=reverse))


@router.get("/ranges", responses=answered(Sequence[LaneRanges]))
async def ranges(
    here: Here,
    target: Target,
    link: Link,
    _: AsViewer,
    where: Annotated[str | None, Query(min_length=1, max_length=300)] = None,
) -> JSONResponse:
    """The offset maps of a link, of one source topic, or of one TOPIC-PARTITION."""
    return answer(await ranges_of.ranges(here.clusters.cluster(target), link, where))


_MAPS = "The maps file, as schemas/maps.schema.json has it"


@router.get("/maps", responses=answered(Mapping[str, object], description=_MAPS))
async def export(here: Here, target: Target, link: Link, _: AsViewer) -> JSONResponse:
    """All maps of a link, to translate without its clusters; refused where one of them is in doubt."""
    maps = await exporting.export(here.clusters.cluster(target), link)
    value = maps_file.maps_value(link, maps.source, maps.target, maps.stored, maps.lanes)
    return JSONResponse(value, headers=_saved(f"{link}.json"))


@router.get("/maps.csv", responses=answered(str, description="A line for each run", media="text/csv"))
async def export_runs(here: Here, target: Target, link: Link, _: AsViewer) -> Response:
    """The runs of all maps of a link as lines, for spreadsheets and databases."""
    maps = await exporting.export(here.clusters.cluster(target), link)
    return Response(maps_file.csv_text(maps.lanes), media_type="text/csv", headers=_saved(f"{link}.csv"))


@router.get("/groups", responses=answered(GroupsReport))
async def list_groups(here: Here, target: Target, link: Link, _: AsViewer) -> JSONResponse:
    """Every group of the link's source, and its state on both clusters."""
    return answer(await groups.list_groups(*await here.clusters.pair(target, link), link))


@router.get("/group", responses=answered(GroupReport))
async def show_group(
    here: Here, target: Target, link: Link, _: AsViewer, group: Annotated[str, Query(min_length=1, max_length=249)]
) -> JSONResponse:
    """One group in full, with what a move would do now."""
    return answer(await groups.show(*await here.clusters.pair(target, link), link, group))


@router.get("/verification", responses=answered(VerificationAnswer))
async def verified(here: Here, target: Target, link: Link, _: AsViewer) -> JSONResponse:
    """The last comparison of a link, with its report."""
    found = await verification.show(here.clusters.cluster(target), link)
    return answer(VerificationAnswer(found.run, found.running, found.lanes, found.own_report, found.read_at_ms))


@router.get(
    "/verification/page", responses=answered(str, description="The report as a page of its own", media="text/html")
)
async def verification_page(here: Here, target: Target, link: Link, _: AsViewer) -> Response:
    """The report of the last comparison as a page that stands alone; raises NoReportError."""
    found = await verification.show(here.clusters.cluster(target), link)
    if found.own_report is None:
        raise NoReportError(link, found.run.run)
    headers = _saved(f"verify-{link}-{found.run.run}.html")
    return Response(page(found.own_report), media_type="text/html", headers=headers)


def _saved(name: str) -> dict[str, str]:
    """Headers of what a browser saves as a file, rather than show it with the rights of these pages."""
    return {"Content-Disposition": f'attachment; filename="{name}"'}
