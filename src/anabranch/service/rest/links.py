"""Links and their lanes: from what was read last, which each answer dates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import JSONResponse, Response

from anabranch.model.lane import LaneMode, LaneProgress, LaneState
from anabranch.model.topics import TopicPartition
from anabranch.operations.offsets.ranges import NoLaneError
from anabranch.service.answers import (
    History,
    LaneAnswer,
    LanesPage,
    LinkAnswer,
    LinksAnswer,
    LinkSummary,
    answered,
)
from anabranch.service.board import SeenCluster, SeenLink, trend
from anabranch.service.instance import Instance
from anabranch.service.rest.clusters import Target, cluster_answer
from anabranch.service.web import AsViewer, Here, answer
from anabranch.store.runs import Run

router = APIRouter(prefix="/api/v1", tags=["links"])
Link = Annotated[str, Path(min_length=1, max_length=63, description="A link's id.")]
_LINK = "/clusters/{target}/links/{link}"


class LaneOrder(StrEnum):
    """By what lanes are sorted; ``source`` sorts by topic and partition."""

    SOURCE = "source"
    TARGET = "target"
    STATE = "state"
    LAG_RECORDS = "lag_records"
    LAG_SECONDS = "lag_seconds"
    RECORDS_PER_S = "records_per_s"
    BYTES_PER_S = "bytes_per_s"


_KEYS: dict[LaneOrder, Callable[[LaneProgress], Any]] = {
    LaneOrder.SOURCE: lambda lane: lane.source,
    LaneOrder.TARGET: lambda lane: lane.target,
    LaneOrder.STATE: lambda lane: lane.state.value,
    LaneOrder.LAG_RECORDS: lambda lane: _known_last(lane.lag_records),
    LaneOrder.LAG_SECONDS: lambda lane: _known_last(lane.lag_seconds),
    LaneOrder.RECORDS_PER_S: lambda lane: lane.records_per_s,
    LaneOrder.BYTES_PER_S: lambda lane: lane.bytes_per_s,
}


def _known_last(value: float | None) -> float:
    """An unknown lag is worse than any that is known."""
    return float("inf") if value is None else value


@router.get("/links", responses=answered(LinksAnswer))
async def links(here: Here, _: AsViewer) -> Response:
    """The links of every cluster, and the clusters whose links are not known."""
    return here.answers.of("links", lambda: answer(_links(here)))


def _links(here: Instance) -> LinksAnswer:
    found = [summary(here, cluster, link) for cluster in here.board.seen for link in cluster.links.values()]
    seen = {cluster.name: cluster for cluster in here.board.seen}
    unread = [
        cluster_answer(here, name)
        for name in here.clusters.contexts().contexts
        if name not in seen or seen[name].problem is not None
    ]
    return LinksAnswer(tuple(found), tuple(unread))


@router.get(_LINK, responses=answered(LinkAnswer))
async def link(here: Here, target: Target, link: Link, _: AsViewer) -> JSONResponse:
    """One link, without its lanes."""
    cluster, seen = here.board.link(target, link)
    status = seen.status
    return answer(LinkAnswer(summary(here, cluster, seen), status.record, status.plan, status.findings))


@router.get(_LINK + "/lanes", responses=answered(LanesPage))
async def lanes(
    here: Here,
    target: Target,
    link: Link,
    _: AsViewer,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    sort: LaneOrder = LaneOrder.SOURCE,
    descending: bool = False,
    text: Annotated[str, Query(max_length=300, description="A part of the topic or TOPIC-PARTITION.")] = "",
    state: Annotated[list[LaneState] | None, Query()] = None,
    mode: LaneMode | None = None,
) -> Response:
    """A page of a link's lanes, filtered and sorted here."""
    asked = _LanesAsked(text, tuple(state or ()), mode, sort, descending, offset, limit)
    cluster, seen = here.board.link(target, link)
    return here.answers.of((target, link, asked), lambda: answer(_page(cluster, seen, asked)))


@dataclass(frozen=True, slots=True)
class _LanesAsked:
    """Which lanes of a link, in which order."""

    text: str
    states: tuple[LaneState, ...]
    mode: LaneMode | None
    sort: LaneOrder
    descending: bool
    offset: int
    limit: int

    def chooses(self, lane: LaneProgress) -> bool:
        """Whether a lane is among them."""
        return (
            (not self.text or self.text in str(lane.source) or self.text in str(lane.target))
            and (not self.states or lane.state in self.states)
            and (self.mode is None or lane.mode is self.mode)
        )


def _page(cluster: SeenCluster, seen: SeenLink, asked: _LanesAsked) -> LanesPage:
    every = seen.status.lanes
    chosen = [lane for lane in every if asked.chooses(lane)]
    if asked.sort is not LaneOrder.SOURCE or asked.descending:
        chosen.sort(key=_KEYS[asked.sort], reverse=asked.descending)
    page = tuple(chosen[asked.offset : asked.offset + asked.limit])
    return LanesPage(len(every), len(chosen), asked.offset, page, seen.status.read_at_ms, cluster.problem)


@router.get(_LINK + "/lanes/{where}", responses=answered(LaneAnswer))
async def lane(
    here: Here,
    target: Target,
    link: Link,
    where: Annotated[str, Path(pattern=r"^.{1,249}-[0-9]{1,10}$", description="The source's TOPIC-PARTITION.")],
    _: AsViewer,
) -> JSONResponse:
    """One lane."""
    cluster, seen = here.board.link(target, link)
    found = next((one for one in seen.status.lanes if str(one.source) == where), None)
    if found is None:
        topic, partition = where.rsplit("-", 1)
        raise NoLaneError(link, TopicPartition(topic, int(partition)))
    return answer(LaneAnswer(found, seen.status.read_at_ms, cluster.problem))


@router.get(_LINK + "/history", responses=answered(History))
async def history(here: Here, target: Target, link: Link, _: AsViewer) -> JSONResponse:
    """A link's rates and lags in the last hour, as far as this instance saw them."""
    here.board.link(target, link)
    return answer(History(tuple(here.board.past(target, link))))


@router.get(_LINK + "/processes", responses=answered(Sequence[Run]))
async def processes(here: Here, target: Target, link: Link, _: AsViewer) -> JSONResponse:
    """The processes that instances of the service started for a link, the newest first."""
    here.clusters.context(target)
    found = [run for run in await here.processes.of_link(link) if run.target == target]
    return answer(found)


def summary(here: Instance, cluster: SeenCluster, seen: SeenLink) -> LinkSummary:
    """A link in a list."""
    status = seen.status
    findings = len(status.findings) + (0 if status.plan is None else len(status.plan.findings))
    return LinkSummary(
        cluster.name,
        status.spec.id,
        status.spec.source.context,
        status.running,
        status.ending,
        status.wanted.paused,
        status.runs,
        seen.totals,
        seen.totals.of(LaneState.STOPPED),
        findings,
        status.read_at_ms,
        status.source_seen_ms,
        cluster.problem,
        trend(here.board.past(cluster.name, status.spec.id)),
    )
